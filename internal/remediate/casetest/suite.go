// Package casetest is the contract of remediate.Store as a test suite. Every store
// runs it.
package casetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/remediate"
	"github.com/bulkhead-ecs/bulkhead/internal/remedy"
)

// Clusters of the suite.
const (
	Cluster = "arn:aws:ecs:us-east-1:111122223333:cluster/gpu"
	other   = "arn:aws:ecs:us-east-1:111122223333:cluster/gpu-two"
)

var start = time.Date(2026, 12, 1, 3, 0, 0, 0, time.UTC)

// Run holds a store against the contract. open makes an empty one.
func Run(t *testing.T, open func(t *testing.T) remediate.Store) {
	for _, c := range []struct {
		name string
		run  func(*testing.T, remediate.Store)
	}{
		{"every fact of a case survives the store", wholeCase},
		{"of two writers at one version exactly one wins", races},
		{"a case is made once", madeOnce},
		{"the cases of a cluster are all of them, by id, and no other's", lists},
		{"more cases than one page of the table holds are all read", many},
		{"a control that nobody wrote is zero, and is fenced after", control},
		{"a decision written again is the later one", decisions},
		{"decisions are paged, newest first", pages},
		{"a cursor of something else is refused", badCursor},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, open(t)) })
	}
}

func record(id string) remediate.Record {
	return remediate.Record{Cluster: Cluster, Group: "asg", Cards: 4, Agent: true, Kept: start, Case: remedy.Case{ID: id, Instance: "i-0a", Host: "arn:host", State: remedy.Blocked,
		Resume: remedy.Draining, Opened: start, Entered: start.Add(time.Second), Cause: remedy.Cause{Token: "Xid79", Action: "RPL", Why: "fell off the bus"},
		Faults: []string{"Xid79/GPU-1/b/1"}, Block: remedy.Block{Reason: remedy.BlockBudget, Detail: "1 of 1", Since: start}, Repair: true, CordonOurs: true,
		Attempts: []remedy.Attempt{{Key: id + "|Drain||1", Kind: remedy.StepDrain, Asked: start, Last: start, Tries: 2, Result: remedy.Done}},
		Trail:    []remedy.Entry{{At: start, Text: "opened"}}, Decision: 7}}
}

func wholeCase(t *testing.T, s remediate.Store) {
	ctx := context.Background()
	if _, err := s.Case(ctx, Cluster, "none"); !errors.Is(err, ledger.ErrNotFound) {
		t.Fatalf("nobody wrote it: %v", err)
	}
	r := record("i-0a.Xid79.1")
	for want := int64(1); want <= 3; want++ {
		saved, err := s.SaveCase(ctx, r)
		if err != nil || saved.Case.Version != want {
			t.Fatalf("%v, version %d, want %d", err, saved.Case.Version, want)
		}
		got, err := s.Case(ctx, Cluster, r.Case.ID)
		if err != nil || !cmp.Equal(got, saved, cmpopts.EquateEmpty()) {
			t.Fatalf("%v\n%s", err, cmp.Diff(saved, got, cmpopts.EquateEmpty()))
		}
		r = got
	}
	r.Case.Trail[0].Text = "changed by who got it"
	if got, _ := s.Case(ctx, Cluster, r.Case.ID); got.Case.Trail[0].Text != "opened" {
		t.Error("a change of what was handed out is in the store")
	}
}

func races(t *testing.T, s remediate.Store) {
	ctx := context.Background()
	r, err := s.SaveCase(ctx, record("i-0a.Xid79.1"))
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	won, lost := 0, 0
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			mine := r
			mine.Case.Decision = int64(100 + n)
			_, err := s.SaveCase(ctx, mine)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				won++
			case errors.Is(err, ledger.ErrConflict):
				lost++
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if won != 1 || lost != 7 {
		t.Errorf("%d won and %d lost", won, lost)
	}
}

func madeOnce(t *testing.T, s remediate.Store) {
	ctx := context.Background()
	if _, err := s.SaveCase(ctx, record("a")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.SaveCase(ctx, record("a")); !errors.Is(err, ledger.ErrConflict) {
		t.Errorf("made twice: %v", err)
	}
	missing := record("b")
	missing.Case.Version = 3
	if _, err := s.SaveCase(ctx, missing); !errors.Is(err, ledger.ErrConflict) {
		t.Errorf("written over nothing: %v", err)
	}
}

func lists(t *testing.T, s remediate.Store) {
	ctx := context.Background()
	if got, err := s.Cases(ctx, Cluster); err != nil || len(got) != 0 {
		t.Fatalf("%v, %d cases of nobody", err, len(got))
	}
	for _, id := range []string{"c", "a", "b"} {
		r := record(id)
		if id == "b" {
			r.Case.State = remedy.Closed
		}
		if _, err := s.SaveCase(ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	foreign := record("d")
	foreign.Cluster = other
	if _, err := s.SaveCase(ctx, foreign); err != nil {
		t.Fatal(err)
	}
	got, err := s.Cases(ctx, Cluster)
	var ids []string
	for _, r := range got {
		ids = append(ids, r.Case.ID)
	}
	if err != nil || !slices.Equal(ids, []string{"a", "b", "c"}) {
		t.Errorf("%v, %v", err, ids)
	}
}

func many(t *testing.T, s remediate.Store) {
	ctx := context.Background()
	for i := range 60 { // about 25 KB each: beyond the 1 MB of a page
		r := record(fmt.Sprintf("case-%03d", i))
		for n := range 60 {
			r.Case.Trail = append(r.Case.Trail, remedy.Entry{At: start, Text: fmt.Sprintf("%0350d", n)})
		}
		if _, err := s.SaveCase(ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := s.Cases(ctx, Cluster); err != nil || len(got) != 60 {
		t.Errorf("%v, %d of 60", err, len(got))
	}
}

func control(t *testing.T, s remediate.Store) {
	ctx := context.Background()
	c, err := s.Control(ctx, Cluster)
	if err != nil || c.Revision != 0 || c.Cluster != Cluster || c.Paused.By != "" {
		t.Fatalf("%v %+v", err, c)
	}
	c.Paused = remedy.Word{By: "ana", Reason: "storm", At: start}
	c.Breakers = []remedy.Breaker{{Key: remedy.CauseKey{Token: "Xid79", AMI: "ami-1", Driver: "580"}, State: remedy.BreakerOpen, Since: start, CoolDown: time.Hour, Hosts: 5, Of: 9}}
	c.Cordons = []remediate.Cordon{{Host: "arn:host", Instance: "i-0a", Want: remedy.StatusDraining, Word: c.Paused, Decision: "d"}}
	c.Seen = []remedy.Detection{{Instance: "i-0a", Key: c.Breakers[0].Key, At: start}}
	c.Notices = []remedy.Notice{{Key: c.Breakers[0].Key, Page: true, Text: "open"}}
	saved, err := s.SaveControl(ctx, c)
	if err != nil || saved.Revision != 1 {
		t.Fatalf("%v, revision %d", err, saved.Revision)
	}
	if got, err := s.Control(ctx, Cluster); err != nil || !cmp.Equal(got, saved, cmpopts.EquateEmpty()) {
		t.Errorf("%v\n%s", err, cmp.Diff(saved, got, cmpopts.EquateEmpty()))
	}
	if _, err := s.SaveControl(ctx, c); !errors.Is(err, ledger.ErrConflict) {
		t.Errorf("an old revision: %v", err)
	}
	if got, err := s.Control(ctx, other); err != nil || got.Revision != 0 {
		t.Errorf("another cluster's: %v %+v", err, got)
	}
}

func decision(n int) remediate.Decision {
	at := start.Add(time.Duration(n) * time.Second)
	return remediate.Decision{ID: at.Format("20060102T150405.000Z") + "-x", At: at, Cluster: Cluster, Actor: "ana", Action: "cancel", Subject: "case", Case: "c", Number: 3,
		Reason: "known", Numbers: []remedy.Number{{Name: "cluster.limit", Value: 2}}, Until: at}
}

func decisions(t *testing.T, s remediate.Store) {
	ctx := context.Background()
	d := decision(1)
	if _, err := s.Decision(ctx, Cluster, d.ID); !errors.Is(err, ledger.ErrNotFound) {
		t.Fatalf("nobody wrote it: %v", err)
	}
	for _, result := range []string{"", "done"} {
		d.Result = result
		if err := s.NoteDecision(ctx, d); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Decision(ctx, Cluster, d.ID); err != nil || !cmp.Equal(got, d) {
			t.Errorf("%v\n%s", err, cmp.Diff(d, got))
		}
	}
	if got, _, err := s.Decisions(ctx, Cluster, "", 0); err != nil || len(got) != 1 {
		t.Errorf("%v, %d decisions", err, len(got))
	}
}

func pages(t *testing.T, s remediate.Store) {
	ctx := context.Background()
	for n := range 25 {
		if err := s.NoteDecision(ctx, decision(n)); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	var after ledger.Cursor
	for range 10 {
		page, next, err := s.Decisions(ctx, Cluster, after, 10)
		if err != nil || len(page) > 10 {
			t.Fatalf("%v, %d on a page", err, len(page))
		}
		for _, d := range page {
			got = append(got, d.ID)
		}
		if after = next; next == "" {
			break
		}
	}
	want := slices.Sorted(slices.Values(got))
	slices.Reverse(want)
	if len(got) != 25 || !slices.Equal(got, want) || len(slices.Compact(slices.Clone(got))) != 25 {
		t.Errorf("%d decisions: %v", len(got), got)
	}
}

func badCursor(t *testing.T, s remediate.Store) {
	for _, c := range []ledger.Cursor{"x", "!!", "aG9zdCNh"} {
		if _, _, err := s.Decisions(context.Background(), Cluster, c, 10); !errors.Is(err, ledger.ErrCursor) {
			t.Errorf("%q: %v", c, err)
		}
	}
}
