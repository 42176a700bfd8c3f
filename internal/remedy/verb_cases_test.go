package remedy

import (
	"fmt"

	"github.com/cockroachdb/datadriven"
)

// cases: one line each.
func verbCases(s *script, _ *datadriven.TestData) string {
	return list(len(s.fleet.cases), func(i int) string {
		c := s.fleet.cases[i]
		line := fmt.Sprintf("%s %s %s", c.Instance, c.Cause.Token, c.State)
		switch {
		case c.State == Blocked:
			line += fmt.Sprintf(" in %s: %s: %s", c.Resume, c.Block.Reason, c.Block.Detail)
		case c.State.Final():
			line += fmt.Sprintf(" %s mttr=%s", c.Outcome, c.MTTR())
		case c.Waiting != "":
			line += " waits for: " + c.Waiting
		}
		return line
	})
}
