package remedy

import (
	"errors"
	"testing"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/health"
)

// sickWorld is a world in which a step of the case may be taken.
func sickWorld() (World, Step, Policy) {
	reason := health.Reason{Token: "Xid79", Actions: []health.Action{health.Replace}, Fault: "f1", Level: health.Failed}
	v := health.Verdict{At: start, Reasons: []health.Reason{reason}, Host: health.Judgement{Level: health.Failed, Action: health.Replace}}
	w := World{Case: CaseMark{ID: "c", State: Draining, Decision: 3}, Group: GroupView{Name: "asg", Exists: true},
		Host: HostView{Instance: "i-1", Registered: true, Status: StatusDraining, Lifecycle: LifecycleInService, CordonMark: "c", Verdict: v,
			Tasks: []Task{{ARN: "d", Daemon: true}}}}
	p := Policy{Mode: Act, RuleMode: Act, Rules: []Rule{{Name: "hardware", Ladder: "replace"}}}
	s := Step{Kind: StepTerminateInGroup, Case: "c", Decision: 3, Instance: "i-1",
		Guard: Guard{Rule: "hardware", Cause: Cause{Token: "Xid79", Action: health.Replace}, Faults: []string{"f1"}}}
	return w, s, p
}

func TestConfirmLooksAgainRightBeforeTheAct(t *testing.T) {
	type change func(*World, *Step, *Policy)
	kind := func(k StepKind) change { return func(_ *World, s *Step, _ *Policy) { s.Kind = k } }
	task := func(k StepKind, tk Task) change {
		return func(w *World, s *Step, _ *Policy) {
			s.Kind, s.Target = k, "t1"
			w.Host.Tasks = append(w.Host.Tasks, tk)
		}
	}
	for name, tc := range map[string]struct {
		change change
		goes   bool
		result Result
		reason Blocker
	}{
		"as decided":             {func(*World, *Step, *Policy) {}, true, "", ""},
		"cancelled":              {func(w *World, _ *Step, _ *Policy) { w.Case.State = Cancelled }, false, Withdrawn, RefuseOver},
		"another case":           {func(w *World, _ *Step, _ *Policy) { w.Case.ID = "x" }, false, Withdrawn, RefuseOver},
		"decided anew":           {func(w *World, _ *Step, _ *Policy) { w.Case.Decision = 4 }, false, Withdrawn, RefuseMoved},
		"observe mode":           {func(_ *World, _ *Step, p *Policy) { p.Mode = Observe }, false, Withdrawn, BlockObserve},
		"recommend mode":         {func(_ *World, _ *Step, p *Policy) { p.Mode = Recommend }, false, Withdrawn, BlockRecommend},
		"the rule is gone":       {func(_ *World, _ *Step, p *Policy) { p.Rules = nil }, false, Withdrawn, BlockNoRule},
		"paused":                 {func(w *World, _ *Step, _ *Policy) { w.Paused = Word{By: "ana"} }, false, Withdrawn, BlockPaused},
		"held":                   {func(w *World, _ *Step, _ *Policy) { w.Case.Held = true }, false, Withdrawn, BlockHeld},
		"opted out":              {func(w *World, _ *Step, _ *Policy) { w.Host.OptOut = true }, false, Withdrawn, BlockOptOut},
		"gone already":           {func(w *World, _ *Step, _ *Policy) { w.Host.Gone = true }, false, NotFound, ""},
		"another instance":       {func(w *World, _ *Step, _ *Policy) { w.Host.Instance = "i-2" }, false, Withdrawn, RefuseIdentity},
		"cured":                  {func(w *World, _ *Step, _ *Policy) { w.Host.Verdict.Reasons = nil }, false, Withdrawn, RefuseCured},
		"cured, but no way back": {func(w *World, s *Step, _ *Policy) { w.Host.Verdict.Reasons, s.Guard.Committed = nil, true }, true, "", ""},
		"occupied again":         {func(w *World, _ *Step, _ *Policy) { w.Host.Tasks = append(w.Host.Tasks, Task{ARN: "t"}) }, false, Withdrawn, RefuseOccupied},
		"the ledger still holds": {func(w *World, _ *Step, _ *Policy) { w.Host.LedgerShares = 1 }, false, Withdrawn, RefuseOccupied},
		"breaker open": {func(w *World, _ *Step, _ *Policy) {
			w.Breakers = []Breaker{{Key: CauseKey{Token: "Xid79"}, State: BreakerOpen}}
		}, false, Withdrawn, BlockBreaker},
		"the canary": {func(w *World, _ *Step, _ *Policy) {
			w.Breakers = []Breaker{{Key: CauseKey{Token: "Xid79"}, State: BreakerHalfOpen, Canary: "c"}}
		}, true, "", ""},
		"budget overdrawn by others": {func(w *World, _ *Step, p *Policy) {
			p.Budgets = []Budget{{Scope: ScopeCluster, Parallel: ptr(1)}}
			w.Fleet = Fleet{[]Usage{{Scope: ScopeCluster, Hosts: 9, Serving: 9, InRepair: 1, Ahead: 1}}}
		}, false, Withdrawn, BlockBudget},
		"draining already":         {kind(StepDrain), false, Standing, ""},
		"active: drain":            {func(w *World, s *Step, _ *Policy) { s.Kind, w.Host.Status = StepDrain, StatusActive }, true, "", ""},
		"marked already":           {kind(StepMark), false, Standing, ""},
		"not marked":               {func(w *World, s *Step, _ *Policy) { s.Kind, w.Host.CordonMark = StepMark, "" }, true, "", ""},
		"detached already":         {func(w *World, s *Step, _ *Policy) { s.Kind, w.Host.Lifecycle = StepDetach, "" }, false, Withdrawn, RefuseNotOurs},
		"detach":                   {kind(StepDetach), true, "", ""},
		"hook while occupied":      {func(w *World, s *Step, _ *Policy) { s.Kind, w.Host.LedgerShares = StepCompleteHook, 2 }, false, Withdrawn, RefuseOccupied},
		"heartbeat while occupied": {func(w *World, s *Step, _ *Policy) { s.Kind, w.Host.LedgerShares = StepHeartbeat, 2 }, true, "", ""},
		"reboot while occupied":    {func(w *World, s *Step, _ *Policy) { s.Kind, w.Host.LedgerShares = StepReboot, 2 }, false, Withdrawn, RefuseOccupied},
		"undrain while sick":       {func(_ *World, s *Step, _ *Policy) { s.Kind, s.Guard.CleanUp = StepUndrain, true }, false, Withdrawn, RefuseCured},
		"undrain when well": {func(w *World, s *Step, _ *Policy) {
			s.Kind, s.Guard.CleanUp = StepUndrain, true
			w.Host.Verdict = health.Verdict{At: start}
		}, true, "", ""},
		"undrain when nobody knows": {func(w *World, s *Step, _ *Policy) {
			s.Kind, s.Guard.CleanUp = StepUndrain, true
			w.Host.Verdict = health.Verdict{At: start, Host: health.Judgement{Level: health.Unknown}}
		}, false, Withdrawn, RefuseCured},
		"undrained by a person": {func(w *World, s *Step, _ *Policy) {
			s.Kind, s.Guard.CleanUp, w.Host.Status = StepUndrain, true, StatusActive
			w.Host.Verdict = health.Verdict{At: start}
		}, false, Standing, ""},
		"the mark is another's": {func(w *World, s *Step, _ *Policy) {
			s.Kind, s.Guard.CleanUp, w.Host.CordonMark = StepUnmark, true, "x"
			w.Host.Verdict = health.Verdict{At: start}
		}, false, NotFound, ""},
		"the task left":         {func(_ *World, s *Step, _ *Policy) { s.Kind, s.Target = StepStopTask, "t1" }, false, NotFound, ""},
		"the task is stopping":  {task(StepStopTask, Task{ARN: "t1", Stopping: true}), false, Standing, ""},
		"the task is protected": {task(StepStopTask, Task{ARN: "t1", Protected: true}), false, Withdrawn, BlockProtected},
		"the task runs":         {task(StepStopTask, Task{ARN: "t1"}), true, "", ""},
		"a client is no longer proven": {func(w *World, s *Step, _ *Policy) {
			s.Kind, s.Target, s.PIDs = StepTerminateClients, "t1", []int{7, 8}
			w.Host.Tasks = append(w.Host.Tasks, Task{ARN: "t1", PIDs: []int{7}})
		}, false, Withdrawn, RefuseNotOurs},
		"its clients are proven": {func(w *World, s *Step, _ *Policy) {
			s.Kind, s.Target, s.PIDs = StepTerminateClients, "t1", []int{7}
			w.Host.Tasks = append(w.Host.Tasks, Task{ARN: "t1", PIDs: []int{7, 9}})
		}, true, "", ""},
		"a page of a case that is over": {func(w *World, s *Step, _ *Policy) { s.Kind, w.Case.State = StepPage, Closed }, true, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w, s, p := sickWorld()
			tc.change(&w, &s, &p)
			got := Confirm(s, w, p, start)
			if got.Go != tc.goes || got.Result != tc.result || got.Reason != tc.reason {
				t.Errorf("%+v", got)
			}
			if (got.Err() == nil) != tc.goes {
				t.Errorf("err %v", got.Err())
			}
		})
	}
}

func TestRecordIsSafeToRepeatAndKnowsWhatItMeans(t *testing.T) {
	c := Case{ID: "c", State: Draining, Attempts: []Attempt{{Key: "k", Kind: StepDrain, Tries: 1}}}
	s := Step{Key: "k", Kind: StepDrain}
	once := Record(c, s, Done, "", start)
	twice := Record(once, s, Transient, "late answer", start.Add(time.Minute))
	if !once.CordonOurs || twice.Attempts[0].Result != Done {
		t.Errorf("%+v then %+v", once, twice)
	}
	if c.CordonOurs || c.Attempts[0].Result != Pending {
		t.Error("the argument was changed")
	}
	if got := Record(c, s, Standing, "", start); got.CordonOurs {
		t.Error("a cordon that stood before is not ours")
	}
	if got := Record(c, s, Withdrawn, "cured", start); len(got.Attempts) != 0 {
		t.Error("what was withdrawn was never asked")
	}
	tried := Case{ID: "c", State: Draining, Attempts: []Attempt{{Key: "k", Kind: StepDetach, Tries: 2}}}
	if got := Record(tried, s, Withdrawn, "cured", start); len(got.Attempts) != 1 || got.Attempts[0].Tries != 1 {
		t.Errorf("an earlier try, whose effect may still come, was forgotten: %+v", got.Attempts)
	}
	if got := Record(c, Step{Key: "other", Kind: StepTerminate}, Done, "", start); got.Ended {
		t.Error("an answer to a question nobody asked")
	}
	over := c
	over.State = Cancelled
	if got := Record(over, s, Done, "", start); got.CordonOurs {
		t.Error("a cancelled case took an answer")
	}
}

func TestPeopleMustSayWhy(t *testing.T) {
	c := Case{ID: "c", State: Draining}
	for name, say := range map[string]func(Case, Word) (Case, error){"cancel": Cancel, "hold": Hold, "release": Release} {
		if _, err := say(c, Word{By: "ana", Reason: "  "}); !errors.Is(err, ErrReason) {
			t.Errorf("%s without a reason: %v", name, err)
		}
		if _, err := say(c, Word{Reason: "because"}); !errors.Is(err, ErrReason) {
			t.Errorf("%s by nobody: %v", name, err)
		}
		over := c
		over.State = Closed
		if _, err := say(over, Word{By: "ana", Reason: "because"}); !errors.Is(err, ErrOver) {
			t.Errorf("%s after the end: %v", name, err)
		}
	}
}
