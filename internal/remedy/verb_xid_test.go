package remedy

import (
	"fmt"

	"github.com/cockroachdb/datadriven"

	"github.com/bulkhead-ecs/bulkhead/internal/health"
)

// xid code=N host=ID [family=F] [pid=N] [count=N], with the line's text below: the kernel
// log of the host. Prints the verdict.
func verbXid(s *script, d *datadriven.TestData) string {
	h := s.named(d)
	sig := health.Signal{Kind: health.KindXid, Device: card, Witness: health.WitnessKernelLog, Text: d.Input}
	d.ScanArgs(s.t, "code", &sig.Code)
	arg(s, d, "family", &sig.Family)
	arg(s, d, "pid", &sig.PID)
	arg(s, d, "count", &sig.Count)
	s.fleet.assess(h, sig)
	return s.verdict(h)
}

// verdict says what the host is judged to be.
func (s *script) verdict(h *host) string {
	v := h.verdict.Host
	return fmt.Sprintf("%s %s %s %v\n", h.id, v.Level, v.Action, v.Tokens)
}
