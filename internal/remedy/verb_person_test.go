package remedy

import (
	"github.com/cockroachdb/datadriven"

	"github.com/bulkhead-ecs/bulkhead/internal/health"
)

// person does=cordon|uncordon|opt-out|set-healthy|cancel|hold|release|pause|resume
// |reset [host=ID] [because=R]: what people do.
func verbPerson(s *script, d *datadriven.TestData) string {
	f := s.fleet
	var does, because string
	d.ScanArgs(s.t, "does", &does)
	arg(s, d, "because", &because)
	word := Word{By: "ana", Reason: because, At: f.now}
	switch does {
	case "pause":
		f.paused = word
		return "ok\n"
	case "resume":
		f.paused = Word{}
		return "ok\n"
	case "reset":
		for i, b := range f.breakers {
			var err error
			if f.breakers[i], err = Reset(b, word); err != nil {
				return err.Error() + "\n"
			}
		}
		return "ok\n"
	}
	h := s.named(d)
	switch does {
	case "cordon":
		h.status, h.cordonBy = StatusDraining, "person"
	case "uncordon":
		h.status, h.cordonBy = StatusActive, ""
	case "wipe-mark":
		h.mark = ""
	case "opt-out":
		h.optOut = true
	case "set-healthy":
		f.assess(h, health.Signal{Kind: health.KindSetHealthy, Witness: health.WitnessPerson})
		return s.verdict(h)
	case "cancel", "hold", "release":
		return s.tellCase(h, map[string]func(Case, Word) (Case, error){"cancel": Cancel, "hold": Hold, "release": Release}[does], word)
	default:
		d.Fatalf(s.t, "people do not %q", does)
	}
	return "ok\n"
}

// tellCase says a word to the last case of the host.
func (s *script) tellCase(h *host, say func(Case, Word) (Case, error), word Word) string {
	for i := len(s.fleet.cases) - 1; i >= 0; i-- {
		if s.fleet.cases[i].Instance != h.id {
			continue
		}
		c, err := say(s.fleet.cases[i], word)
		if err != nil {
			return err.Error() + "\n"
		}
		s.fleet.cases[i] = c
		return string(c.State) + "\n"
	}
	return "no case\n"
}
