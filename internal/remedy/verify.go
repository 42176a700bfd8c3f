package remedy

import (
	"fmt"
	"time"
)

// verifying closes the case when a host serves in the place of the sick one: the
// newcomer, or the host itself after its cure.
func (m *move) verifying() {
	c := m.c
	if c.Restored {
		m.restore()
		return
	}
	m.hook()
	if c.Detached && !c.Ended {
		m.goTo(Replacing, "the old instance is still to be ended")
		return
	}
	if !m.w.Host.Gone {
		c.Waiting = "the old instance to be gone"
		if m.now.Sub(c.Since) > dur(m.p.Replacement.Newcomer) && m.w.Host.Lifecycle != LifecycleTerminatingWait {
			m.page(BlockStep, "the end of the instance was ordered and it is still there")
		}
		return
	}
	n := m.w.Newcomer
	if n != nil && n.Instance != c.Newcomer {
		c.Newcomer, c.NewcomerAt, c.ComeAt = n.Instance, time.Time{}, m.now
		c.note(m.now, "newcomer "+n.Instance)
	}
	late := m.now.Sub(later(c.Since, c.ComeAt)) > dur(m.p.Replacement.Newcomer)
	if n == nil {
		c.NewcomerAt = time.Time{}
		c.Waiting = "the group to launch another instance"
		if late {
			m.page(BlockNewcomer, fmt.Sprintf("no instance came within %s", dur(m.p.Replacement.Newcomer)))
		}
		return
	}
	ok, missing := n.passes()
	switch {
	case !ok && (late || n.Preflight == PreflightFailed):
		m.page(BlockNewcomerFailed, fmt.Sprintf("%s: %s", n.Instance, missing))
		c.NewcomerAt = time.Time{}
	case !ok:
		c.Waiting, c.NewcomerAt = fmt.Sprintf("%s %s", n.Instance, missing), time.Time{}
	case c.NewcomerAt.IsZero():
		c.NewcomerAt = m.now
		c.Waiting = fmt.Sprintf("%s to stay well for %s", n.Instance, dur(m.p.Replacement.Healthy))
	case m.now.Sub(c.NewcomerAt) < dur(m.p.Replacement.Healthy):
		c.Waiting = fmt.Sprintf("%s to stay well for %s", n.Instance, dur(m.p.Replacement.Healthy))
	default:
		c.finish(Closed, Replaced, m.now, fmt.Sprintf("%s serves in its place", n.Instance))
	}
}

// restore takes back what is ours and only that. A cordon that was there before,
// or whose origin nobody knows, stays and a person is told.
func (m *move) restore() {
	c, h := m.c, m.w.Host
	cleanUp := Guard{CleanUp: true}
	busy := false
	if h.Status == StatusDraining && c.CordonOurs {
		switch m.ask(Step{Kind: StepUndrain, Guard: cleanUp}, c.round()) {
		case failed:
			m.fails(StepUndrain, "")
			return
		default:
			busy = true
		}
	}
	if h.CordonMark == c.ID {
		switch m.ask(Step{Kind: StepUnmark, Guard: cleanUp}, c.round()) {
		case failed:
			m.fails(StepUnmark, "")
			return
		default:
			busy = true
		}
	}
	if busy {
		c.Waiting = "our cordon and marks to be taken back"
		return
	}
	if h.Status == StatusDraining {
		m.ask(Step{Kind: StepPage, Target: "CordonLeft", Reason: "the host is well and still DRAINING; the cordon is not known to be ours"}, "once")
		c.finish(Closed, CordonLeft, m.now, "well again; a cordon that is not known to be ours stays")
		return
	}
	c.finish(Closed, Recovered, m.now, "well again and in service")
}
