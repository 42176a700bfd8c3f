package loop

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/bulkhead-ecs/bulkhead/events"
	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/checks"
	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/nvmlchild"
)

// Preflight asks, before the first sharing task of a boot, whether the host is fit to
// share its cards, until it is. What it found goes into the reports.
type Preflight struct {
	Agent *Agent
	// Read reads the host, all but the NVML sample: the agent has one already, and a
	// second child beside one that hangs would hang too.
	Read   func(ctx context.Context) checks.Facts
	Every  time.Duration // between looks
	Passed time.Time     // of an earlier run in this boot; zero: not yet
	Keep   func(at time.Time)
	Log    *slog.Logger
}

// Run looks until the host passes or ctx ends.
func (p *Preflight) Run(ctx context.Context) {
	if !p.Passed.IsZero() {
		p.Agent.feed(ctx, func() {
			p.Agent.pic.Preflight = &events.ReportPreflight{State: events.PreflightPassed, Since: p.Passed.UTC()}
		})
		return
	}
	p.Agent.feed(ctx, func() {
		if p.Agent.pic.Preflight == nil {
			p.Agent.pic.Preflight = &events.ReportPreflight{State: events.PreflightPending, Since: p.Agent.Now().UTC()}
		}
	})
	for {
		f := p.Read(ctx)
		done := make(chan bool, 1)
		if !p.Agent.feed(ctx, func() { done <- p.judge(f) }) {
			return
		}
		select {
		case passed := <-done:
			if passed {
				return
			}
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(p.Every):
		case <-ctx.Done():
			return
		}
	}
}

// judge runs in the deciding goroutine.
func (p *Preflight) judge(f checks.Facts) bool {
	a := p.Agent
	now := a.Now().UTC()
	switch u := a.pic.NVML; {
	case u.Condition == nvmlchild.OK && !u.Stale:
		f.Sample = &u.Sample
	case u.Condition == nvmlchild.Starting || u.Condition == "":
		return false // still pending
	default:
		if f.NVMLErr = u.Err; f.NVMLErr == nil {
			f.NVMLErr = fmt.Errorf("NVML: %s", u.Condition)
		}
	}
	next := preflight(checks.All(f))
	if was := a.pic.Preflight; was != nil && was.State == next.State && slices.EqualFunc(was.Failed, next.Failed, sameCheck) {
		return false
	}
	next.Since = now
	a.pic.Preflight = &next
	for _, c := range next.Failed {
		p.Log.Warn("preflight failed", "check", c.Check, "found", c.Found, "fix", c.Fix)
	}
	if next.State != events.PreflightPassed {
		return false
	}
	p.Log.Info("preflight passed")
	if p.Keep != nil {
		p.Keep(now)
	}
	return true
}

// sameCheck leaves figures aside that move from look to look.
func sameCheck(a, b events.ReportCheck) bool { return a.Check == b.Check }

// preflight is the state that results of the checks mean.
func preflight(results []checks.Result) events.ReportPreflight {
	r := events.ReportPreflight{State: events.PreflightPending}
	if checks.Ready(results) {
		r.State = events.PreflightPassed
		return r
	}
	for _, c := range results {
		if c.Status == checks.Failed && len(r.Failed) < events.MaxReportChecks {
			r.State = events.PreflightFailed
			r.Failed = append(r.Failed, events.ReportCheck{Check: c.Check, Found: text(c.Found), Fix: text(c.Fix)})
		}
	}
	return r
}
