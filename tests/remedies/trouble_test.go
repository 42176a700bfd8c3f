package remedies

import (
	"testing"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/remedy"
	"github.com/bulkhead-ecs/bulkhead/internal/sim"
	"github.com/bulkhead-ecs/bulkhead/internal/sim/wire"
)

// changes are the calls that change the world.
var changes = map[string]bool{"UpdateContainerInstancesState": true, "PutAttributes": true, "DeleteAttributes": true, "StopTask": true, "SendCommand": true, "DetachInstances": true,
	"TerminateInstanceInAutoScalingGroup": true, "TerminateInstances": true, "CompleteLifecycleAction": true, "RecordLifecycleActionHeartbeat": true, "RebootInstances": true}

// play lets a dead card be replaced while trouble does something to the n-th call of
// a pass, counted over the whole ladder, and returns how many calls there were and
// which changes got through.
func play(t *testing.T, n int, trouble wire.Trouble, dies bool) (int, map[string]int) {
	w := newWorld(t, setup{hosts: 3, tasks: 3, policy: func(p *remedy.Policy) { p.Replacement.Healthy = remedy.Duration(30 * time.Second) }})
	calls, did := 0, map[string]int{}
	w.server.Fault = func(operation string) wire.Trouble {
		calls++
		switch {
		case w.dead:
			return wire.TimeoutBefore
		case calls == n:
			w.dead = dies
			if trouble == wire.TimeoutAfter && changes[operation] {
				did[operation]++
			}
			return trouble
		}
		if changes[operation] {
			did[operation]++
		}
		return wire.None
	}
	w.xid(w.hosts()[1], 79)
	w.run(7*time.Minute, 20*time.Second)
	c := w.all()
	if len(c) != 1 || c[0].Outcome != remedy.Replaced {
		t.Fatalf("trouble %d at call %d, dies %v: %s", trouble, n, dies, w.trail())
	}
	if ends := did["TerminateInstances"] + did["TerminateInstanceInAutoScalingGroup"]; ends < 1 || did["DetachInstances"] > 1 || len(w.hosts()) != 3 {
		t.Fatalf("trouble %d at call %d, dies %v: %v, %d hosts\n%s", trouble, n, dies, did, len(w.hosts()), w.trail())
	}
	return calls, did
}

func TestTheLadderIsClimbedOnceWhateverOneCallComesTo(t *testing.T) {
	calls, did := play(t, -1, wire.None, false)
	t.Logf("%d calls, changes %v", calls, did)
	every := 23
	if !testing.Short() {
		every = 11
	}
	tried := 0
	for _, c := range []struct {
		trouble wire.Trouble
		dies    bool
	}{{wire.Throttle, false}, {wire.TimeoutAfter, false}, {wire.TimeoutBefore, true}, {wire.TimeoutAfter, true}} {
		for n := 1 + tried%every; n <= min(calls, 80); n += every {
			play(t, n, c.trouble, c.dies)
			tried++
		}
	}
	t.Logf("%d ladders with one call in trouble", tried)
}

func TestAnInstanceThatIsEndedBySomebodyElseIsDone(t *testing.T) {
	w := newWorld(t, setup{hosts: 3, tasks: 3})
	h := w.hosts()[1]
	w.xid(h, 79)
	w.run(20*time.Second, 10*time.Second)
	w.server.Do(func(f *sim.Fleet) {
		if err := f.Terminate(h.EC2); err != nil {
			t.Fatal(err)
		}
	})
	w.run(6*time.Minute, 10*time.Second)
	if c := w.all(); len(c) != 1 || !c[0].State.Final() {
		t.Fatal(w.trail())
	}
}
