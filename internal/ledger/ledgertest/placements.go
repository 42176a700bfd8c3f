package ledgertest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/placing"
)

// RunPlacements holds a store of placement requests against its contract. open makes
// an empty one.
func RunPlacements(t *testing.T, open func(t *testing.T) placing.Store) {
	for _, c := range []struct {
		name string
		run  func(*testing.T, placing.Store)
	}{
		{"a request that nobody kept is not found", placementNotFound},
		{"every fact of a request survives the store, at its next revision", placementKept},
		{"of many that keep one request at once exactly one does", placementRace},
		{"a request of the most copies with the longest overrides fits", placementLarge},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, open(t)) })
	}
}

func placementRecord() placing.Record {
	at := time.Date(2026, 12, 1, 3, 0, 0, 123e6, time.UTC)
	id := ledger.HostID{Cluster: "arn:aws:ecs:us-east-1:111122223333:cluster/gpu", Instance: "arn:aws:ecs:us-east-1:111122223333:container-instance/gpu/1"}
	return placing.Record{ID: "bhp-1", By: "arn:aws:iam::111122223333:user/ada", MadeAt: at,
		Request: placing.Request{Cluster: id.Cluster, ClientToken: "t", Definition: "chat:1", Count: 2, Tier: "critical", Group: "night", Mode: placing.Robust,
			Overrides: placing.Overrides{Containers: []placing.ContainerOverride{{Name: "a", Command: []string{"run"}, Environment: []placing.Variable{{Name: "A", Value: "b"}}}}}},
		Copies: []placing.Copy{
			{Reservation: "bhp-1-0", State: placing.Started, Host: id, AskedAt: at, Tries: 2, Task: "arn:task", Tried: []string{"x"}, Explanation: "1/2 hosts: MemoryShort"},
			{Reservation: "bhp-1-1", State: placing.Refused, Reason: "NoHostAdmits", Text: "none"}}}
}

func placementNotFound(t *testing.T, s placing.Store) {
	if _, err := s.Placement(context.Background(), "bhp-none"); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("%v", err)
	}
}

func placementKept(t *testing.T, s placing.Store) {
	ctx := context.Background()
	r := placementRecord()
	for want := int64(1); want <= 3; want++ {
		saved, err := s.SavePlacement(ctx, r)
		if err != nil || saved.Revision != want {
			t.Fatalf("%v, revision %d, want %d", err, saved.Revision, want)
		}
		got, err := s.Placement(ctx, r.ID)
		if err != nil || !cmp.Equal(got, saved, same) {
			t.Fatalf("%v\n%s", err, cmp.Diff(saved, got, same))
		}
		got.Copies[0].Task = "changed in the caller's hands"
		if again, _ := s.Placement(ctx, r.ID); again.Copies[0].Task != saved.Copies[0].Task {
			t.Fatal("the store shares its copies with callers")
		}
		r = saved
	}
	r.Revision--
	if _, err := s.SavePlacement(ctx, r); !errors.Is(err, ledger.ErrConflict) {
		t.Errorf("an old revision: %v", err)
	}
	if _, err := s.SavePlacement(ctx, placementRecord()); !errors.Is(err, ledger.ErrConflict) {
		t.Errorf("made twice: %v", err)
	}
}

func placementRace(t *testing.T, s placing.Store) {
	var won atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			_, err := s.SavePlacement(context.Background(), placementRecord())
			switch {
			case err == nil:
				won.Add(1)
			case !errors.Is(err, ledger.ErrConflict):
				t.Error(err)
			}
		})
	}
	all.Wait()
	if won.Load() != 1 {
		t.Errorf("%d of 8 kept it", won.Load())
	}
}

func placementLarge(t *testing.T, s placing.Store) {
	r := placementRecord()
	r.Request.Overrides.Containers[0].Environment[0].Value = strings.Repeat("x", placing.MaxOverrides)
	one := r.Copies[0]
	one.Explanation, one.Text = strings.Repeat("e", 500), strings.Repeat("t", 500)
	for range placing.MaxTries {
		one.Tried = append(one.Tried, one.Host.Instance)
	}
	r.Copies = nil
	for range placing.MaxCount {
		r.Copies = append(r.Copies, one)
	}
	if _, err := s.SavePlacement(context.Background(), r); err != nil {
		t.Error(err)
	}
}
