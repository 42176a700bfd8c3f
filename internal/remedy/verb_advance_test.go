package remedy

import "github.com/cockroachdb/datadriven"

// advance for=D [tick=10s]: time passes; prints what happens.
func verbAdvance(s *script, d *datadriven.TestData) string {
	span, tick := "", "10s"
	d.ScanArgs(s.t, "for", &span)
	arg(s, d, "tick", &tick)
	s.fleet.advance(seconds(s, d, span), seconds(s, d, tick))
	return s.flush()
}
