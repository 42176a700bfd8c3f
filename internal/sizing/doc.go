// Package sizing answers how large a share should be, and what shares cost.
//
//   - [Advise] turns the memory peaks that hosts saw ([Series]) into the memory and
//     maxComputePercent to declare, with the evidence and its age.
//   - [Shape] finds the memory at which ECS, which packs by GPU memory alone, cannot
//     oversubscribe a card's compute nor exceed a number of tenants, whatever it picks.
//   - [Cheapest] says which instance type carries a mix of shares at least cost.
//   - [Meter] prices the use of cards over time: per service and tier, and what stood
//     idle, free or stranded.
//
// All of it is pure: series, images and prices come in, values go out. Memory is in
// MiB, compute in percent of one card's multiprocessors, money in US dollars.
package sizing
