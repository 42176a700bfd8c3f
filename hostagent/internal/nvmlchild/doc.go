// Package nvmlchild keeps the driver at arm's length: NVML is called in a child
// process, because a call into a broken driver may never return and no thread
// can be taken back from it.
//
//	agent                              child (the same binary, "nvml-child")
//	Supervisor.Run ── request ──────▶  Main ── nvml.Port ──▶ driver
//	   ▲  deadline    ◀── answer ────   │
//	   │              ◀── Xid events ── │
//	   └── Update     ◀── "still in nvmlDeviceGetName gpu 3"
//
// Frames are JSON lines of bounded length; a request has an id and a deadline.
// When the deadline passes the supervisor reports a hang at once, with the call
// the child said it was in, and goes on with the last good sample, marked stale.
//
// What must stay true, and is tested with a real process:
//
//   - A hang is told within the deadline and one second.
//   - There is never a second child while one lives. A child in uninterruptible
//     sleep is waited for, not killed: SIGKILL would only be remembered, and each
//     further child would hang on the same lock in the kernel.
//   - Starts are spaced by a backoff that grows to a bound and never gives up, so
//     that the agent recovers by itself when the driver does.
//   - A child ends when its agent does: it reads the end of its input.
package nvmlchild
