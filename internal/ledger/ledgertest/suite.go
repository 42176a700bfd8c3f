package ledgertest

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
	"pgregory.net/rapid"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

// Run holds a store against the contract. open makes an empty one.
func Run(t *testing.T, open func(t *testing.T) ledger.Store) {
	for _, c := range []struct {
		name string
		run  func(*testing.T, ledger.Store)
	}{
		{"a host that nobody wrote is not found", notFound},
		{"a commit moves the revision by one and is read back at once", commits},
		{"of two writers at one revision exactly one wins", races},
		{"a host is made once", madeOnce},
		{"a host is removed only at the revision that was read", removes},
		{"every fact of a host survives the store", roundTrip},
		{"a change of what was handed out changes nothing in the store", aliases},
		{"pages of hosts together are all of them, whatever comes and goes", pages},
		{"a cursor of something else is refused", badCursor},
		{"clusters are those with a host", clusters},
		{"the newest index of an instance and a card wins", index},
		{"a definition is kept as it was", definitions},
		{"the journal gives a span of time in order, and an entry once", journal},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, open(t)) })
	}
}

var same = cmp.Options{cmpopts.EquateEmpty()}

func must[T any](t interface {
	Helper()
	Fatal(...any)
}) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func notFound(t *testing.T, s ledger.Store) {
	ctx := context.Background()
	if _, err := s.Host(ctx, HostID(1)); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("Host: %v", err)
	}
	if _, err := s.HostOfInstance(ctx, "i-0"); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("HostOfInstance: %v", err)
	}
	if _, err := s.HostOfCard(ctx, Card(1)); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("HostOfCard: %v", err)
	}
	if _, err := s.Definition(ctx, "arn"); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("Definition: %v", err)
	}
}

func commits(t *testing.T, s ledger.Store) {
	ctx := context.Background()
	h := Full(1, 1, 2)
	for want := int64(1); want <= 3; want++ {
		h = must[ledger.Host](t)(s.Commit(ctx, h))
		got := must[ledger.Host](t)(s.Host(ctx, h.ID))
		if h.Revision != want || !cmp.Equal(got, h, same) {
			t.Fatalf("revision %d, want %d:\n%s", h.Revision, want, cmp.Diff(h, got, same))
		}
		h.Registration.Version++
	}
}

func races(t *testing.T, s ledger.Store) {
	ctx := context.Background()
	h := must[ledger.Host](t)(s.Commit(ctx, Full(1, 1, 1)))
	const writers = 8
	var wins, losses int
	var mu sync.Mutex
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			mine := h
			mine.Fixed.Zone = fmt.Sprint("writer-", w)
			_, err := s.Commit(ctx, mine)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				wins++
			case errors.Is(err, ledger.ErrConflict):
				losses++
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if wins != 1 || losses != writers-1 {
		t.Errorf("%d won and %d lost", wins, losses)
	}
	// A reply that was lost and sent again is a lost race against oneself.
	if _, err := s.Commit(ctx, h); !errors.Is(err, ledger.ErrConflict) {
		t.Errorf("the same commit again: %v", err)
	}
}

func madeOnce(t *testing.T, s ledger.Store) {
	ctx := context.Background()
	must[ledger.Host](t)(s.Commit(ctx, Full(1, 1, 0)))
	if _, err := s.Commit(ctx, Full(1, 1, 0)); !errors.Is(err, ledger.ErrConflict) {
		t.Errorf("made twice: %v", err)
	}
	ghost := Full(2, 1, 0)
	ghost.Revision = 7
	if _, err := s.Commit(ctx, ghost); !errors.Is(err, ledger.ErrConflict) {
		t.Errorf("a revision of a host that is not there: %v", err)
	}
}

func removes(t *testing.T, s ledger.Store) {
	ctx := context.Background()
	h := must[ledger.Host](t)(s.Commit(ctx, Full(1, 1, 0)))
	stale := h
	h = must[ledger.Host](t)(s.Commit(ctx, h))
	if err := s.Remove(ctx, stale); !errors.Is(err, ledger.ErrConflict) {
		t.Errorf("removed at an old revision: %v", err)
	}
	if err := s.Remove(ctx, h); err != nil {
		t.Error(err)
	}
	if _, err := s.Host(ctx, h.ID); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("still there: %v", err)
	}
	if err := s.Remove(ctx, h); !errors.Is(err, ledger.ErrConflict) {
		t.Errorf("removed twice: %v", err)
	}
	if err := s.Remove(ctx, Full(9, 1, 0)); !errors.Is(err, ledger.ErrConflict) {
		t.Errorf("removed though nobody wrote it: %v", err)
	}
}

func roundTrip(t *testing.T, s ledger.Store) {
	ctx := context.Background()
	rapid.Check(t, func(rt *rapid.T) {
		h := Hosts().Draw(rt, "host")
		if old, err := s.Host(ctx, h.ID); err == nil {
			h.Revision = old.Revision
		}
		h = must[ledger.Host](rt)(s.Commit(ctx, h))
		if got := must[ledger.Host](rt)(s.Host(ctx, h.ID)); !cmp.Equal(got, h, same) {
			rt.Fatalf("(-written +read)\n%s", cmp.Diff(h, got, same))
		}
	})
}

func aliases(t *testing.T, s ledger.Store) {
	ctx := context.Background()
	h := must[ledger.Host](t)(s.Commit(ctx, Full(1, 1, 2)))
	changed, out := ledger.ObserveTask(h, ledger.Task{ARN: h.Tasks[0].ARN, Version: 99, Phase: ledger.PhaseStopped, StoppedAt: time.Unix(1, 0)})
	if out.Result != ledger.Applied || changed.Tasks[0].Version != 99 {
		t.Fatal("the change did not take")
	}
	if got := must[ledger.Host](t)(s.Host(ctx, h.ID)); got.Tasks[0].Version == 99 {
		t.Error("the store's own value changed")
	}
}

func pages(t *testing.T, s ledger.Store) {
	ctx := context.Background()
	const n = 70 // of 30 KB each, more than DynamoDB's page of 1 MB
	for i := range n {
		must[ledger.Host](t)(s.Commit(ctx, Full(2*i, 8, 40)))
	}
	for _, limit := range []int{0, 1, 7, 500} {
		var got []string
		var after ledger.Cursor
		for page := 0; ; page++ {
			hosts, next, err := s.Hosts(ctx, Cluster, after, limit)
			if err != nil {
				t.Fatal(err)
			}
			if limit > 0 && len(hosts) > limit {
				t.Fatalf("a page of %d, asked for %d", len(hosts), limit)
			}
			for _, h := range hosts {
				got = append(got, h.ID.Instance)
			}
			if limit == 7 && page == 3 { // one goes that was given, one comes that is ahead
				gone := must[ledger.Host](t)(s.Host(ctx, hosts[len(hosts)-1].ID))
				if err := s.Remove(ctx, gone); err != nil {
					t.Fatal(err)
				}
				must[ledger.Host](t)(s.Commit(ctx, Full(2*n+1, 1, 0)))
			}
			if next == "" {
				break
			}
			after = next
		}
		if !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) || len(got) < n {
			t.Errorf("limit %d: %d hosts, sorted %v", limit, len(got), slices.IsSorted(got))
		}
		if limit == 7 && got[len(got)-1] != HostID(2*n+1).Instance {
			t.Error("a host that came ahead of the cursor was missed")
		}
	}
}

func badCursor(t *testing.T, s ledger.Store) {
	for _, c := range []ledger.Cursor{"!!", "bm90IG9uZQ", "e30"} {
		if _, _, err := s.Hosts(context.Background(), Cluster, c, 1); !errors.Is(err, ledger.ErrCursor) {
			t.Errorf("cursor %q: %v", c, err)
		}
	}
}

func clusters(t *testing.T, s ledger.Store) {
	ctx := context.Background()
	if got := must[[]string](t)(s.Clusters(ctx)); len(got) != 0 {
		t.Errorf("an empty store has %v", got)
	}
	other := Full(2, 1, 0)
	other.ID.Cluster = arnHead + "cluster/other"
	must[ledger.Host](t)(s.Commit(ctx, other))
	must[ledger.Host](t)(s.Commit(ctx, Full(1, 1, 0)))
	got := must[[]string](t)(s.Clusters(ctx))
	slices.Sort(got)
	if !slices.Equal(got, []string{Cluster, other.ID.Cluster}) {
		t.Errorf("%v", got)
	}
	hosts, _, err := s.Hosts(ctx, Cluster, "", 0)
	if err != nil || len(hosts) != 1 {
		t.Errorf("%d hosts of one cluster, %v", len(hosts), err)
	}
}

// registration is a host for the index: n registered n minutes after the first.
func registration(n int, ec2, status string, cards ...gpu.UUID) ledger.Host {
	h, _ := ledger.ObserveHost(ledger.Host{ID: HostID(n)}, ledger.HostSeen{GPUs: cards,
		Fixed:        ledger.Fixed{EC2InstanceID: ec2, RegisteredAt: time.Unix(int64(60*n), 0)},
		Registration: ledger.Registration{Version: int64(n), Status: status}})
	return h
}

func index(t *testing.T, s ledger.Store) {
	ctx := context.Background()
	first := func(want int) {
		t.Helper()
		if id := must[ledger.HostID](t)(s.HostOfInstance(ctx, "i-0a")); id != HostID(want) {
			t.Errorf("the instance is found as %v, not %d", id, want)
		}
		if id := must[ledger.HostID](t)(s.HostOfCard(ctx, Card(1))); id != HostID(want) {
			t.Errorf("the card is found on %v, not %d", id, want)
		}
	}
	tell := func(h ledger.Host) {
		t.Helper()
		if err := s.Index(ctx, h); err != nil {
			t.Fatal(err)
		}
	}
	if ids, err := s.HostsOfInstance(ctx, "i-0a"); err != nil || len(ids) != 0 {
		t.Errorf("an instance that nobody told of: %v, %v", ids, err)
	}
	tell(registration(2, "i-0a", "ACTIVE", Card(1), Card(3)))
	tell(registration(1, "i-0a", "ACTIVE", Card(1), Card(2)))
	first(2) // registered last, told first
	tell(registration(1, "i-0a", "INACTIVE", Card(1), Card(2)))
	first(2) // a late word of the ended one hides nothing
	if ids := must[[]ledger.HostID](t)(s.HostsOfInstance(ctx, "i-0a")); !slices.Equal(ids, []ledger.HostID{HostID(2), HostID(1)}) {
		t.Errorf("registrations %v", ids)
	}
	if id := must[ledger.HostID](t)(s.HostOfCard(ctx, Card(2))); id != HostID(1) {
		t.Errorf("card 2: %v", id)
	}
	tell(registration(1, "i-0a", "ACTIVE", Card(1), Card(2)))
	tell(registration(2, "i-0a", "INACTIVE", Card(1), Card(3)))
	first(1) // the one that lives, though the other registered later
	if err := s.Index(ctx, ledger.Host{ID: HostID(1)}); err != nil {
		t.Errorf("an index of nothing: %v", err)
	}
	kept := must[ledger.Host](t)(s.Commit(ctx, registration(1, "i-0a", "ACTIVE", Card(1), Card(2))))
	if err := s.Remove(ctx, kept); err != nil {
		t.Fatal(err)
	}
	first(2)
	if _, err := s.HostOfCard(ctx, Card(2)); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("a card of a removed host is still found: %v", err)
	}
}

func definitions(t *testing.T, s ledger.Store) {
	ctx := context.Background()
	d := ledger.Definition{ARN: arnHead + "task-definition/chat:7", Family: "chat", TierTag: "critical", StopTimeout: 2 * time.Minute,
		Containers: []ledger.ContainerNeed{{Name: "app", Need: ledger.NeedShare, Memory: -1, Compute: 40}, {Name: "all", Need: ledger.NeedAll}, {Name: "two", Need: ledger.NeedWhole, Count: 2}}}
	if err := s.SaveDefinition(ctx, d); err != nil {
		t.Fatal(err)
	}
	got := must[ledger.Definition](t)(s.Definition(ctx, d.ARN))
	got.Containers[0].Name = "changed by its reader"
	if got := must[ledger.Definition](t)(s.Definition(ctx, d.ARN)); !cmp.Equal(got, d, same) {
		t.Error(cmp.Diff(d, got, same))
	}
}

func journal(t *testing.T, s ledger.Store) {
	ctx := context.Background()
	base := time.Date(2026, 12, 1, 3, 0, 0, 0, time.UTC)
	var entries []ledger.Entry
	for i := range 60 { // more than one batch of 25
		h := Full(1, 1, i%3)
		h.Revision = int64(i + 1)
		entries = append(entries, ledger.Entry{Host: h.ID, At: base.Add(time.Duration(i/2) * time.Minute), Revision: h.Revision, Image: h})
	}
	other := Full(2, 1, 1)
	other.Revision = 1
	for range 2 { // twice: it is there once
		if err := s.Record(ctx, append(slices.Clone(entries), ledger.Entry{Host: other.ID, At: base, Revision: 1, Image: other})); err != nil {
			t.Fatal(err)
		}
	}
	var got []ledger.Entry
	var after ledger.Cursor
	for {
		page, next, err := s.Journal(ctx, HostID(1), base.Add(time.Minute), base.Add(20*time.Minute), after)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, page...)
		if next == "" {
			break
		}
		after = next
	}
	if none, _, err := s.Journal(ctx, HostID(1), base.Add(time.Hour), base, ""); err != nil || len(none) != 0 {
		t.Errorf("a span that ends before it begins: %d entries, %v", len(none), err)
	}
	if want := entries[2:40]; !cmp.Equal(got, want, same) {
		t.Errorf("%d entries, want %d\n%s", len(got), len(want), cmp.Diff(want, got, same))
	}
}
