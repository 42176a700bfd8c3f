package remediate_test

import (
	"testing"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/remedy"
)

// replaced plays a dead card on one of five hosts, with the process dying at its
// n-th call, before or after the effect, and returns how many calls there were.
func replaced(t *testing.T, n int, after bool) int {
	f := newFleet(t, 5, nil)
	h := f.host("i-02")
	h.tasks = []*fakeTask{{arn: "arn:t1", service: "chat"}}
	f.register(h)
	f.tick(time.Minute)
	calls, dead := 0, false
	f.fault = func(_ string, late bool) error {
		if dead {
			return errCrash
		}
		if late == after {
			calls++
			if calls == n {
				dead = true
				return errCrash
			}
		}
		return nil
	}
	f.xid(h, 79)
	for range 60 {
		dead = false // another process
		f.tick(30 * time.Second)
		_, _ = f.pass()
	}
	did := map[remedy.StepKind]int{}
	for _, s := range f.taken {
		did[s.Kind]++
	}
	c := f.all()
	switch {
	case len(c) != 1 || c[0].Outcome != remedy.Replaced:
		t.Fatalf("died at call %d (after the effect: %v): %+v", n, after, c)
	case did[remedy.StepDetach]+did[remedy.StepTerminateInGroup] != 1 || did[remedy.StepTerminate] > 1 || !h.gone:
		t.Fatalf("died at call %d (after the effect: %v): %v", n, after, did)
	case f.made != 6:
		t.Fatalf("died at call %d (after the effect: %v): %d instances were launched for one", n, after, f.made-5)
	}
	return calls
}

func TestAProcessMayDieAtAnyCallAndTheHostIsStillReplacedOnce(t *testing.T) {
	for _, after := range []bool{false, true} {
		calls := replaced(t, -1, after)
		if calls < 20 {
			t.Fatalf("only %d calls: nothing was tested", calls)
		}
		for n := 1; n <= calls; n++ {
			replaced(t, n, after)
		}
		t.Logf("after the effect %v: died at each of %d calls", after, calls)
	}
}
