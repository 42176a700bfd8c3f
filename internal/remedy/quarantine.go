package remedy

import (
	"fmt"
	"time"
)

// open decides whether the case may begin.
func (m *move) open() {
	c := m.c
	if wait := dur(m.rule.Tolerate); wait > 0 && !c.Cause.Planned {
		since := c.Opened
		for _, r := range m.w.Host.Verdict.Reasons {
			if r.Token == c.Cause.Token && r.Device == c.Cause.Device {
				since = r.Stood
			}
		}
		if m.now.Sub(since) < wait {
			c.Waiting = fmt.Sprintf("%s is tolerated for %s", c.Cause.Token, wait)
			return
		}
	}
	if !c.Cause.Planned && m.w.Fixes >= m.p.Repeat.Fixes {
		m.page(BlockPerson, fmt.Sprintf("fixed %d times within %s", m.w.Fixes, dur(m.p.Repeat.Within)))
		return
	}
	if !m.gate() {
		return
	}
	c.Repair, c.Entered, c.RungAt = true, m.now, m.now
	m.goTo(Quarantined, c.Cause.Token+": "+c.Cause.Why)
	if m.rung.Do.drains() {
		m.cordon()
	} else {
		m.mark()
	}
}

// cordon sets DRAINING, then our marks: first of all nothing new may come.
func (m *move) cordon() answer {
	c, h := m.c, m.w.Host
	result := over
	if h.Registered && h.Status == StatusActive {
		result = m.ask(Step{Kind: StepDrain}, c.round())
	}
	if h.Registered {
		m.mark()
	}
	return result
}

// round tells one quarantine from the next of the same case.
func (c *Case) round() string { return fmt.Sprint(c.Entered.Unix(), ".", c.Rung) }

// mark puts our attributes on the container instance, and puts them again when
// somebody wiped them.
func (m *move) mark() answer {
	c := m.c
	if m.w.Host.CordonMark == c.ID {
		return over
	}
	round := c.round()
	if a, ok := c.attempt(c.key(StepMark, "", round)); ok && a.Result.over() && m.now.Sub(a.Last) > 2*time.Minute {
		a.Result, a.Tries = Transient, 1 // it was there and is not: asked again under the same key
	}
	return m.ask(Step{Kind: StepMark}, round)
}

// quarantined tries the rungs that leave the host in service.
func (m *move) quarantined() {
	c := m.c
	if !m.gate() {
		return
	}
	if m.rung.Do.drains() {
		c.DrainAt = m.now
		m.goTo(Draining, fmt.Sprintf("for %s", m.rung.Do))
		m.cordon()
		return
	}
	if m.w.Host.Registered && m.mark() == waiting {
		c.Waiting = "the marks on the container instance"
		return
	}
	switch m.rung.Do {
	case DoRestartMPS:
		m.restartMPS()
	case DoTerminateClients:
		m.onTasks(StepTerminateClients)
	case DoStopVictims:
		m.onTasks(StepStopTask)
	}
}

// restartMPS restarts the daemon where that breaks no client, or where policy
// takes the clients as lost anyway.
func (m *move) restartMPS() {
	n := m.w.Host.MPSClients
	if n != 0 && !m.rung.WithClients {
		m.advance(fmt.Sprintf("a restart of MPS would break its %d clients (-1: unknown)", n))
		return
	}
	switch m.ask(Step{Kind: StepRestartMPS, WithClients: m.rung.WithClients}, m.tryKey()) {
	case failed:
		m.advance("the restart of MPS failed")
	case over:
		m.await(StepRestartMPS)
	default:
		m.c.Waiting = "the restart of MPS"
	}
}

func (m *move) tryKey() string { return fmt.Sprint(m.c.round(), ".", m.c.RungTry) }

// onTasks terminates the clients of, or stops, each task on the faulted card, so
// that the server can leave its fault.
func (m *move) onTasks(kind StepKind) {
	c := m.c
	pending, acted := 0, false
	for _, t := range m.w.Host.holders() {
		if !t.OnFaultedCard {
			continue
		}
		s := Step{Kind: kind, Target: t.ARN}
		if kind == StepTerminateClients {
			if len(t.PIDs) == 0 {
				continue // no proof whose they are: they are left alone
			}
			s.PIDs = t.PIDs[:min(len(t.PIDs), maxPIDs)]
		}
		if t.Protected && m.now.Sub(c.RungAt) < dur(m.p.Drain.Protection) {
			c.Waiting = fmt.Sprintf("task %s of %s is protected", t.ARN, t.Family)
			pending++
			continue
		}
		if t.Protected && m.p.Drain.AfterProtection == "block" {
			m.block(BlockProtected, fmt.Sprintf("task %s of %s", t.ARN, t.Family))
			return
		}
		s.Guard.Override = t.Protected
		acted = true
		if m.ask(s, m.tryKey()) == waiting {
			pending++
		}
	}
	switch {
	case pending > 0:
		if c.Waiting == "" {
			c.Waiting = fmt.Sprintf("%d tasks on the faulted card", pending)
		}
	case acted || c.asked(kind):
		m.await(kind)
	default:
		m.advance(fmt.Sprintf("no task to %s", m.rung.Do))
	}
}

// await gives the fault its time to clear after the last act of the rung, then
// tries again or goes on.
func (m *move) await(kind StepKind) {
	c := m.c
	last := c.RungAt
	for _, a := range c.Attempts {
		if a.Kind == kind {
			last = later(last, a.Last)
		}
	}
	if wait := dur(m.rung.Wait); m.now.Sub(last) < wait {
		c.Waiting = fmt.Sprintf("%s for the fault to clear after %s", wait, kind)
		return
	}
	if c.RungTry+1 < m.rung.Tries {
		c.RungTry++
		c.RungAt = m.now
		c.Waiting = fmt.Sprintf("try %d of %d of %s", c.RungTry+1, m.rung.Tries, m.rung.Do)
		return
	}
	m.advance(fmt.Sprintf("%s did not help", m.rung.Do))
}

// advance goes to the next rung; after the last a person is needed.
func (m *move) advance(why string) {
	c := m.c
	if m.p.last(c.Rule, c.Rung) {
		m.page(BlockPerson, "the ladder is at its end: "+why)
		return
	}
	c.Rung, c.RungTry, c.RungAt = c.Rung+1, 0, m.now
	c.note(m.now, fmt.Sprintf("next rung %d: %s", c.Rung+1, why))
}
