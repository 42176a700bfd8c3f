package placing

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/placement"
	"github.com/bulkhead-ecs/bulkhead/internal/placing"
	"github.com/bulkhead-ecs/bulkhead/internal/sim"
	"github.com/bulkhead-ecs/bulkhead/internal/sim/wire"
)

func TestCopiesAreStartedBoundAndKeepThePolicyUnderEveryChoice(t *testing.T) {
	for _, choice := range sim.Choices {
		t.Run(fmt.Sprint(choice), func(t *testing.T) {
			w := newWorld(t, choice, 3)
			r := w.submit(w.request("a", "chat", 12))
			s := w.submit(w.request("b", "batch", 12))
			w.carry()
			for _, id := range []string{r.ID, s.ID} {
				for _, c := range w.exactlyOnce(id).Copies {
					if c.State != placing.Bound && c.State != placing.Refused {
						t.Errorf("%s is %s: %s %s", c.Reservation, c.State, c.Reason, c.Text)
					}
				}
			}
			w.keepsPolicy()
			w.noRoomLost()
		})
	}
}

// keepsPolicy holds that no card has more ceilings than its budget, nor tiers that may not meet.
func (w *world) keepsPolicy() {
	w.t.Helper()
	n := 0
	for _, h := range w.views() {
		for _, d := range h.Devices {
			tiers := map[string]bool{}
			for _, s := range d.Shares {
				if s.State.Holds() {
					n++
					tiers[string(s.Tier)] = true
				}
			}
			if d.Compute > 100 || tiers["critical"] && len(tiers) > 1 {
				w.t.Errorf("%s promises %s to %v", d.UUID.Short(), d.Compute, tiers)
			}
		}
	}
	if n == 0 {
		w.t.Error("nothing was placed")
	}
}

// crashing is a store and an ECS whose nth call, counted over both, ends the process,
// before or after its effect.
type crashing struct {
	ledger.Store
	placing.Tasks
	kept  *keeping
	calls int
	at    int
	after bool
}

func (c *crashing) die(done func()) {
	c.calls++
	if c.calls == c.at {
		if c.after {
			done()
		}
		panic(errCrash)
	}
	done()
}

func (c *crashing) Commit(ctx context.Context, h ledger.Host) (out ledger.Host, err error) {
	c.die(func() { out, err = c.Store.Commit(ctx, h) })
	return out, err
}

func (c *crashing) StartTask(ctx context.Context, a placing.Ask) (out string, err error) {
	c.die(func() { out, err = c.Tasks.StartTask(ctx, a) })
	return out, err
}

func (c *crashing) StartedBy(ctx context.Context, cluster, id string) (out []string, err error) {
	c.die(func() { out, err = c.Tasks.StartedBy(ctx, cluster, id) })
	return out, err
}

// keeping is the store of requests of a crashing world.
type keeping struct {
	placing.Store
	c *crashing
}

func (k *keeping) SavePlacement(ctx context.Context, r placing.Record) (out placing.Record, err error) {
	k.c.die(func() { out, err = k.Store.SavePlacement(ctx, r) })
	return out, err
}

func TestACrashBetweenAnyTwoCallsStartsEveryCopyExactlyOnce(t *testing.T) {
	for _, after := range []bool{false, true} {
		for at := 1; ; at++ {
			w := newWorld(t, sim.Random, 2)
			c := &crashing{Store: w.store, Tasks: w.client, at: at, after: after}
			c.kept = &keeping{w.kept, c}
			w.placer.Ledger, w.placer.Tasks, w.placer.Store = c, c, c.kept
			r := w.submit(w.request("a", "chat", 4))
			w.carry()
			got := w.exactlyOnce(r.ID)
			for _, x := range got.Copies {
				if x.State != placing.Bound {
					t.Errorf("crash at %d (after %v): %s is %s: %s", at, after, x.Reservation, x.State, x.Text)
				}
			}
			w.noRoomLost()
			if c.calls < at {
				if at < 8 {
					t.Fatalf("only %d calls were crashed", at)
				}
				break
			}
		}
	}
}

func TestALostAnswerOfStartTaskNeverStartsASecondTask(t *testing.T) {
	for _, trouble := range []wire.Trouble{wire.TimeoutBefore, wire.TimeoutAfter, wire.Throttle} {
		for _, every := range []int{1, 2, 3} {
			w := newWorld(t, sim.BestFit, 2)
			n := 0
			w.server.Fault = func(op string) wire.Trouble {
				if op == "StartTask" {
					if n++; n <= 6 && n%every == 0 {
						return trouble
					}
				}
				return wire.None
			}
			r := w.submit(w.request("a", "chat", 4))
			w.carry()
			for _, c := range w.exactlyOnce(r.ID).Copies {
				if c.State != placing.Bound {
					t.Errorf("trouble %v every %d: %s is %s: %s %s", trouble, every, c.Reservation, c.State, c.Reason, c.Text)
				}
			}
			w.noRoomLost()
		}
	}
}

func TestATaskThatStoppedAtOnceIsNotStartedAgainWhenItsAnswerWasLost(t *testing.T) {
	w := newWorld(t, sim.BestFit, 1)
	first := true
	w.server.Fault = func(op string) wire.Trouble {
		if op == "StartTask" && first {
			first = false
			return wire.TimeoutAfter
		}
		return wire.None
	}
	r := w.submit(w.request("a", "chat", 1))
	ids := w.queue
	w.queue = nil
	if errs := w.once(ids); !errors.Is(errs[0], placing.ErrLater) {
		t.Fatal(errs)
	}
	w.do(func(f *sim.Fleet) {
		for _, task := range f.Tasks() {
			if _, err := f.Stop(task.ARN, "short job"); err != nil {
				t.Error(err)
			}
		}
	})
	w.advance(2 * time.Minute)
	w.queue = ids
	w.carry()
	if c := w.exactlyOnce(r.ID).Copies[0]; c.Tries != 1 || c.Task == "" {
		t.Errorf("%+v", c)
	}
}

func TestTheSameTokenIsTheSameRequestForADay(t *testing.T) {
	w := newWorld(t, sim.BestFit, 1)
	a, b := w.submit(w.request("a", "chat", 2)), w.submit(w.request("a", "chat", 2))
	if a.ID != b.ID {
		t.Fatal(a.ID, b.ID)
	}
	w.carry()
	w.exactlyOnce(a.ID)
	w.submit(w.request("a", "chat", 2))
	w.carry()
	if n := len(w.started()); n != 2 {
		t.Errorf("%d tasks", n)
	}
	if _, err := w.desk.Submit(context.Background(), w.request("a", "chat", 3), "ada"); !errors.Is(err, placing.ErrTokenUsed) {
		t.Error(err)
	}
	w.advance(placing.KeepFor)
	if _, err := w.desk.Get(context.Background(), a.ID); !errors.Is(err, ledger.ErrNotFound) {
		t.Error(err)
	}
	if c := w.submit(w.request("a", "chat", 1)); len(c.Copies) != 1 {
		t.Errorf("%+v", c)
	}
}

func TestWhatECSRefusesFreesTheRoomAndGoesElsewhereOrEnds(t *testing.T) {
	w := newWorld(t, sim.BestFit, 2)
	var gone string
	w.do(func(f *sim.Fleet) { // ECS knows it, the ledger does not yet
		gone = f.Hosts()[0].ARN
		if _, err := f.Deregister(gone, true); err != nil {
			t.Error(err)
		}
	})
	r := w.submit(w.request("a", "chat", 2))
	w.carry()
	for _, c := range w.exactlyOnce(r.ID).Copies {
		if c.State != placing.Bound || c.Host.Instance == gone {
			t.Errorf("%+v", c)
		}
	}
	w.noRoomLost()
}

func TestARequestThatIsWrongIsRefusedWithTokenAndField(t *testing.T) {
	w := newWorld(t, sim.BestFit, 1)
	good := w.request("a", "chat", 1)
	for name, c := range map[string]struct {
		change        func(*placing.Request)
		reason, field string
	}{
		"no token":           {func(q *placing.Request) { q.ClientToken = "" }, "ClientTokenBad", "clientToken"},
		"no copies":          {func(q *placing.Request) { q.Count = 0 }, "CountOutOfRange", "count"},
		"too many copies":    {func(q *placing.Request) { q.Count = 101 }, "CountOutOfRange", "count"},
		"unknown definition": {func(q *placing.Request) { q.Definition = "nope:9" }, "TaskDefinitionUnknown", "taskDefinition"},
		"unknown tier":       {func(q *placing.Request) { q.Tier = "gold" }, "TierUnknown", "tier"},
		"unknown mode":       {func(q *placing.Request) { q.Mode = "hope" }, "ModeUnknown", "mode"},
		"a service's group":  {func(q *placing.Request) { q.Group = "service:x" }, "GroupBad", "group"},
		"a variable of ECS's": {func(q *placing.Request) {
			q.Overrides.Containers = []placing.ContainerOverride{{Name: "app", Environment: []placing.Variable{{Name: "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", Value: "0=1G"}}}}
		}, "EnvironmentOwned", "overrides.containerOverrides[0].environment"},
	} {
		q := good
		c.change(&q)
		_, err := w.desk.Submit(context.Background(), q, "ada")
		var no *placement.Refusal
		if !errors.As(err, &no) || no.Reason != c.reason || no.Field != c.field {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(w.queue) > 0 {
		t.Error("something was queued")
	}
}

func (w *world) views() []ledger.View {
	hosts, _, err := w.store.Hosts(context.Background(), w.f.Cluster(), "", 0)
	if err != nil {
		w.t.Fatal(err)
	}
	var out []ledger.View
	for _, h := range hosts {
		out = append(out, h.View(w.f.Now()))
	}
	return out
}

func TestTheQueueOfOneProcessBringsARequestUntilItIsDone(t *testing.T) {
	w := newWorld(t, sim.BestFit, 2)
	q := placing.NewInline()
	w.desk.Queue = q
	lost := true
	w.server.Fault = func(op string) wire.Trouble {
		if op == "StartTask" && lost {
			lost = false
			return wire.TimeoutBefore
		}
		return wire.None
	}
	r := w.submit(w.request("a", "chat", 2))
	for range 6 {
		q.Pass(context.Background(), w.placer)
		w.advance(30 * time.Second)
	}
	for _, c := range w.exactlyOnce(r.ID).Copies {
		if c.State != placing.Bound {
			t.Errorf("%+v", c)
		}
	}
}

// late is an ECS that lists a task only some time after it was started.
type late struct {
	placing.Tasks
	now  placing.Clock
	from time.Time
}

func (l *late) StartedBy(ctx context.Context, cluster, id string) ([]string, error) {
	if l.now().Before(l.from) {
		return nil, nil
	}
	return l.Tasks.StartedBy(ctx, cluster, id)
}

func TestATaskThatECSListsLateIsNotStartedAgain(t *testing.T) {
	w := newWorld(t, sim.BestFit, 2)
	w.placer.Tasks = &late{w.client, w.f.Now, w.f.Now().Add(50 * time.Second)}
	lost := true
	w.server.Fault = func(op string) wire.Trouble {
		if op == "StartTask" && lost {
			lost = false
			return wire.TimeoutAfter
		}
		return wire.None
	}
	r := w.submit(w.request("a", "chat", 1))
	for range 4 { // no event comes all the while
		w.once([]string{r.ID})
		w.do(func(f *sim.Fleet) { f.Advance(f.Now().Add(20 * time.Second)) })
	}
	if c := w.exactlyOnce(r.ID).Copies[0]; c.State != placing.Started || c.Tries != 1 {
		t.Errorf("%+v", c)
	}
}
