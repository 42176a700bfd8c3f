package remedy

import (
	"fmt"
	"time"
)

// maxMoves bounds how many states one call may walk through.
const maxMoves = 12

// move is one call of Next at work.
type move struct {
	c     *Case
	w     *World
	p     *Policy
	now   time.Time
	rule  Rule
	rung  Rung
	steps []Step
}

// Next moves the case on as far as the world allows and returns the steps to take
// now. It never acts and never waits: what has no effect yet is seen at the next
// call. A final case gives no steps. Calling it twice with the same arguments
// gives the same answer; calling it again before a step's effect shows asks for
// that step again only after policy.retry.after, under the same key.
func Next(c Case, w World, p Policy, now time.Time) (Case, []Step) {
	if c.State.Final() {
		return c, nil
	}
	c = c.clone()
	m := &move{c: &c, w: &w, p: &p, now: now}
	for range maxMoves {
		before := c.State
		if before == Blocked {
			before = c.Resume
		}
		rung := c.Rung
		m.once()
		if c.State.Final() || c.State == Blocked || len(m.steps) > 0 || c.State == before && c.Rung == rung {
			break
		}
	}
	if len(m.steps) > 0 {
		c.Decision++
	}
	return c, m.steps
}

// once makes at most one transition.
func (m *move) once() {
	c := m.c
	if c.State == Blocked {
		c.State, c.Resume = c.Resume, ""
	}
	c.Waiting = ""
	m.rule, m.rung = Rule{}, Rung{}
	m.observe()
	if !m.interrupted() {
		m.dispatch()
	}
	if c.State != Blocked {
		c.Block = Block{}
	}
}

func (m *move) dispatch() {
	switch m.c.State {
	case Open:
		m.open()
	case Quarantined:
		m.quarantined()
	case Draining:
		m.draining()
	case Evidence:
		m.evidence()
	case Replacing:
		m.replacing()
	case Verifying:
		m.verifying()
	}
}

// observe takes in what the world shows of effects whose report was lost.
func (m *move) observe() {
	c, h := m.c, m.w.Host
	for i := range c.Attempts {
		a := &c.Attempts[i]
		if a.Result.over() {
			continue
		}
		switch {
		case a.Kind == StepDrain && h.Status == StatusDraining && !c.CordonOurs:
			c.CordonMaybe = true // ours or a person's: nobody can tell any more
			a.Result = Standing
		case a.Kind == StepMark && h.CordonMark == c.ID:
			a.Result = Done // the value is our case id
		case a.Kind == StepDetach && h.Lifecycle == "" && m.w.Group.Exists && !h.Gone:
			a.Result, c.Detached = Done, true
		case (a.Kind == StepTerminate || a.Kind == StepTerminateInGroup) && h.Gone:
			a.Result, c.Ended = NotFound, true
		}
	}
	c.MarksOurs = c.MarksOurs || h.CordonMark == c.ID
	c.CordonSeen = c.CordonSeen || c.CordonOurs && h.Status == StatusDraining
}

// interrupted handles what goes before any state: the host is gone, a person
// spoke, the mode forbids, the fault is over. It reports whether this move is done.
func (m *move) interrupted() bool {
	c, h := m.c, m.w.Host
	if h.Instance != "" && h.Instance != c.Instance {
		m.block(RefuseIdentity, fmt.Sprintf("the host is now %s", h.Instance))
		return true
	}
	if m.left() {
		return true
	}
	uncordoned := c.CordonSeen && h.Status == StatusActive && !c.Restored
	if !c.committed() && (h.OptOut || uncordoned) {
		text := "the host is active again by a person's hand"
		if h.OptOut {
			text = "the host has the tag " + m.p.OptOutTag
		}
		c.finish(Cancelled, ByPerson, m.now, text)
		return true
	}
	switch {
	case m.w.Paused.By != "":
		m.block(BlockPaused, fmt.Sprintf("by %s: %s", m.w.Paused.By, m.w.Paused.Reason))
		return true
	case c.Held.By != "":
		m.block(BlockHeld, fmt.Sprintf("by %s: %s", c.Held.By, c.Held.Reason))
		return true
	case m.recoveredUntouched():
		return true
	case h.Managed:
		m.block(BlockManaged, "ECS repairs Managed Instances itself")
		return true
	}
	m.escalate()
	return m.forbidden() || m.curing()
}

// left handles an instance that is no more. "Not found" is done.
func (m *move) left() bool {
	c := m.c
	if !m.w.Host.Gone {
		return false
	}
	switch {
	case c.Cause.Planned:
		c.finish(Closed, Departed, m.now, "the instance is gone as planned")
		return true
	case c.committed():
		c.Ended = true
		if c.State != Verifying {
			m.goTo(Verifying, "the instance is gone")
		}
		return false
	}
	c.finish(Closed, Gone, m.now, "the instance was ended by others")
	return true
}

// forbidden finds the rule and its mode. In observe mode nothing follows; in
// recommend mode one notice says what would be done.
func (m *move) forbidden() bool {
	c := m.c
	var ok bool
	if m.rule, ok = m.p.rule(c.Rule); !ok {
		m.block(BlockNoRule, fmt.Sprintf("the policy %s has no rule %q any more", m.p.Version, c.Rule))
		return true
	}
	if m.rung, ok = m.p.rung(c.Rule, c.Rung); !ok {
		m.block(BlockNoRule, fmt.Sprintf("rule %q has no ladder", c.Rule))
		return true
	}
	switch m.p.ModeOf(m.rule) {
	case Act:
		return false
	case Recommend:
		m.ask(Step{Kind: StepRecommend, Reason: fmt.Sprintf("would %s for %s", m.rung.Do, c.Cause.Token)}, fmt.Sprint(c.Rule, c.Rung))
		m.block(BlockRecommend, fmt.Sprintf("would %s", m.rung.Do))
	default:
		m.block(BlockObserve, fmt.Sprintf("rule %s is in observe mode", c.Rule))
	}
	return true
}

// goTo enters a state.
func (m *move) goTo(s State, why string) {
	m.c.State, m.c.Since = s, m.now
	m.c.note(m.now, fmt.Sprintf("%s: %s", s, why))
}

// block stops here until the next call judges again. The time of the first block
// for the same reason stays.
func (m *move) block(reason Blocker, detail string) {
	c := m.c
	if c.Block.Reason != reason {
		c.Block = Block{Reason: reason, Since: m.now}
		c.note(m.now, fmt.Sprintf("blocked: %s: %s", reason, detail))
	}
	c.Block.Detail = cut(detail)
	c.Resume, c.State = c.State, Blocked
}

// page tells a person, once for each word and place, and blocks.
func (m *move) page(reason Blocker, detail string) {
	m.ask(Step{Kind: StepPage, Target: string(reason), Reason: detail}, fmt.Sprint(m.c.Rung))
	m.block(reason, detail)
}
