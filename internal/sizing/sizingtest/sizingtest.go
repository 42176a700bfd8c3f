// Package sizingtest is the contract of sizing.Store as a test suite.
package sizingtest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/sizing"
)

// Run holds a store, empty of usages, against the contract.
func Run(t *testing.T, s sizing.Store) {
	t.Run("a host's usage is kept whole under its revision", func(t *testing.T) { keeps(t, s) })
	t.Run("a cluster's usages are listed beyond one page, and no other cluster's", func(t *testing.T) { lists(t, s) })
}

func keeps(t *testing.T, s sizing.Store) {
	ctx := context.Background()
	if _, err := s.Usage(ctx, "c", "i-0a"); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("nobody wrote it: %v", err)
	}
	at := time.Date(2026, 12, 1, 3, 0, 0, 0, time.UTC)
	u := sizing.Usage{Cluster: "c", EC2: "i-0a"}.See([]sizing.Sighting{{Subject: sizing.Subject{Definition: "chat:7", Container: "app", Image: "sha256:ab", Card: "NVIDIA L4"},
		Peak: 9000, Total: 22563, Limit: 10000, Percent: 40, Processes: 2, At: at, Seconds: 300}})
	for want := int64(1); want <= 2; want++ {
		var err error
		if u, err = s.SaveUsage(ctx, u); err != nil || u.Revision != want {
			t.Fatalf("%v, revision %d, want %d", err, u.Revision, want)
		}
	}
	got, err := s.Usage(ctx, "c", "i-0a")
	if diff := cmp.Diff(u, got, cmpopts.EquateEmpty()); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	for _, stale := range []int64{0, 1, 3} {
		old := u
		old.Revision = stale
		if _, err := s.SaveUsage(ctx, old); !errors.Is(err, ledger.ErrConflict) {
			t.Errorf("revision %d over 2: %v", stale, err)
		}
	}
	if _, err := s.Usage(ctx, "other", "i-0a"); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("another cluster's: %v", err)
	}
}

// lists makes usages of some 30 KB each, so that a cluster crosses the 1 MB page.
func lists(t *testing.T, s sizing.Store) {
	ctx := context.Background()
	at := time.Date(2026, 12, 1, 3, 0, 0, 0, time.UTC)
	var want []sizing.Usage
	for i := range 60 {
		u := sizing.Usage{Cluster: "many", EC2: fmt.Sprintf("i-%03d", i)}
		var seen []sizing.Sighting
		for k := range 100 {
			seen = append(seen, sizing.Sighting{Subject: sizing.Subject{Definition: fmt.Sprintf("family-with-a-long-name-%d:7", k), Container: "app", Image: "sha256:0123456789abcdef0123456789abcdef"},
				Peak: gpu.MiB(1000 + i), At: at, Seconds: 300})
		}
		u, err := s.SaveUsage(ctx, u.See(seen))
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, u)
	}
	if _, err := s.SaveUsage(ctx, sizing.Usage{Cluster: "many2", EC2: "i-000"}); err != nil {
		t.Fatal(err)
	}
	var got []sizing.Usage
	for after := ""; ; {
		page, next, err := s.Usages(ctx, "many", after)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, page...)
		if after = next; after == "" {
			break
		}
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
}
