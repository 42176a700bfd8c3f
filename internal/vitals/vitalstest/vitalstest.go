// Package vitalstest is the contract of vitals.Store as a test suite.
package vitalstest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bulkhead-ecs/bulkhead/events"
	"github.com/bulkhead-ecs/bulkhead/internal/health"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/vitals"
)

// Run holds a store against the contract.
func Run(t *testing.T, s vitals.Store) {
	ctx := context.Background()
	if _, err := s.Health(ctx, "i-0a"); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("nobody wrote it: %v", err)
	}
	at := time.Date(2026, 12, 1, 3, 0, 0, 0, time.UTC)
	r := vitals.Record{EC2: "i-0a", BootID: "b", Sequence: 1 << 60, ReceivedAt: at, Report: events.HostReport{Schema: 1, InstanceID: "i-0a", ObservedAt: at},
		State:   health.State{BootID: "b", Conditions: []health.Condition{{Kind: "Xid", Code: 79, Device: "GPU-1", FirstSeen: at, Count: 3}}},
		Verdict: health.Verdict{Host: health.Judgement{Level: health.Failed, Tokens: []string{"Xid79"}}, At: at}}
	for want := int64(1); want <= 2; want++ {
		var err error
		if r, err = s.SaveHealth(ctx, r); err != nil || r.Revision != want {
			t.Fatalf("%v, revision %d, want %d", err, r.Revision, want)
		}
		got, err := s.Health(ctx, "i-0a")
		if err != nil || !cmp.Equal(got, r, cmpopts.EquateEmpty()) {
			t.Fatalf("%v\n%s", err, cmp.Diff(r, got, cmpopts.EquateEmpty()))
		}
	}
	stale := r
	stale.Revision--
	if _, err := s.SaveHealth(ctx, stale); !errors.Is(err, ledger.ErrConflict) {
		t.Errorf("an old revision: %v", err)
	}
	if _, err := s.SaveHealth(ctx, vitals.Record{EC2: "i-0a"}); !errors.Is(err, ledger.ErrConflict) {
		t.Errorf("made twice: %v", err)
	}
	for range 512 { // the largest report keeps its verdict
		r.Report.Shares = append(r.Report.Shares, events.ReportShare{TaskArn: strings.Repeat("x", 1000), Container: "c"})
	}
	if r, err := s.SaveHealth(ctx, r); err != nil || r.Verdict.Host.Level != health.Failed {
		t.Errorf("a huge report: %v", err)
	}
}
