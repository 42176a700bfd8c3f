package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bulkhead-ecs/bulkhead/events"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/memstore"
	"github.com/bulkhead-ecs/bulkhead/internal/sizing"
	"github.com/bulkhead-ecs/bulkhead/internal/vitals"
)

func peaks(w *world, sequence uint64, peak int64) []byte {
	limit, ceiling := int64(8000), int32(40)
	b, _ := json.Marshal(events.HostReport{Schema: 1, InstanceID: reporter, BootID: "b", Sequence: sequence, ObservedAt: w.now, SentAt: w.now, LeaseSeconds: 300, Cause: "lease", NVML: "ok",
		MPS: events.ReportMPS{State: "serving"}, Devices: []events.ReportDevice{{UUID: string(card), Name: "NVIDIA L4", TotalMiB: 22563}},
		Shares: []events.ReportShare{{TaskArn: "t", Container: "app", Family: "chat:7", GPU: string(card), Image: "sha256:ab", PeakMiB: &peak, LimitMiB: &limit, Percent: &ceiling, Processes: 1, MPS: true},
			{TaskArn: "t", Container: "no-figure", Family: "chat:7", GPU: string(card)}, {TaskArn: "t", Container: "no-family", GPU: string(card), PeakMiB: &peak}}})
	return b
}

func TestReportsPeaksAreKeptOnceEachWithTheTimeTheyStandFor(t *testing.T) {
	w := newWorld()
	r := reports(t, w)
	usages := memstore.New()
	r.Usage = usages
	ctx := context.Background()
	for i, x := range []struct {
		after time.Duration
		peak  int64
	}{{0, 5000}, {5 * time.Minute, 7000}, {10 * time.Second, 6000}, {8 * time.Hour, 99999}} {
		w.now = w.now.Add(x.after)
		for range 2 { // its answer was lost
			if _, err := r.Accept(ctx, signer(), reporter, peaks(w, uint64(i+1), x.peak)); err != nil {
				t.Fatal(err)
			}
		}
	}
	q := Query{Store: w, Usage: usages, Clock: w.clock}
	cs, _ := q.Clusters(ctx)
	got, err := q.Series(ctx, cs[0])
	if err != nil || len(got) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	s := got[0]
	if s.Subject != (sizing.Subject{Definition: "chat:7", Container: "app", Image: "sha256:ab", Card: "NVIDIA L4"}) || s.Peaks.Max != 7000 || s.Peaks.Seconds() != 300+300+10 ||
		s.Refused != 1 || s.Limit != 8000 || s.Percent != 40 || s.Total != 22563 {
		t.Errorf("%+v", s)
	}
}

// brokenUsage fails as a throttled store does.
type brokenUsage struct{ sizing.Store }

func (brokenUsage) Usage(context.Context, string, string) (sizing.Usage, error) {
	return sizing.Usage{}, ledger.ErrThrottled
}

// racedUsage loses every race.
type racedUsage struct{ sizing.Store }

func (racedUsage) SaveUsage(_ context.Context, u sizing.Usage) (sizing.Usage, error) {
	return u, ledger.ErrConflict
}

func TestAReportIsTakenEvenWhenItsPeaksCannotBeKept(t *testing.T) {
	for _, s := range []sizing.Store{brokenUsage{memstore.New()}, racedUsage{memstore.New()}} {
		w := newWorld()
		r := reports(t, w)
		r.Usage = s
		if a, err := r.Accept(context.Background(), signer(), reporter, peaks(w, 1, 5000)); err != nil || a.Accepted != 1 {
			t.Errorf("%T: %+v, %v", s, a, err)
		}
	}
	q := Query{Store: memstore.New(), Usage: failingList{}}
	if _, err := q.Series(context.Background(), "c"); !errors.Is(err, ledger.ErrThrottled) {
		t.Errorf("half of the hosts would be advice too low: %v", err)
	}
}

type failingList struct{ sizing.Store }

func (failingList) Usages(context.Context, string, string) ([]sizing.Usage, string, error) {
	return nil, "", ledger.ErrThrottled
}

// Whatever a host claims, what is kept stays within bounds and never in the future.
func TestNoReportMakesAnAbsurdSighting(t *testing.T) {
	at := time.Date(2026, 12, 1, 3, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		figure := rapid.Custom(func(t *rapid.T) *int64 {
			n := rapid.OneOf(rapid.Int64(), rapid.Int64Range(-5, 30000), rapid.Just(int64(math.MaxInt64))).Draw(t, "n")
			if rapid.Bool().Draw(t, "absent") {
				return nil
			}
			return &n
		})
		percent := rapid.Int32().Draw(t, "percent")
		rep := events.HostReport{BootID: "b", ObservedAt: at.Add(time.Duration(rapid.Int64().Draw(t, "observed"))),
			Devices: []events.ReportDevice{{UUID: "g", TotalMiB: rapid.Int64Range(0, math.MaxInt64).Draw(t, "total")}},
			Shares:  []events.ReportShare{{Family: "f:1", GPU: "g", PeakMiB: figure.Draw(t, "peak"), UsedMiB: figure.Draw(t, "used"), LimitMiB: figure.Draw(t, "limit"), Percent: &percent}}}
		before := vitals.Record{BootID: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "boot"), Report: events.HostReport{ObservedAt: at.Add(time.Duration(rapid.Int64().Draw(t, "before")))}}
		u := sizing.Usage{}.See(SightingsOf(before, rep, at))
		for _, s := range u.Series {
			if s.Peaks.Max < 0 || s.Peaks.Max > sizing.MaxPeak || s.Peaks.Seconds() > MaxSightingSeconds || s.Last.After(at) || s.Limit < 0 || s.Limit > sizing.MaxPeak || s.Percent < 0 || s.Percent > 100 {
				t.Fatalf("%+v", s)
			}
			if s.Total > 0 && s.Peaks.Max > s.Total {
				t.Fatalf("a peak above its card: %+v", s)
			}
			sizing.Advise(u.Series, sizing.DefaultPolicy(), at)
		}
	})
}
