// Package report decides when the host says something and brings it to the API.
//
//	Due    (last report, this one, pace, now) → send or not, and why: lease or change
//	Sender one signed request and what its answer means: done, later, or never
//	Pump   spool → Sender, one at a time, oldest first, with backoff and jitter
//
// A report goes to the disk before it goes to the wire. It leaves the disk when the
// API answered that it has it, or that it will never take it; the second is counted
// and logged.
package report
