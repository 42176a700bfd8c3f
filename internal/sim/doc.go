// Package sim models an ECS fleet of shared GPUs in virtual time.
//
// It models ECS, the agent and the host, never Bulkhead: of this project it knows
// only the vocabulary. A Fleet is made with a seed and a start; Advance plays what
// is due in the order (time, sequence) and returns the events that EventBridge
// would carry. The same seed and calls give the same bytes. Nothing runs by itself:
// there is no goroutine, no wall clock and no global state.
//
// ECS's own books and what the agent holds are kept apart, since they differ: ECS
// frees a task's memory when its desired status becomes STOPPED, the agent only
// when its containers are gone. A task placed in between waits PENDING.
// README.md says what is modelled, and what is unknown and so can be chosen.
package sim
