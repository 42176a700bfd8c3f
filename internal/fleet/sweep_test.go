package fleet

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

func sweepOnce(t *testing.T, w *world) SweepReport {
	t.Helper()
	rep, err := w.sweep().Cluster(context.Background(), cluster)
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

func TestALedgerIsRebuiltFromECSAlone(t *testing.T) {
	w := newWorld()
	for n := 1; n <= 5; n++ {
		w.registers(n)
		w.runs(2*n, n, 2)
		w.runs(2*n+1, n, 2)
	}
	rep := sweepOnce(t, w)
	if rep.Ghosts != 10 || rep.Written != 5 || !rep.Complete {
		t.Errorf("%+v: want ten ghosts written in five commits", rep)
	}
	for n := 1; n <= 5; n++ {
		if got := held(t, w, n); got != 8000 {
			t.Errorf("host %d holds %v, want 8000", n, got)
		}
	}
	if again := sweepOnce(t, w); again.Written != 0 || again.Ghosts != 0 {
		t.Errorf("a second sweep of the same truth did %+v", again)
	}
}

func TestAbsenceInAListIsNoProof(t *testing.T) {
	w := newWorld()
	w.registers(1)
	w.runs(1, 1, 2)
	sweepOnce(t, w)
	w.hidden[taskARN(1)], w.hidden[instance(1)] = true, true
	if rep := sweepOnce(t, w); rep.Leaks != 0 || rep.Lost != 0 || held(t, w, 1) != 4000 {
		t.Errorf("%+v, held %v: ECS still describes both by name", rep, held(t, w, 1))
	}
	delete(w.tasks, taskARN(1))
	if rep := sweepOnce(t, w); rep.Leaks != 1 || held(t, w, 1) != 0 {
		t.Errorf("%+v, held %v: ECS does not know the task", rep, held(t, w, 1))
	}
	delete(w.hosts, instance(1))
	sweepOnce(t, w)
	w.now = w.now.Add(time.Hour)
	rep := sweepOnce(t, w)
	if _, err := w.Store.Host(context.Background(), host(1)); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("%+v: the host is still there (%v)", rep, err)
	}
}

func TestATaskTooYoungToBeDescribedIsNotCalledALeak(t *testing.T) {
	w := newWorld()
	w.registers(1)
	sweepOnce(t, w)
	h, _ := w.Store.Host(context.Background(), host(1))
	h, _ = ledger.ObserveTask(h, ledger.Task{ARN: taskARN(1), Version: 1, Heard: w.now.Add(-time.Minute), Shares: []ledger.TaskShare{{Container: "app"}}})
	if _, err := w.Store.Commit(context.Background(), h); err != nil {
		t.Fatal(err)
	}
	if rep := sweepOnce(t, w); rep.Leaks != 0 {
		t.Errorf("%+v: ECS may lag a minute", rep)
	}
	w.now = w.now.Add(ReadLag)
	if rep := sweepOnce(t, w); rep.Leaks != 1 {
		t.Errorf("%+v: ECS has had its time", rep)
	}
}

func TestAnExpiredReservationIsDropped(t *testing.T) {
	w := newWorld()
	w.registers(1)
	sweepOnce(t, w)
	h, _ := w.Store.Host(context.Background(), host(1))
	h, err := ledger.Reserve(h, ledger.Reservation{ID: "r-1", Tier: "standard", LeaseUntil: w.now.Add(time.Minute),
		Containers: []ledger.ContainerNeed{{Name: "app", Need: ledger.NeedShare, Memory: 1000}}}, ledger.DefaultPolicy(), w.now)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Store.Commit(context.Background(), h); err != nil {
		t.Fatal(err)
	}
	if rep := sweepOnce(t, w); rep.Expired != 0 {
		t.Errorf("%+v: the lease still runs", rep)
	}
	w.now = w.now.Add(time.Minute + ledger.DefaultReservationGrace)
	if rep := sweepOnce(t, w); rep.Expired != 1 {
		t.Errorf("%+v: no reservation outlives its lease", rep)
	}
}

func TestASweepCutShortGoesOnWhereItStopped(t *testing.T) {
	w := newWorld()
	for n := 1; n <= 3*sweepChunk; n++ {
		w.registers(n)
	}
	s := w.sweep()
	calls := 0
	start := w.now
	s.Clock = func() time.Time { // each look at the clock costs a second
		calls++
		return start.Add(time.Duration(calls) * time.Second)
	}
	ctx, cancel := context.WithDeadline(context.Background(), time.Now().Add(time.Hour))
	defer cancel()
	deadline, _ := ctx.Deadline()
	start = deadline.Add(-time.Duration(sweepChunk+2) * time.Second) // room for one chunk
	first, err := s.Cluster(ctx, cluster)
	if err != nil || first.Complete || first.Written != sweepChunk {
		t.Fatalf("%+v, %v: want one chunk", first, err)
	}
	second, err := w.sweep().Cluster(context.Background(), cluster)
	if err != nil || !second.Complete || second.Written != 2*sweepChunk {
		t.Errorf("%+v, %v: want the other two", second, err)
	}
	third, err := w.sweep().Cluster(context.Background(), cluster)
	if err != nil || third.Written != 0 || !third.Complete {
		t.Errorf("%+v, %v: all was done", third, err)
	}
}

func TestEventsAndSweepAgree(t *testing.T) {
	byEvents, bySweep := newWorld(), newWorld()
	bySweep.registers(1)
	bySweep.runs(1, 1, 2)
	sweepOnce(t, bySweep)
	byEvents.ingest().Batch(context.Background(), []Message{event(1, 1, 2, "RUNNING", "RUNNING", byEvents.now, chat)})
	byEvents.registers(1)
	byEvents.runs(1, 1, 2)
	sweepOnce(t, byEvents)
	a, _ := byEvents.Store.Host(context.Background(), host(1))
	b, _ := bySweep.Store.Host(context.Background(), host(1))
	ta, _ := a.Task(taskARN(1))
	tb, _ := b.Task(taskARN(1))
	ta.Capacity = tb.Capacity // an event tells the launch type, this description did not
	if len(ta.Shares) != 1 || ta.Shares[0].Memory != tb.Shares[0].Memory || ta.Version != tb.Version || ta.Phase != tb.Phase {
		t.Errorf("by events %+v\nby sweep  %+v", ta, tb)
	}
}
