package remedy

import "github.com/cockroachdb/datadriven"

// inject step=KIND what=crash-before|crash-after|lost|throttled|refused|cured
// |protected [times=N]: a fault of the loop at the next steps of the kind. "-" as
// step removes all.
func verbInject(s *script, d *datadriven.TestData) string {
	var kind, what string
	times := 1
	d.ScanArgs(s.t, "step", &kind)
	arg(s, d, "what", &what)
	arg(s, d, "times", &times)
	f := s.fleet
	f.crash, f.outcome, f.lost, f.between = nil, nil, nil, nil
	left := times
	hit := func(st Step) bool {
		if string(st.Kind) != kind || left == 0 {
			return false
		}
		left--
		return true
	}
	switch what {
	case "crash-before", "crash-after":
		f.crash = func(st Step, after bool) bool { return after == (what == "crash-after") && hit(st) }
	case "lost":
		f.lost = hit
	case "throttled", "refused":
		r := map[string]Result{"throttled": Transient, "refused": Refused}[what]
		f.outcome = func(st Step) Result {
			if hit(st) {
				return r
			}
			return ""
		}
	case "cured":
		f.between = func(st Step) {
			if hit(st) {
				f.heal(f.host(st.Instance))
			}
		}
	case "protected":
		f.between = func(st Step) {
			if hit(st) {
				for _, t := range f.host(st.Instance).tasks {
					t.protected = true
				}
			}
		}
	case "":
	default:
		d.Fatalf(s.t, "cannot inject %q", what)
	}
	return "ok\n"
}
