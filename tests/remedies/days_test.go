package remedies

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/remediate"
	"github.com/bulkhead-ecs/bulkhead/internal/remedy"
	"github.com/bulkhead-ecs/bulkhead/internal/sim"
	"github.com/bulkhead-ecs/bulkhead/internal/sim/wire"
)

func (w *world) inject(x sim.Fault) {
	w.t.Helper()
	w.server.Do(func(f *sim.Fleet) {
		if err := f.Inject(x); err != nil {
			w.t.Fatal(err)
		}
	})
}

func (w *world) paged() bool {
	return slices.ContainsFunc(w.told, func(n remediate.Notice) bool { return n.Page })
}

func TestAStormOfOneAMIEndsNoHostAndPages(t *testing.T) {
	w := newWorld(t, setup{hosts: 10})
	ended := 0
	w.server.Fault = func(operation string) wire.Trouble {
		if strings.HasPrefix(operation, "Terminate") || operation == "DetachInstances" {
			ended++
		}
		return wire.None
	}
	for _, h := range w.hosts()[:3] { // thirty percent at once
		w.xid(h, 79)
	}
	w.run(10*time.Minute, 10*time.Second)
	if ended != 0 || !w.paged() {
		t.Errorf("%d hosts given up, paged %v\n%s", ended, w.paged(), w.trail())
	}
	for _, c := range w.all() {
		if c.Block.Reason != remedy.BlockBreaker {
			t.Errorf("%s: %s %+v", c.ID, c.State, c.Block)
		}
	}
}

func TestAHookIsHeldUntilTheHostIsEmpty(t *testing.T) {
	w := newWorld(t, setup{hosts: 3, tasks: 6, hook: true})
	h := w.hosts()[0]
	w.server.Do(func(f *sim.Fleet) {
		if _, err := f.TerminateInGroup(h.EC2, false); err != nil {
			t.Fatal(err)
		}
	})
	held := false
	for range 60 {
		w.step(10 * time.Second)
		busy := slices.ContainsFunc(w.f.Tasks(), func(x *sim.Task) bool { return x.Host == h && x.Last != "STOPPED" })
		held = held || busy && h.Lifecycle == remedy.LifecycleTerminatingWait
		if busy && h.EC2State != "running" {
			t.Fatalf("ended with tasks on it\n%s", w.trail())
		}
	}
	c := w.all()
	if !held || len(c) != 1 || c[0].Outcome != remedy.Departed || h.EC2State != "terminated" {
		t.Errorf("held %v, %s\n%s", held, h.EC2State, w.trail())
	}
}

func TestTerminationProtectionBlocksAndCallsAPerson(t *testing.T) {
	w := newWorld(t, setup{hosts: 3})
	h := w.hosts()[0]
	h.TerminationProtected = true
	w.xid(h, 79)
	w.run(4*time.Minute, 10*time.Second)
	if c := w.all(); len(c) != 1 || c[0].Block.Reason != remedy.BlockTerminate || !w.paged() || h.EC2State != "running" {
		t.Error(w.trail())
	}
}

func TestADeadDaemonIsFoundWithoutAnAgent(t *testing.T) {
	w := newWorld(t, setup{hosts: 3, noAgent: true})
	h := w.hosts()[0]
	w.inject(sim.Fault{Kind: "mps-dead", Host: h.EC2})
	w.run(20*time.Minute, 10*time.Second)
	c := w.all()
	if len(c) != 1 || c[0].Cause.Token != "EcsAcceleratedComputeImpaired" || c[0].Outcome != remedy.Replaced {
		t.Error(w.trail())
	}
}

func TestTwoPassesAtOnceReplaceAHostOnce(t *testing.T) {
	w := newWorld(t, setup{hosts: 3, tasks: 3})
	h := w.hosts()[0]
	var mu sync.Mutex
	did := map[string]int{}
	w.server.Fault = func(operation string) wire.Trouble {
		mu.Lock()
		defer mu.Unlock()
		if changes[operation] {
			did[operation]++
		}
		return wire.None
	}
	w.xid(h, 79)
	for range 36 {
		w.step(10 * time.Second)
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() { _, _ = w.pass().Cluster(context.Background(), w.f.Cluster()) })
		}
		wg.Wait()
	}
	c := w.all()
	if len(c) != 1 || c[0].Outcome != remedy.Replaced || did["DetachInstances"]+did["TerminateInstanceInAutoScalingGroup"] != 1 || len(w.hosts()) != 3 {
		t.Errorf("%v, %d hosts\n%s", did, len(w.hosts()), w.trail())
	}
}

func TestATaskThatProtectsItselfIsSeenAsSuch(t *testing.T) {
	w := newWorld(t, setup{hosts: 3, tasks: 3})
	i := slices.IndexFunc(w.f.Tasks(), func(x *sim.Task) bool { return x.Last == "RUNNING" })
	task := w.f.Tasks()[i]
	w.server.Do(func(f *sim.Fleet) {
		if err := f.Protect(task.ARN, f.Now().Add(10*time.Minute)); err != nil {
			t.Fatal(err)
		}
	})
	seen, err := w.ops.Look(context.Background(), remediate.Subject{Cluster: w.f.Cluster(), Host: task.Host.ARN, Instance: task.Host.EC2})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range seen.Host.Tasks {
		if x.Protected != (x.ARN == task.ARN) || x.Service != "chat" || x.Stopping {
			t.Errorf("%+v", x)
		}
	}
	if seen.Group.Name != group || seen.Host.Lifecycle != remedy.LifecycleInService || !seen.Host.Registered || seen.Host.Gone {
		t.Errorf("%+v", seen)
	}
}

func TestAnAnswerThatIsThrottledIsNoInstanceThatIsGone(t *testing.T) {
	w := newWorld(t, setup{hosts: 2})
	h := w.hosts()[0]
	for _, operation := range []string{"DescribeContainerInstances", "DescribeInstances", "DescribeInstanceAttribute", "DescribeAutoScalingInstances", "DescribeAutoScalingGroups", "ListTasks"} {
		w.server.Fault = func(o string) wire.Trouble {
			if o == operation {
				return wire.Throttle
			}
			return wire.None
		}
		if seen, err := w.ops.Look(context.Background(), remediate.Subject{Cluster: w.f.Cluster(), Host: h.ARN, Instance: h.EC2}); err == nil {
			t.Errorf("%s throttled: %+v", operation, seen)
		}
	}
}
