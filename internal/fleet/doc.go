// Package fleet holds the use cases: what happens when events come in
// ([Ingest]), when the fleet is compared with ECS ([Sweep]), when a host's image
// changed ([Outbox]) and when somebody asks ([Query]).
//
// Decisions are made below, by pure functions; here they meet the world through
// ports that this package declares and adapters implement: the ledger's store,
// ECS, a failure queue, an event bus. The same use cases run in Lambda, in the
// local mode and in the simulation, so nothing here knows which of them it is in.
// Time is a function given at construction.
package fleet
