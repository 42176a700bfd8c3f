package remedy

import "github.com/cockroachdb/datadriven"

// fleet hosts=N [cards=N] [mode=act]: a new cluster under the policy in force.
func verbFleet(s *script, d *datadriven.TestData) string {
	n, cards, mode := 1, 1, "act"
	arg(s, d, "hosts", &n)
	arg(s, d, "cards", &cards)
	arg(s, d, "mode", &mode)
	p, err := ParsePolicy([]byte(s.doc))
	if err != nil {
		return err.Error() + "\n"
	}
	p.Mode = Mode(mode)
	s.fleet = newFleet(n, cards, p, mustJudge(s.t))
	return s.flush()
}
