package fleet

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/bulkhead-ecs/bulkhead/events"
	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/sizing"
	"github.com/bulkhead-ecs/bulkhead/internal/vitals"
)

// MaxSightingSeconds bounds how long one windowed peak may stand for: two windows of
// the agent's. What a silent host did in between was not seen.
const MaxSightingSeconds = 600

// SightingsOf reads a report's windowed peaks. before is the record that the report
// followed: the time since is what each peak stands for, so that a burst of reports
// weighs no more than the time it took. Shares without a figure, or without a task
// definition, say nothing. Whether a figure can be true is Usage.See's to judge.
func SightingsOf(before vitals.Record, rep events.HostReport, now time.Time) []sizing.Sighting {
	seconds := int64(MaxSightingSeconds / 2)
	if before.BootID == rep.BootID && !before.Report.ObservedAt.IsZero() {
		seconds = int64(rep.ObservedAt.Sub(before.Report.ObservedAt) / time.Second)
	}
	seconds = min(max(seconds, 1), MaxSightingSeconds)
	at := rep.ObservedAt
	if at.After(now) {
		at = now // a host's clock may be ahead by MaxSkew; evidence has no future
	}
	cards := map[string]events.ReportDevice{}
	for _, d := range rep.Devices {
		cards[d.UUID] = d
	}
	var out []sizing.Sighting
	for _, s := range rep.Shares {
		if s.Family == "" || len(s.Family) > events.MaxReportNameBytes || s.PeakMiB == nil && s.UsedMiB == nil {
			continue
		}
		d := cards[s.GPU]
		x := sizing.Sighting{Subject: sizing.Subject{Definition: s.Family, Container: s.Container, Image: s.Image, Card: strings.TrimSpace(cutBytes(d.Name, events.MaxReportIDBytes))},
			Total: gpu.MiB(d.TotalMiB), Processes: s.Processes, At: at, Seconds: seconds}
		for _, m := range []*int64{s.PeakMiB, s.UsedMiB} {
			if m != nil {
				x.Peak = max(x.Peak, gpu.MiB(*m))
			}
		}
		if s.LimitMiB != nil && *s.LimitMiB > 0 && gpu.MiB(*s.LimitMiB) <= sizing.MaxPeak {
			x.Limit = gpu.MiB(*s.LimitMiB)
		}
		if s.Percent != nil && *s.Percent > 0 && *s.Percent <= 100 {
			x.Percent = gpu.Percent(*s.Percent)
		}
		out = append(out, x)
	}
	return out
}

func cutBytes(s string, n int) string {
	if len(s) > n {
		return strings.ToValidUTF8(s[:n], "")
	}
	return s
}

// recordUsage adds a report's peaks to what the host has seen. It runs after the
// report was taken, and its failure is logged, never answered: a report brought again
// would be a repeat and count nothing, and the next window tells nearly the same.
func (r *Reports) recordUsage(ctx context.Context, cluster string, before vitals.Record, rep events.HostReport) {
	if r.Usage == nil {
		return
	}
	seen := SightingsOf(before, rep, r.Clock())
	if len(seen) == 0 {
		return
	}
	for attempt := 0; ; attempt++ {
		u, err := r.Usage.Usage(ctx, cluster, rep.InstanceID)
		if errors.Is(err, ledger.ErrNotFound) {
			u, err = sizing.Usage{Cluster: cluster, EC2: rep.InstanceID}, nil
		}
		if err == nil {
			_, err = r.Usage.SaveUsage(ctx, u.See(seen))
		}
		switch {
		case err == nil:
			return
		case errors.Is(err, ledger.ErrConflict) && attempt+1 < MaxAttempts:
			continue
		}
		r.Log.ErrorContext(ctx, "peaks not kept", "instance", rep.InstanceID, "peaks", len(seen), "error", err.Error())
		return
	}
}
