// Package simulation holds the ledger to its laws under faults, by the thousand
// seeds, in two ways.
//
// Scripts: lines in the words of tests/scenario are made up from a seed: events
// lost, doubled, late and backwards, a table that conflicts, throttles and loses
// replies. A script that breaks a law is made as short as can be found and printed:
// it plays as it stands in tests/scenario/testdata.
//
// Fleets: a whole simulated fleet lives in virtual time, packed by each rule that
// ECS might have, and everything between it and the ledger misbehaves:
//
//	sim.Fleet ─events─▶ bridge (late, doubled, reordered, lost) ─▶ Ingest ─▶ troubled store
//	    ▲                                                           │ dies between two calls
//	    └──── SDK client ◀── stale and broken answers ◀── Sweep ────┘ two at once, old and new release
//
// After every step the laws of laws.go hold; when the faults end, two sweeps make
// the ledger what the fleet is. A fleet that breaks a law is run again with fewer
// faults and less time, and the least that still breaks it is printed as a command.
package simulation
