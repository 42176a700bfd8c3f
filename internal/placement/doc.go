// Package placement decides which host a demand for GPU goes to, and says why.
//
// ECS packs shares of a card by memory and looks at nothing else. Here a demand
// meets a policy and a view of the fleet: filters say no with a stable reason,
// a scorer ranks the hosts that are left, ties break by id, and the reasons are
// kept for the explanation. See README.md for the pipeline and the words.
//
// The package is pure: state, demand and policy are arguments and the answer is
// a value. Index is the same rule over a large fleet, without scanning it.
package placement
