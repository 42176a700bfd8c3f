package remedy

import (
	"fmt"
	"slices"
	"time"
)

// Confirmation is the answer right before acting.
type Confirmation struct {
	Go     bool
	Result Result  // when not Go: Standing or NotFound (record it), or Withdrawn
	Reason Blocker // when withdrawn
	Detail string
}

// Err is nil when the step may be taken; for the caller's log.
func (k Confirmation) Err() error {
	if k.Go {
		return nil
	}
	return fmt.Errorf("step not taken: %s %s %s", k.Result, k.Reason, k.Detail)
}

// Confirm judges a step once more with a fresh view of the world, right before it
// is taken: the case may have been cancelled, the fault cured, the host
// uncordoned, the budget spent or the task protected since Next decided. The
// caller records the Result of a step that is not taken.
func Confirm(s Step, w World, p Policy, now time.Time) Confirmation {
	if w.Case.ID != s.Case || w.Case.State.Final() && !s.Kind.notifies() {
		return withdraw(RefuseOver, string(w.Case.State))
	}
	if w.Case.Decision != s.Decision {
		return withdraw(RefuseMoved, fmt.Sprintf("it was decision %d, now %d is in force", s.Decision, w.Case.Decision))
	}
	rule, ok := p.rule(s.Guard.Rule)
	if !ok {
		return withdraw(BlockNoRule, s.Guard.Rule)
	}
	mode := p.ModeOf(rule)
	switch {
	case mode == Observe:
		return withdraw(BlockObserve, "")
	case s.Kind.notifies():
		return Confirmation{Go: true}
	case mode == Recommend:
		return withdraw(BlockRecommend, "")
	case w.Paused.By != "":
		return withdraw(BlockPaused, w.Paused.Reason)
	case w.Case.Held:
		return withdraw(BlockHeld, "")
	case w.Host.Gone:
		return Confirmation{Result: NotFound, Detail: "the instance is gone"}
	case w.Host.Instance != s.Instance:
		return withdraw(RefuseIdentity, w.Host.Instance)
	}
	if !s.Guard.Committed {
		if k := s.reconsider(w, p); !k.Go {
			return k
		}
	}
	return s.effect(w, now)
}

// reconsider holds for everything that still has a way back.
func (s Step) reconsider(w World, p Policy) Confirmation {
	switch {
	case w.Host.OptOut:
		return withdraw(BlockOptOut, p.OptOutTag)
	case s.Guard.CleanUp:
		if !w.Host.well(s.Guard.Faults) {
			return withdraw(RefuseCured, "the fault is back; nothing is taken back")
		}
		return Confirmation{Go: true}
	case s.Kind == StepHeartbeat || s.Kind == StepCompleteHook:
		return Confirmation{Go: true}
	case !w.Host.sick(s.Guard.Faults):
		return withdraw(RefuseCured, s.Guard.Cause.Token+" is no longer seen")
	case s.Guard.Cause.Planned:
		return Confirmation{Go: true}
	}
	probe := Case{ID: s.Case, Cause: s.Guard.Cause, Scope: s.Guard.Scope}
	if detail, yes := held(w.Breakers, probe); yes {
		return withdraw(BlockBreaker, detail)
	}
	if b, detail, _ := p.allow(w.Fleet, true); b != "" {
		return withdraw(b, detail)
	}
	return Confirmation{Go: true}
}

// effect asks whether the effect is there already, and whether the step is safe.
func (s Step) effect(w World, now time.Time) Confirmation {
	h := w.Host
	switch s.Kind {
	case StepDrain:
		if h.Status != StatusActive {
			return Confirmation{Result: Standing, Detail: "already " + h.Status}
		}
	case StepUndrain:
		if h.Status != StatusDraining {
			return Confirmation{Result: Standing, Detail: "already " + h.Status}
		}
	case StepMark:
		if h.CordonMark == s.Case {
			return Confirmation{Result: Standing}
		}
	case StepUnmark:
		if h.CordonMark != s.Case {
			return Confirmation{Result: NotFound, Detail: "the mark is not ours"}
		}
	case StepStopTask, StepTerminateClients:
		return s.taskEffect(h, now)
	case StepDetach:
		if h.Lifecycle != LifecycleInService {
			return withdraw(RefuseNotOurs, "the instance is not in service in its group: "+h.Lifecycle)
		}
	case StepTerminateInGroup, StepTerminate, StepReboot, StepCompleteHook:
		if !h.empty() {
			return withdraw(RefuseOccupied, fmt.Sprintf("%d tasks, %d shares", len(h.holders()), h.LedgerShares))
		}
	case StepRestartMPS, StepEvidence, StepHeartbeat:
	}
	return Confirmation{Go: true}
}

// taskEffect checks the task of the step.
func (s Step) taskEffect(h HostView, now time.Time) Confirmation {
	i := slices.IndexFunc(h.Tasks, func(t Task) bool { return t.ARN == s.Target })
	switch {
	case i < 0:
		return Confirmation{Result: NotFound, Detail: "the task is no more on this host"}
	case h.Tasks[i].Stopping:
		return Confirmation{Result: Standing, Detail: "the task is stopping"}
	case h.Tasks[i].Protected && !s.Guard.Override:
		return withdraw(BlockProtected, s.Target)
	case s.Kind == StepTerminateClients:
		for _, pid := range s.PIDs {
			if !slices.Contains(h.Tasks[i].PIDs, pid) {
				return withdraw(RefuseNotOurs, fmt.Sprintf("process %d is no longer proven to be the task's", pid))
			}
		}
	}
	return Confirmation{Go: true}
}

func withdraw(reason Blocker, detail string) Confirmation {
	return Confirmation{Result: Withdrawn, Reason: reason, Detail: detail}
}
