// Package mps watches the host's own MPS control daemon. It adopts the daemon
// that the machine image runs (nvidia-mps.service); it never starts a second one
// and never asks systemd to reload its units, because that detaches GPUs from
// running containers.
//
// The package has a pure half and a thin one that acts.
//
//	Judge      text of the control tool      → Answer (its exit status says nothing)
//	ParseLog   one line of a log             → LogEvent
//	Next       (state, observation, now)     → State: absent, starting, ready,
//	           serving, fault, recovering, wedged, crash-looping, unknown
//	PlanRestart, PlanStops                   → what may be done, and at what cost
//
//	Exec       runs the control tool with a deadline, one command on its stdin
//	Tail       reads a log that rotates, is cut, or grows too fast
//	Watcher    asks and tails, and feeds Next
//
// Three failures are kept apart because each has another cure: there is no
// socket (daemon gone or another directory), no answer in time (daemon wedged),
// and a refusal (it answers, but not to this).
package mps
