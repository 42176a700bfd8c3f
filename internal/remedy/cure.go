package remedy

import (
	"fmt"
	"slices"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/health"
)

// recoveredUntouched closes a case whose fault went away before anything was done.
func (m *move) recoveredUntouched() bool {
	c := m.c
	if c.Repair || len(c.Attempts) > 0 && c.touched() || !m.w.Host.well(c.Faults) {
		return false
	}
	c.finish(Closed, Recovered, m.now, "the fault cleared before anything was done")
	return true
}

// touched reports whether any step that changes the world was asked for.
func (c *Case) touched() bool {
	return slices.ContainsFunc(c.Attempts, func(a Attempt) bool { return !a.Kind.notifies() })
}

// curing handles a fault that is over: nothing more is done, and when it has
// stayed away the host goes back into service. While nobody can say how the host
// is, nothing is done either way.
func (m *move) curing() bool {
	c := m.c
	if c.committed() || m.ending() {
		return false
	}
	switch {
	case m.w.Host.sick(c.Faults):
		c.WellAt = time.Time{}
		if c.Restored {
			c.Restored = false
			m.goTo(Quarantined, "the fault is back")
		}
		return false
	case !m.w.Host.well(c.Faults):
		c.WellAt = time.Time{}
		c.Waiting = "the fault is no longer seen, and nobody can say whether the host is well"
		return true
	case c.Restored || !c.Repair:
		return false
	}
	if c.WellAt.IsZero() {
		c.WellAt = m.now
		c.note(m.now, "the fault is no longer seen")
	}
	if need := dur(m.p.Replacement.Healthy); m.now.Sub(c.WellAt) < need {
		c.Waiting = fmt.Sprintf("the host must stay well for %s", need)
		return true
	}
	c.Restored = true
	m.goTo(Verifying, "the fault is over; the host goes back into service")
	return false
}

// ending reports whether the end was asked for and nobody knows yet what came of
// it: then there is no way back before that is known.
func (m *move) ending() bool {
	for _, a := range m.c.Attempts {
		end := a.Kind == StepDetach || a.Kind == StepTerminate || a.Kind == StepTerminateInGroup
		if end && (a.Result == Pending || a.Result == Transient) {
			return true
		}
	}
	return false
}

// escalate takes in what else stands, and a stronger reason than the case's own.
func (m *move) escalate() {
	c := m.c
	for _, r := range m.w.Host.Verdict.Reasons {
		if !demands(r) {
			continue
		}
		if !c.answers(r) {
			continue
		}
		action := health.Strongest(r.Actions)
		if r.Token == c.Cause.Token && r.Device == c.Cause.Device {
			c.Cause.Action = action
			continue
		}
		stronger := action.Stronger(c.Cause.Action) || !m.w.Host.reason(c.Cause)
		rung, ok := m.p.rung(c.Rule, c.Rung)
		if !stronger || c.Cause.Planned || ok && rung.Do.drains() && c.State != Open {
			continue
		}
		rule, ok := m.p.RuleFor(r)
		if !ok {
			continue
		}
		c.note(m.now, fmt.Sprintf("%s takes over from %s", r.Token, c.Cause.Token))
		c.Cause, c.Rule, c.Rung, c.RungTry, c.RungAt = causeOf(r), rule.Name, 0, 0, m.now
	}
}

// answers reports whether the case answers for the reason's fault, and takes it in
// when it is new: seen after the case opened, or its own cause by another witness.
// Older faults were weighed by Consider; what it left out, others answered for.
func (c *Case) answers(r health.Reason) bool {
	if slices.Contains(c.Faults, r.Fault) {
		return true
	}
	own := r.Token == c.Cause.Token && r.Device == c.Cause.Device
	if !own && !r.Stood.After(c.Opened) {
		return false
	}
	c.Faults = append(c.Faults, r.Fault)
	if len(c.Faults) > maxFaults {
		c.Faults = slices.Delete(c.Faults, 1, 2)
	}
	return true
}

func causeOf(r health.Reason) Cause {
	return Cause{Token: r.Token, Class: r.Class, Action: health.Strongest(r.Actions), Device: r.Device, Planned: r.Planned, Why: cut(r.Why)}
}
