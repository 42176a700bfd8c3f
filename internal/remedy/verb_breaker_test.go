package remedy

import (
	"fmt"

	"github.com/cockroachdb/datadriven"
)

// breaker: every breaker that is not closed.
func verbBreaker(s *script, _ *datadriven.TestData) string {
	var open []Breaker
	for _, b := range s.fleet.breakers {
		if b.State != BreakerClosed {
			open = append(open, b)
		}
	}
	return list(len(open), func(i int) string {
		b := open[i]
		return fmt.Sprintf("%s %s %d of %d canary=%q cool-down=%s", b.Key, b.State, b.Hosts, b.Of, b.Canary, b.CoolDown)
	})
}
