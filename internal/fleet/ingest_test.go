package fleet

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

func held(t *testing.T, w *world, n int) gpu.MiB {
	t.Helper()
	h, err := w.Store.Host(context.Background(), host(n))
	if errors.Is(err, ledger.ErrNotFound) {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	var sum gpu.MiB
	for _, d := range h.View(w.now).Devices {
		sum += d.Held
	}
	return sum
}

func TestABatchReadsAndWritesEachTouchedHostOnce(t *testing.T) {
	w := newWorld()
	in := w.ingest()
	in.Least = ledger.WeightMajor
	var msgs []Message
	for n := 1; n <= 20; n++ {
		msgs = append(msgs, event(n, 1, 1, "RUNNING", "RUNNING", w.now, chat))
	}
	for _, r := range in.Batch(context.Background(), msgs) {
		if r.Outcome != Applied {
			t.Errorf("%+v", r)
		}
	}
	if w.writes != 1 || w.reads != 1 {
		t.Errorf("%d writes and %d reads, want one each", w.writes, w.reads)
	}
	if got := held(t, w, 1); got != 20*4000 {
		t.Errorf("held %v: an observation is recorded even when it breaks a law", got)
	}
}

func TestChangesThatFreeNothingWaitForTheNextWrite(t *testing.T) {
	w := newWorld()
	in := w.ingest()
	in.Least = ledger.WeightMajor
	for v, s := range [][2]string{{"PENDING", "RUNNING"}, {"RUNNING", "RUNNING"}, {"RUNNING", "STOPPED"}, {"STOPPING", "STOPPED"}, {"STOPPED", "STOPPED"}} {
		in.Batch(context.Background(), []Message{event(1, 1, v+1, s[0], s[1], w.now, chat)})
		want := gpu.MiB(4000)
		if s[0] == "STOPPED" {
			want = 0
		}
		if got := held(t, w, 1); got != want {
			t.Errorf("after %v held %v, want %v", s, got, want)
		}
	}
	if w.writes != 2 {
		t.Errorf("%d writes of a task life, want 2: bound and released", w.writes)
	}
}

func TestALostRaceAndALostReplyAreDecidedAgain(t *testing.T) {
	for name, faults := range map[string][]fault{
		"lost race":  {{call: "commit", err: ledger.ErrConflict}},
		"lost reply": {{call: "commit", after: true, err: ledger.ErrConflict}},
	} {
		w := newWorld()
		w.faults = faults
		rs := w.ingest().Batch(context.Background(), []Message{event(1, 1, 1, "RUNNING", "RUNNING", w.now, chat)})
		if rs[0].Err != nil || held(t, w, 1) != 4000 {
			t.Errorf("%s: %+v, held %v", name, rs[0], held(t, w, 1))
		}
	}
}

func TestOneHostsFailureComesAgainAloneAndEndlessRacesEnd(t *testing.T) {
	w := newWorld()
	for range MaxAttempts {
		w.faults = append(w.faults, fault{call: "commit", err: ledger.ErrConflict})
	}
	rs := w.ingest().Batch(context.Background(), []Message{event(1, 1, 1, "RUNNING", "RUNNING", w.now, chat), event(2, 2, 1, "RUNNING", "RUNNING", w.now, chat)})
	if rs[0].Outcome != Failed || !errors.Is(rs[0].Err, ledger.ErrConflict) {
		t.Errorf("the raced host: %+v", rs[0])
	}
	if rs[1].Outcome != Applied || held(t, w, 2) != 4000 {
		t.Errorf("its neighbour: %+v", rs[1])
	}
}

func TestWhatCannotBeReadIsBuriedWithItsReasonAndPoisonsNothing(t *testing.T) {
	w := newWorld()
	good := event(1, 1, 1, "RUNNING", "RUNNING", w.now, chat)
	foreign := Message{ID: "foreign", Body: []byte(strings.Replace(string(good.Body), `"account":"111122223333"`, `"account":"999999999999"`, 1))}
	absurd := event(2, 1, 2_000_000_000, "RUNNING", "RUNNING", w.now, chat)
	negative := event(3, 1, -4, "RUNNING", "RUNNING", w.now, chat)
	huge := Message{ID: "huge", Body: []byte(`{"source":"aws.ecs","x":"` + strings.Repeat("a", 300<<10) + `"}`)}
	rs := w.ingest().Batch(context.Background(), []Message{{ID: "garbage", Body: []byte("{")}, foreign, good, absurd, negative, huge, {ID: "empty"}})
	want := []struct {
		outcome Outcome
		token   string
	}{{Rejected, "MessageUnreadable"}, {Rejected, "ForeignAccountOrRegion"}, {Applied, ""}, {Rejected, "VersionAbsurd"}, {Rejected, "VersionAbsurd"},
		{Rejected, "MessageTooLarge"}, {Rejected, "MessageUnreadable"}}
	for i, x := range want {
		if rs[i].Outcome != x.outcome || rs[i].Token != x.token {
			t.Errorf("message %d (%s): %s %s %q, want %s %s", i, rs[i].ID, rs[i].Outcome, rs[i].Token, rs[i].Text, x.outcome, x.token)
		}
	}
	if len(w.buried) != 6 {
		t.Errorf("buried %q", w.buried)
	}
}

func TestWhatCannotBeBuriedComesAgain(t *testing.T) {
	w := newWorld()
	w.buryErr = errors.New("queue gone")
	if rs := w.ingest().Batch(context.Background(), []Message{{ID: "garbage", Body: []byte("{")}}); rs[0].Outcome != Failed {
		t.Errorf("%+v: it would be lost", rs[0])
	}
}

func TestAnEventOlderThanTheTombstonesIsCheckedWithECS(t *testing.T) {
	w := newWorld()
	old := w.now.Add(-24 * time.Hour)
	gone := w.ingest().Batch(context.Background(), []Message{event(1, 1, 2, "RUNNING", "RUNNING", old, chat)})
	if gone[0].Outcome != Stale || held(t, w, 1) != 0 {
		t.Errorf("a task that ECS does not know came back: %+v", gone[0])
	}
	w.runs(2, 1, 9)
	alive := w.ingest().Batch(context.Background(), []Message{event(2, 1, 2, "RUNNING", "RUNNING", old, chat)})
	if alive[0].Outcome != Applied || held(t, w, 1) != 4000 {
		t.Errorf("a task that still runs was not believed: %+v", alive[0])
	}
	h, _ := w.Store.Host(context.Background(), host(1))
	if task, _ := h.Task(taskARN(2)); task.Version != 9 {
		t.Errorf("version %d, ECS says 9", task.Version)
	}
}

func TestADefinitionThatCannotBeReadLeavesTheShareKnownAndUnsized(t *testing.T) {
	w := newWorld()
	in := w.ingest()
	in.Batch(context.Background(), []Message{event(1, 1, 1, "RUNNING", "RUNNING", w.now, arnHead+"task-definition/secret:1")})
	h, err := w.Store.Host(context.Background(), host(1))
	if err != nil {
		t.Fatal(err)
	}
	fs := ledger.Check(h.View(w.now), in.Policy, w.now)
	if len(fs) != 1 || fs[0].Kind != ledger.ShareSizeUnknown {
		t.Errorf("findings %+v", fs)
	}
}

func TestATaskWithoutGPUTakesNoRoom(t *testing.T) {
	w := newWorld()
	m := event(1, 1, 1, "RUNNING", "RUNNING", w.now, arnHead+"task-definition/web:1")
	m.Body = []byte(strings.Replace(string(m.Body), `"gpuIds":["`+string(card)+`"]`, `"cpu":"1"`, 1))
	if rs := w.ingest().Batch(context.Background(), []Message{m}); rs[0].Outcome != Ignored || w.writes != 0 {
		t.Errorf("%+v, %d writes", rs[0], w.writes)
	}
}
