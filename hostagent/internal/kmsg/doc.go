// Package kmsg hears the GPU driver through the kernel's log, without a call into
// the driver: the witness that still speaks when NVML hangs.
//
//	/dev/kmsg ─▶ Reader ─▶ ParseRecord ─▶ ParseLine ─▶ Union ─▶ Gate ─▶ Event
//	             (seam)     trust           shapes     ▲ no doubles  rates
//	                                       NVML events ┘   └── Stream ──┘
//
// Only Reader touches the world; the rest is pure. Only records of the kernel's
// own facility are believed: what a process writes to /dev/kmsg or to its own
// output is marked by the kernel as user facility, or never comes here, so a
// container cannot forge an Xid. All text is bounded and its control characters
// are escaped before anyone sees it.
package kmsg
