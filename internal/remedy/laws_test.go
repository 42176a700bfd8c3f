package remedy

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/bulkhead-ecs/bulkhead/internal/health"
)

// lawful is the random world: a fleet, and what the laws remember of it.
type lawful struct {
	*fleet
	t       *rapid.T
	loud    map[string]bool            // hosts on which something other than silence was seen
	fates   map[string]map[string]bool // different fates of silence by host
	ends    map[string]map[string]bool // keys of destructive ends by case and kind
	acts    int
	calm    bool
	flips   bool            // people change the mode
	dead    map[string]bool // cases that were cancelled
	allowed int             // parallel budget
}

// hardware and daemon faults that a random world meets.
var worldFaults = []health.Signal{
	{Kind: health.KindXid, Code: 79, Witness: health.WitnessKernelLog, Device: card},
	{Kind: health.KindXid, Code: 48, Witness: health.WitnessKernelLog, Device: card},
	{Kind: health.KindXid, Code: 31, Witness: health.WitnessKernelLog, Device: card},
	{Kind: health.KindXid, Code: 777, Witness: health.WitnessKernelLog, Device: card},
	{Kind: health.KindMPSControlDead, Witness: health.WitnessAgent, Count: 3},
	{Kind: health.KindMPSFault, Witness: health.WitnessAgent},
	{Kind: health.KindRemapPending, Witness: health.WitnessNVML, Device: card},
	{Kind: health.KindEC2Status, Witness: health.WitnessEC2Status},
	{Kind: health.KindSpotInterruption, Witness: health.WitnessSpot},
}

var worldSilences = []struct {
	signal health.Signal
	fate   string
}{
	{health.Signal{Kind: health.KindNVMLUnresponsive, Witness: health.WitnessNVML, Count: 3}, "nvml"},
	{health.Signal{Kind: health.KindDState, Witness: health.WitnessAgent, Count: 3}, "kernel"},
	{health.Signal{Kind: health.KindAgentDisconnected, Witness: health.WitnessAgentConnected}, "ecs"},
	{health.Signal{Kind: health.KindMonitorLost, Witness: health.WitnessECSHealth, Count: 3}, ""},
	{health.Signal{Kind: health.KindSSMLost, Witness: health.WitnessSSM}, ""},
}

func newLawful(t *rapid.T, p Policy, judge health.Policy, mode Mode) *lawful {
	p.Mode = mode
	w := &lawful{t: t, flips: mode == Act, loud: map[string]bool{}, fates: map[string]map[string]bool{}, ends: map[string]map[string]bool{}, dead: map[string]bool{}}
	w.allowed = rapid.IntRange(1, 2).Draw(t, "parallel")
	p.Budgets = []Budget{{Scope: ScopeCluster, Parallel: &w.allowed, MinHealthyPercent: 60}}
	p.Replacement.CapacityFirst = rapid.Bool().Draw(t, "capacity first")
	w.fleet = newFleet(rapid.IntRange(1, 7).Draw(t, "hosts"), 1, p, judge)
	w.quiet = true
	w.group.hook = rapid.Bool().Draw(t, "hook")
	for i, h := range w.hosts {
		for j := range rapid.IntRange(0, 3).Draw(t, "tasks") {
			h.tasks = append(h.tasks, &task{arn: fmt.Sprintf("t%d-%d", i, j), service: rapid.SampledFrom([]string{"web", ""}).Draw(t, "service"),
				protected: rapid.IntRange(0, 4).Draw(t, "protected") == 0, onCard: rapid.Bool().Draw(t, "on card"), pids: []int{i*10 + j + 1}})
		}
		h.clients = rapid.IntRange(-1, 1).Draw(t, "clients")
		h.healsBy = rapid.SampledFrom([]StepKind{"", StepRestartMPS, StepStopTask, StepTerminateClients}).Draw(t, "heals")
	}
	chance := func(label string, n int) bool { return !w.calm && rapid.IntRange(0, n).Draw(t, label) == 0 }
	w.crash = func(Step, bool) bool { return chance("crash", 9) }
	w.lost = func(Step) bool { return chance("lost", 9) }
	w.outcome = func(s Step) Result {
		if chance("transient", 9) {
			return Transient
		}
		return Pending
	}
	w.onAct = w.check
	w.between = func(Step) {
		if chance("a person between", 25) {
			w.person()
		}
	}
	return w
}

// check holds at every act.
func (w *lawful) check(s Step, h *host, world World) {
	w.acts++
	if w.policy.Mode != Act && !s.Kind.notifies() || w.policy.Mode == Observe {
		w.t.Fatalf("%s in mode %s", s.Kind, w.policy.Mode)
	}
	if s.Kind.notifies() {
		return
	}
	if world.Case.Held || w.paused.By != "" {
		w.t.Fatalf("%s of a case that is held or paused", s.Kind)
	}
	if w.dead[s.Case] {
		w.t.Fatalf("%s for the cancelled case %s", s.Kind, s.Case)
	}
	if !w.loud[h.id] && len(w.fates[h.id]) < 2 {
		w.t.Fatalf("%s on %s, on one witness of silence: %v", s.Kind, h.id, w.fates[h.id])
	}
	if s.Kind == StepUndrain && h.cordonBy == "person" {
		w.t.Fatalf("the cordon of a person on %s is undone", h.id)
	}
	if end := s.Kind; end == StepDetach || end == StepTerminate || end == StepTerminateInGroup {
		id := s.Case + string(end)
		if w.ends[id] == nil {
			w.ends[id] = map[string]bool{}
		}
		w.ends[id][s.Key] = true
		if len(w.ends[id]) > 1 {
			w.t.Fatalf("%s of %s under two keys: %v", end, h.id, w.ends[id])
		}
		if h.gone || end == StepDetach && h.lifecycle != LifecycleInService {
			w.t.Fatalf("%s of %s, which is gone or out of its group", end, h.id)
		}
	}
	if end := s.Kind; (end == StepTerminate || end == StepTerminateInGroup) && len(world.Host.holders()) > 0 {
		w.t.Fatalf("%s of %s with tasks on it", end, h.id)
	}
	if s.Kind == StepDrain && !s.Guard.Cause.Planned {
		w.checkHealthy(h)
	}
}

// checkHealthy: the host leaves service by our hand; sixty percent must still serve.
func (w *lawful) checkHealthy(h *host) {
	hosts, serving := 0, 0
	for _, o := range w.hosts {
		if o.gone || o.lifecycle != LifecycleInService && !o.reg {
			continue
		}
		hosts++
		if o.id != h.id && o.reg && o.status == StatusActive && o.verdict.Host.Level < health.Failed {
			serving++
		}
	}
	was := h.verdict.Host.Level < health.Failed
	if serving < hosts*60/100 && was {
		w.t.Fatalf("draining %s leaves %d of %d serving", h.id, serving, hosts)
	}
}

// checkAlways holds after every pass.
func (w *lawful) checkAlways() {
	busy := 0
	faults := map[string]string{}
	for _, c := range w.cases {
		if c.InRepair() {
			busy++
		}
		if c.State == Cancelled {
			w.dead[c.ID] = true
		}
		if c.State == Blocked && (c.Block.Reason == "" || c.Block.Detail == "" && c.Block.Reason != BlockObserve) {
			w.t.Fatalf("case %s is blocked and does not say by what: %+v", c.ID, c.Block)
		}
		for _, f := range c.Faults {
			if other, ok := faults[f]; ok && other != c.ID {
				w.t.Fatalf("fault %s has two cases, %s and %s", f, other, c.ID)
			}
			faults[f] = c.ID
		}
		if len(c.Attempts) > maxAttempts || len(c.Trail) > maxTrail {
			w.t.Fatalf("case %s grows: %d attempts, %d lines", c.ID, len(c.Attempts), len(c.Trail))
		}
	}
	if busy > w.allowed {
		w.t.Fatalf("%d hosts in repair, the budget is %d", busy, w.allowed)
	}
}

func TestTheLawsHoldInARandomWorld(t *testing.T) {
	p, judge := mustPolicy(t), mustJudge(t)
	acts := 0
	rapid.Check(t, func(t *rapid.T) {
		w := newLawful(t, p, judge, Act)
		w.live()
		acts += w.acts
	})
	if acts < 100 {
		t.Fatalf("only %d acts in all: the world proves nothing", acts)
	}
}

func TestNothingIsTouchedInObserveMode(t *testing.T) {
	p, judge := mustPolicy(t), mustJudge(t)
	cases := 0
	rapid.Check(t, func(t *rapid.T) {
		w := newLawful(t, p, judge, Observe)
		w.live()
		cases += len(w.cases)
		for _, h := range w.hosts {
			if h.cordonBy == "bulkhead" || h.mark != "" {
				t.Fatalf("%s was touched", h.id)
			}
		}
	})
	if cases == 0 {
		t.Fatal("no case was ever opened: the world proves nothing")
	}
}

func TestEveryCaseEndsOrNamesWhatItWaitsFor(t *testing.T) {
	p, judge := mustPolicy(t), mustJudge(t)
	ended := 0
	rapid.Check(t, func(t *rapid.T) {
		w := newLawful(t, p, judge, Act)
		w.live()
		w.calm, w.paused, w.policy.Mode = true, Word{}, Act
		for i, c := range w.cases {
			if c.Held.By != "" && !c.State.Final() {
				w.cases[i], _ = Release(c, Word{By: "ana", Reason: "calm", At: w.now})
			}
		}
		w.group.exists, w.group.badAMI = true, false
		for range 80 {
			w.now = w.now.Add(10 * time.Minute)
			w.nature()
			w.loop()
			w.checkAlways()
		}
		for _, c := range w.cases {
			switch {
			case c.State.Final():
				ended++
			case c.State == Blocked:
				if slices.Contains([]Blocker{BlockPaused, BlockHeld, BlockObserve, BlockGroupVanished}, c.Block.Reason) {
					t.Fatalf("%s is blocked by what is over: %+v", c.ID, c.Block)
				}
			case c.Waiting == "":
				t.Fatalf("%s stands in %s and names nothing:\n%s", c.ID, c.State, trail(c))
			}
		}
	})
	if ended == 0 {
		t.Fatal("no case ever ended: the world proves nothing")
	}
}

func trail(c Case) string {
	var b strings.Builder
	for _, e := range c.Trail {
		fmt.Fprintf(&b, "  %s %s\n", e.At.Format(time.TimeOnly), e.Text)
	}
	return b.String()
}

func TestManyHostsOfOneAMIAtOnceLoseAtMostTheCanary(t *testing.T) {
	p, judge := mustPolicy(t), mustJudge(t)
	p.Mode = Act
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(4, 20).Draw(t, "hosts")
		sick := rapid.IntRange((3*n+9)/10, n).Draw(t, "sick")
		if sick < 2 {
			t.Skip("one host is no trend")
		}
		f := newFleet(n, 1, p, judge)
		f.quiet, f.group.badAMI = true, true
		touched := map[string]bool{}
		f.onAct = func(s Step, h *host, _ World) {
			if !s.Kind.notifies() {
				touched[h.id] = true
			}
		}
		for _, h := range f.hosts[:sick] {
			f.assess(h, health.Signal{Kind: health.KindXid, Code: 119, Device: card, Witness: health.WitnessKernelLog})
		}
		for range 60 {
			f.advance(time.Minute, time.Minute)
		}
		if len(touched) > 1 {
			t.Fatalf("%d of %d hosts were touched: %v", len(touched), sick, touched)
		}
	})
}

func TestNextIsAFunctionOfItsArguments(t *testing.T) {
	p, judge := mustPolicy(t), mustJudge(t)
	rapid.Check(t, func(t *rapid.T) {
		w := newLawful(t, p, judge, Act)
		w.live()
		for _, c := range w.cases {
			view := w.view(c)
			before := fmt.Sprintf("%+v", c)
			var stored Case
			src, err := json.Marshal(c)
			if err == nil {
				err = json.Unmarshal(src, &stored)
			}
			if diff := cmp.Diff(c, stored, cmpopts.EquateEmpty()); err != nil || diff != "" || len(src) > 64<<10 {
				t.Fatalf("the stored case is another (%d bytes, %v): %s", len(src), err, diff)
			}
			a, sa := Next(c, view, w.policy, w.now)
			b, sb := Next(c, view, w.policy, w.now)
			if fmt.Sprintf("%+v %+v", a, sa) != fmt.Sprintf("%+v %+v", b, sb) {
				t.Fatal("two answers to one question")
			}
			if fmt.Sprintf("%+v", c) != before {
				t.Fatal("Next changed its argument")
			}
		}
	})
}
