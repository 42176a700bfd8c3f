package remedy

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// maxStops bounds the tasks stopped in one call: the ECS modify bucket is shared.
const maxStops = 10

// capacityFirstUpTo is the longest drain for which the newcomer is called before
// the old host is empty; for a longer one it would stand idle.
const capacityFirstUpTo = 2 * time.Hour

// draining waits for the host to be empty and names who keeps it.
func (m *move) draining() {
	c, h := m.c, m.w.Host
	m.hook()
	if !c.Detached && !m.gate() {
		return
	}
	if m.cordon() == failed {
		m.fails(StepDrain, "")
		return
	}
	if h.Registered && h.Status == StatusActive {
		c.Waiting = "DRAINING to show"
		return
	}
	m.callNewcomer()
	if h.empty() {
		if m.rung.Do == DoLeave {
			m.goTo(Replacing, "the host is empty")
		} else {
			m.goTo(Evidence, "the host is empty")
		}
		return
	}
	m.leftovers()
}

// callNewcomer detaches the instance so that its group starts another at once:
// desired capacity stays. Where the group does not allow it the instance is
// replaced in place later.
func (m *move) callNewcomer() {
	g, h := m.w.Group, m.w.Host
	able := m.rung.Do == DoReplace && m.p.Replacement.CapacityFirst && g.Exists && !g.LaunchSuspended &&
		h.Lifecycle == LifecycleInService && !h.TermProtect && dur(m.rung.Drain) <= capacityFirstUpTo
	if able && !m.c.committed() && m.p.last(m.c.Rule, m.c.Rung) {
		m.ask(Step{Kind: StepDetach}, m.c.round())
	}
}

// leftovers decides about each task that is still there.
func (m *move) leftovers() {
	c := m.c
	tasks := m.w.Host.holders()
	slices.SortFunc(tasks, func(a, b Task) int { return strings.Compare(a.ARN, b.ARN) })
	stops, waits := 0, []string{}
	for _, t := range tasks {
		stop, override, blocker, wait := m.judge(t)
		switch {
		case blocker != "":
			m.page(blocker, fmt.Sprintf("task %s of %s", t.ARN, t.Family))
			return
		case !stop:
			waits = append(waits, wait)
		case stops < maxStops:
			stops++
			if m.ask(Step{Kind: StepStopTask, Target: t.ARN, Guard: Guard{Override: override}}, c.round()) == failed {
				m.fails(StepStopTask, t.ARN)
				return
			}
			waits = append(waits, fmt.Sprintf("task %s to stop", t.ARN))
		}
	}
	if len(tasks) == 0 {
		waits = append(waits, fmt.Sprintf("%d shares that the ledger still holds", m.w.Host.LedgerShares))
		if m.now.Sub(c.DrainAt) > 2*dur(m.rung.Drain) {
			m.page(BlockDrain, waits[0])
			return
		}
	}
	if len(waits) > 0 {
		c.Waiting = cut(strings.Join(waits[:min(len(waits), 4)], "; "))
	}
}

// judge says of one task whether it is stopped now, who blocks, or what is waited for.
func (m *move) judge(t Task) (stop, override bool, blocker Blocker, wait string) {
	age, d := m.now.Sub(m.c.DrainAt), m.p.Drain
	name := fmt.Sprintf("task %s of %s", t.ARN, t.Family)
	switch {
	case t.Stopping:
		return false, false, "", name + " is stopping"
	case t.Protected && age < patience(d.Protection, m.rung.Drain):
		return false, false, "", fmt.Sprintf("%s is protected, honoured for %s", name, patience(d.Protection, m.rung.Drain))
	case t.Protected && d.AfterProtection == "block":
		return false, false, BlockProtected, ""
	case t.Protected:
		return true, true, "", ""
	case t.Service == "" && d.Standalone == "stop":
		return true, false, "", ""
	case t.Service == "" && d.Standalone == "block":
		return false, false, BlockStandalone, ""
	case t.Service == "" && age < patience(d.StandaloneFor, m.rung.Drain):
		return false, false, "", fmt.Sprintf("%s is standalone, left for %s", name, patience(d.StandaloneFor, m.rung.Drain))
	case t.Service != "" && age < dur(m.rung.Drain):
		return false, false, "", fmt.Sprintf("%s of service %s leaves", name, t.Service)
	case d.After == "block" && t.Service == "":
		return false, false, BlockStandalone, ""
	case d.After == "block":
		return false, false, BlockDrain, ""
	}
	return true, false, "", ""
}

// patience is the longer of the two: where the drain itself is not urgent, nobody
// is hurried.
func patience(a, b Duration) time.Duration { return max(dur(a), dur(b)) }
