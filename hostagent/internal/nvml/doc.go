// Package nvml is the agent's one door to the NVIDIA management library.
//
// Port says what the agent needs of a driver, in our own types: a Sample of all
// cards and a stream of Xid events. What a card may not report is a pointer, nil
// when it did not; what could not be read is named in Device.Unreadable, and what
// was read but cannot be true (a counter that wrapped, more memory used than
// fitted) is named in Device.Invalid and never published.
//
// The adapter behind it exists with cgo on Linux only; elsewhere Open answers
// ErrUnavailable, so the rest of the agent builds everywhere. It asks for each
// symbol before it calls it, because a library older than the header would
// otherwise end the process. Calls may hang for ever in the driver: only
// nvmlchild, a process that can be given up, may call Open.
package nvml
