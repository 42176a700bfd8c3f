package remedy

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// answer is what became of a step that was asked for.
type answer int

const (
	waiting answer = iota // asked, no effect known yet
	over                  // done, standing, or nothing to act on
	failed                // refused, or tried too often
)

// ask makes sure that the step is taken once. The key is made of the case, the
// kind, the target and the round, so a repetition after a crash is the same step.
func (m *move) ask(s Step, round string) answer {
	c := m.c
	s = m.fill(s, round)
	a, ok := c.attempt(s.Key)
	if !ok {
		c.remember(Attempt{Key: s.Key, Kind: s.Kind, Target: s.Target, Asked: m.now, Last: m.now, Tries: 1})
		m.steps = append(m.steps, s)
		return waiting
	}
	switch {
	case a.Result.over():
		return over
	case a.Result == Refused:
		return failed
	case m.now.Sub(a.Last) < m.p.backoff(a.Tries):
		return waiting
	case a.Tries >= m.p.Retry.Tries:
		return failed
	}
	a.Tries++
	a.Last, a.Result = m.now, Pending
	m.steps = append(m.steps, s)
	return waiting
}

// fill completes a step with what adapters and Confirm need.
func (m *move) fill(s Step, round string) Step {
	c := m.c
	s.Case, s.Decision, s.Host, s.Instance, s.Group = c.ID, c.Decision+1, c.Host, c.Instance, m.w.Group.Name
	s.Key = c.key(s.Kind, s.Target, round)
	if s.Reason == "" {
		s.Reason = c.Cause.Token + ": " + c.Cause.Why
	}
	s.Guard.Rule, s.Guard.Cause, s.Guard.Boot, s.Guard.Scope = c.Rule, c.Cause, c.BootID, c.Scope
	s.Guard.Faults = slices.Clone(c.Faults)
	s.Guard.Committed = c.committed()
	_, _, s.Numbers = m.p.allow(m.w.Fleet, c.Repair)
	return s
}

// key names a step: the same case, kind, target and round are the same step.
func (c *Case) key(k StepKind, target, round string) string {
	return strings.Join([]string{c.ID, string(k), target, round}, "|")
}

// backoff doubles with each try, up to 16 times the first.
func (p Policy) backoff(tries int) time.Duration {
	return dur(p.Retry.After) << min(max(tries-1, 0), 4)
}

// remember keeps the attempts bounded; what is over and can be seen in the world
// goes first.
func (c *Case) remember(a Attempt) {
	for len(c.Attempts) >= maxAttempts {
		i := slices.IndexFunc(c.Attempts, func(a Attempt) bool { return a.Result.over() && a.Kind == StepStopTask })
		if i < 0 {
			i = slices.IndexFunc(c.Attempts, func(a Attempt) bool {
				return a.Kind == StepStopTask || a.Kind == StepTerminateClients || a.Kind.notifies()
			})
		}
		c.Attempts = slices.Delete(c.Attempts, max(i, 0), max(i, 0)+1)
	}
	c.Attempts = append(c.Attempts, a)
}

// fails pages and blocks when a step that nothing can replace has failed.
func (m *move) fails(s StepKind, target string) {
	detail := ""
	for _, a := range m.c.Attempts {
		if a.Kind == s && a.Target == target {
			detail = fmt.Sprintf("%s %s failed after %d tries: %s", s, target, a.Tries, a.Detail)
		}
	}
	m.page(BlockStep, strings.TrimSpace(detail))
}

// gate holds what may not go on now: an open breaker, a budget that others spent,
// too few hosts that serve. What has no way back is finished regardless.
func (m *move) gate() bool {
	c := m.c
	if c.committed() || c.Cause.Planned {
		return true
	}
	if detail, yes := held(m.w.Breakers, *c); yes {
		m.block(BlockBreaker, detail)
		return false
	}
	if b, detail, _ := m.p.allow(m.w.Fleet, c.Repair); b != "" {
		m.block(b, detail)
		return false
	}
	return true
}
