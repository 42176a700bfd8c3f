// Package loop is the running agent. Four goroutines gather and one decides:
//
//	kernel log ──┐
//	NVML child ──┤ events     ┌────────┐  report   ┌───────┐         ┌──────┐
//	MPS ─────────┼──────────▶ │ Agent  │ ────────▶ │ spool │ ──────▶ │ Pump │ ──▶ API
//	Docker stops ┘            └────────┘           └───────┘         └──────┘
//
// Agent alone holds the picture of the host, so nothing is locked but what
// /metrics reads. It never waits: what may block (driver, control tool, Docker,
// network) is in another goroutine, and a line of the kernel log is on its way
// within milliseconds even while all of those hang.
package loop
