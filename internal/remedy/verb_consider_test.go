package remedy

import "github.com/cockroachdb/datadriven"

// consider host=ID: would a case be opened now, and why not.
func verbConsider(s *script, d *datadriven.TestData) string {
	h := s.named(d)
	c, ok, why := Consider(s.fleet.look(h), s.fleet.cases, s.fleet.policy, s.fleet.now)
	if ok {
		return "yes: " + c.Cause.Token + " by rule " + why + "\n"
	}
	return "no: " + why + "\n"
}
