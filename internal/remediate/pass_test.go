package remediate_test

import (
	"slices"
	"testing"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/remedy"
)

func kinds(steps []remedy.Step) []remedy.StepKind {
	var out []remedy.StepKind
	for _, s := range steps {
		out = append(out, s.Kind)
	}
	return out
}

func TestADeadCardIsDrainedWithinTenSecondsAndReplacedByAVerifiedNewcomer(t *testing.T) {
	f := newFleet(t, 5, nil)
	h := f.host("i-02")
	h.tasks = []*fakeTask{{arn: "arn:t1", service: "chat"}, {arn: "arn:t2", service: "chat"}}
	h.clients = 2
	f.register(h)
	f.run(time.Minute, 10*time.Second)
	seen := f.now
	f.xid(h, 79)
	f.run(10*time.Second, 10*time.Second)
	if h.status != "DRAINING" || h.mark == "" {
		t.Fatalf("after %s: %s, mark %q", f.now.Sub(seen), h.status, h.mark)
	}
	f.run(20*time.Minute, 10*time.Second)
	c := f.all()[0]
	if c.State != remedy.Closed || c.Outcome != remedy.Replaced || c.Newcomer != "i-06" {
		t.Fatalf("%s %s %s %+v\n%+v", c.State, c.Outcome, c.Waiting, c.Block, c.Trail)
	}
	want := []remedy.StepKind{remedy.StepDrain, remedy.StepMark, remedy.StepDetach, remedy.StepEvidence, remedy.StepTerminate}
	if got := kinds(f.taken); !slices.Equal(got, want) {
		t.Errorf("steps %v, want %v", got, want)
	}
	t.Logf("replaced %s after the Xid", c.MTTR())
}

func TestADeadDaemonIsQuarantinedWithinTenSecondsAndTheHostServesAgain(t *testing.T) {
	f := newFleet(t, 5, nil)
	h := f.host("i-03")
	f.cure = func(s remedy.Step, h *fakeHost) {
		if s.Kind == remedy.StepRestartMPS {
			h.bad = mpsUp(f.now)
		}
	}
	f.run(time.Minute, 10*time.Second)
	h.bad = mpsDead(f.now)
	f.report(h)
	f.run(10*time.Second, 10*time.Second)
	if h.mark == "" || h.status != "ACTIVE" {
		t.Fatalf("not quarantined: %s, mark %q", h.status, h.mark)
	}
	f.run(15*time.Minute, 10*time.Second)
	c := f.all()[0]
	if c.State != remedy.Closed || c.Outcome != remedy.Recovered || h.mark != "" {
		t.Fatalf("%s %s %s %+v\n%+v", c.State, c.Outcome, c.Waiting, c.Block, c.Trail)
	}
	if got, want := kinds(f.taken), []remedy.StepKind{remedy.StepMark, remedy.StepRestartMPS, remedy.StepUnmark}; !slices.Equal(got, want) {
		t.Errorf("steps %v, want %v", got, want)
	}
}

func TestAStormOfOneAMITakesAtMostTheCanaryAndPages(t *testing.T) {
	f := newFleet(t, 10, nil)
	f.run(time.Minute, 10*time.Second)
	for _, id := range []string{"i-01", "i-04", "i-07"} {
		f.xid(f.host(id), 79)
	}
	f.run(25*time.Minute, 10*time.Second)
	if len(f.taken) != 0 || !f.paged() {
		t.Fatalf("while the breaker is open: %v, paged %v", kinds(f.taken), f.paged())
	}
	f.dies = true // the AMI is bad: what comes does not serve
	f.run(2*time.Hour, time.Minute)
	ended := map[string]bool{}
	for _, s := range f.taken {
		if s.Kind == remedy.StepDetach || s.Kind == remedy.StepTerminateInGroup {
			ended[s.Instance] = true
		}
	}
	if len(ended) != 1 {
		t.Errorf("%d hosts were given up: %v", len(ended), kinds(f.taken))
	}
}

func TestInObserveModeNoCallIsMade(t *testing.T) {
	f := newFleet(t, 5, func(p *remedy.Policy) { p.Mode = remedy.Observe })
	called := map[string]int{}
	f.fault = func(call string, _ bool) error { called[call]++; return nil }
	f.run(time.Minute, 10*time.Second)
	f.xid(f.host("i-02"), 79)
	f.run(time.Hour, time.Minute)
	c := f.all()
	if len(f.taken) != 0 || len(c) != 1 || c[0].Block.Reason != remedy.BlockObserve || called["Look"] > 0 {
		t.Errorf("%v %+v %v", kinds(f.taken), c, called)
	}
}

func TestOneSilentWitnessOpensNoCase(t *testing.T) {
	f := newFleet(t, 5, nil)
	f.host("i-02").quiet = true
	f.run(3*time.Hour, time.Minute)
	if c := f.all(); len(c) != 0 || len(f.taken) != 0 {
		t.Errorf("%+v %v", c, kinds(f.taken))
	}
}
