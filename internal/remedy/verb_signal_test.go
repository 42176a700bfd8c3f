package remedy

import (
	"github.com/cockroachdb/datadriven"

	"github.com/bulkhead-ecs/bulkhead/internal/health"
)

// signal kind=K host=ID [witness=W] [count=N] [value=V] [task=T] [clear] [card]
// [lasting] [heals=STEP]: a state or event; heals names the step that will cure
// all that is not lasting.
func verbSignal(s *script, d *datadriven.TestData) string {
	h := s.named(d)
	var kind, witness, heals string
	witness = string(health.WitnessAgent)
	sig := health.Signal{}
	d.ScanArgs(s.t, "kind", &kind)
	arg(s, d, "witness", &witness)
	arg(s, d, "count", &sig.Count)
	arg(s, d, "task", &sig.Task)
	arg(s, d, "heals", &heals)
	if d.HasArg("value") {
		var v int
		d.ScanArgs(s.t, "value", &v)
		sig.Value, sig.HasValue = float64(v), true
	}
	sig.Kind, sig.Witness = health.Kind(kind), health.Witness(witness)
	if d.HasArg("card") {
		sig.Device = card
	}
	if d.HasArg("clear") {
		sig.Reading = health.Clear
	} else if !d.HasArg("lasting") {
		h.sick = append(h.sick, sig)
	}
	h.healsBy = StepKind(heals)
	s.fleet.assess(h, sig)
	return s.verdict(h)
}
