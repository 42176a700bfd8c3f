package remedy

import "fmt"

// evidence collects the bundle before the end.
func (m *move) evidence() {
	c := m.c
	m.hook()
	if !m.gate() {
		return
	}
	if m.w.Host.Evidence {
		m.goTo(Replacing, "the evidence is in the bucket")
		return
	}
	result := m.ask(Step{Kind: StepEvidence}, c.round())
	late := m.now.Sub(c.Since) >= dur(m.p.Evidence.Deadline)
	switch {
	case result == over:
		m.goTo(Replacing, "the evidence was collected")
	case (late || result == failed) && m.p.Evidence.Required:
		m.page(BlockEvidence, "the bundle could not be collected and the policy requires it")
	case late || result == failed:
		m.goTo(Replacing, "without evidence: it could not be collected in time")
	default:
		c.Waiting = "the evidence bundle"
	}
}

// replacing ends the instance without shrinking its group, reboots it, or waits
// for a planned departure.
func (m *move) replacing() {
	c, h := m.c, m.w.Host
	m.hook()
	if !m.gate() {
		return
	}
	switch {
	case m.rung.Do == DoLeave:
		c.Waiting = "the planned departure"
	case m.rung.Do == DoReboot:
		m.reboot()
	case m.rung.Do != DoReplace:
		m.goTo(Quarantined, fmt.Sprintf("the ladder says %s", m.rung.Do))
	case !h.empty():
		c.DrainAt = later(c.DrainAt, m.now)
		m.goTo(Draining, "the host is occupied again")
	case c.Ended:
		m.goTo(Verifying, "the end of the instance was ordered")
	default:
		m.end()
	}
}

// end orders the end of the instance.
func (m *move) end() {
	c, h, g := m.c, m.w.Host, m.w.Group
	kind := StepTerminateInGroup
	switch {
	case h.TermProtect:
		m.page(BlockTerminate, "EC2 termination protection is on")
		return
	case c.Detached:
		kind = StepTerminate
	case m.ending() && c.asked(StepDetach) && !c.asked(StepTerminateInGroup):
		c.Waiting = "the answer about leaving the group"
		m.detachOrGiveUp()
		return
	case !g.Exists && g.Name != "":
		m.page(BlockGroupVanished, fmt.Sprintf("Auto Scaling group %s is no more; nothing would come in the place of this host", g.Name))
		return
	case !g.Exists || h.Lifecycle == "":
		m.page(BlockNotInGroup, "the instance is in no Auto Scaling group; nothing would come in its place")
		return
	case h.Lifecycle == LifecycleTerminatingWait:
		c.Ended = true
		c.Waiting = "the group to end the instance"
		return
	case g.LaunchSuspended:
		m.page(BlockLaunch, fmt.Sprintf("group %s may not launch", g.Name))
		return
	}
	switch m.ask(Step{Kind: kind}, c.round()) {
	case over:
		c.Ended = true
		m.goTo(Verifying, "the end of the instance was ordered")
	case failed:
		m.fails(kind, "")
	default:
		c.Waiting = "the end of the instance"
	}
}

// maxDetachTries is how often the detach of an empty host is tried; then it is
// replaced in place, which needs no newcomer first.
const maxDetachTries = 3

// detachOrGiveUp asks for the detach again, and goes on in place when it failed
// and the instance is still seen in service in its group.
func (m *move) detachOrGiveUp() {
	c := m.c
	if a, ok := c.attempt(c.key(StepDetach, "", c.round())); ok && a.Tries >= maxDetachTries && m.w.Host.Lifecycle == LifecycleInService {
		a.Result = Refused
		c.note(m.now, "the detach does not get through: replaced in place")
		c.Waiting = ""
		return
	}
	if m.ask(Step{Kind: StepDetach}, c.round()) == failed {
		m.fails(StepDetach, "")
	}
}

// reboot tries a reboot of the empty host; the cure is seen by its verdict.
func (m *move) reboot() {
	switch m.ask(Step{Kind: StepReboot}, m.tryKey()) {
	case over:
		m.await(StepReboot)
	case failed:
		m.advance("the reboot failed")
	default:
		m.c.Waiting = "the reboot"
	}
}

// hook holds our lifecycle hook with heartbeats until the ledger is empty, and
// only then lets the instance go.
func (m *move) hook() {
	c, h := m.c, m.w.Host
	if h.Lifecycle != LifecycleTerminatingWait || !h.HookOurs {
		return
	}
	if h.empty() {
		m.ask(Step{Kind: StepCompleteHook, Reason: "the ledger is empty"}, fmt.Sprint(h.HookSince.Unix()))
		return
	}
	if limit := dur(m.p.Hook.Limit); !h.HookSince.IsZero() && m.now.Sub(h.HookSince) > limit {
		names := ""
		for _, t := range h.holders() {
			names += " " + t.ARN
		}
		m.ask(Step{Kind: StepPage, Target: string(BlockHook), Reason: fmt.Sprintf("the hook has been held for %s; Auto Scaling ends the wait at 48h; still there:%s", limit, names)}, "once")
	}
	if m.now.Sub(c.HeartbeatAt) < dur(m.p.Hook.Heartbeat) {
		return
	}
	c.HeartbeatAt = m.now
	m.steps = append(m.steps, m.fill(Step{Kind: StepHeartbeat, Reason: fmt.Sprintf("%d tasks and %d shares are still there",
		len(h.holders()), h.LedgerShares)}, fmt.Sprint(m.now.Unix())))
}
