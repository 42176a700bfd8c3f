package remediate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/remedy"
)

// Pass is the use case. All fields but the optional ones must be set; it keeps no
// state of its own between two calls.
type Pass struct {
	Store    Store
	Ledger   ledger.Store
	Vitals   Assessor
	Checks   Checks // optional: without, EC2's status checks are not asked
	Eyes     Eyes
	Hands    Hands
	Pager    Pager
	Policy   remedy.Policy
	Clock    func() time.Time
	Log      *slog.Logger
	Parallel int           // hosts assessed at once; 0 is one
	Margin   time.Duration // time to leave before the context's deadline
}

// Report counts what a pass found and did.
type Report struct {
	Cluster string
	Hosts   int // that serve GPUs and are not gone
	Unknown int // whose health could not be read
	Opened  int // cases
	Open    int // cases that are open now
	Blocked int // of these
	Closed  int // cases that ended in this pass
	Steps   int // taken
	Told    int // notices
	Left    int // cases for which no time was left
}

// maxRaces bounds how often a lost race is decided again within one pass.
const maxRaces = 8

// Cluster makes one pass. An error says that something could not be read or
// written; what could be done was done, and the next pass goes on.
func (p *Pass) Cluster(ctx context.Context, cluster string) (Report, error) {
	rep := Report{Cluster: cluster}
	g, err := p.survey(ctx, cluster)
	if err != nil {
		return rep, fmt.Errorf("remediate %s: %w", cluster, err)
	}
	rep.Hosts, rep.Unknown = len(g.hosts), g.unknown
	var errs []error
	told, err := p.breakers(ctx, g)
	rep.Told += told
	if err != nil {
		return rep, fmt.Errorf("remediate %s: breakers: %w", cluster, err) // without breakers nothing may be done
	}
	opened, err := p.consider(ctx, g)
	rep.Opened = opened
	errs = append(errs, err, p.cordons(ctx, g))
	errs = append(errs, p.advanceAll(ctx, g, &rep))
	if opened > 0 { // cases that were not there when the breakers were judged
		told, err = p.breakers(ctx, g)
		rep.Told += told
		errs = append(errs, err)
	}
	p.Log.InfoContext(ctx, "remedies passed", "cluster", cluster, "mode", string(p.Policy.Mode), "hosts", rep.Hosts, "unknown", rep.Unknown,
		"opened", rep.Opened, "open", rep.Open, "blocked", rep.Blocked, "closed", rep.Closed, "steps", rep.Steps, "left", rep.Left)
	return rep, errors.Join(errs...)
}

// consider opens a case for each host whose verdict asks for one.
func (p *Pass) consider(ctx context.Context, g *ground) (int, error) {
	var errs []error
	opened := 0
	for _, h := range g.sorted() {
		v := h.view(h.rec.Verdict)
		c, ok, why := remedy.Consider(v, g.casesOf(h.ec2()), p.Policy, p.Clock())
		if !ok {
			errs = append(errs, p.keep(ctx, g, h))
			continue
		}
		rec := Record{Cluster: g.cluster, Cards: len(h.h.Cards()), Agent: h.rec.Sequence > 0, Kept: p.Clock(), Case: c}
		rec, err := p.Store.SaveCase(ctx, rec)
		if errors.Is(err, ledger.ErrConflict) {
			continue // another pass made the same case; this one sees it next time
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("open case %s: %w", c.ID, err))
			continue
		}
		opened++
		g.records = append(g.records, rec)
		p.Log.InfoContext(ctx, "case opened", append(rec.Case.Fields(), "why", why, "mode", string(p.Policy.Mode))...)
	}
	slices.SortFunc(g.records, func(a, b Record) int { return cmp.Compare(a.Case.ID, b.Case.ID) })
	return opened, errors.Join(errs...)
}

// keep refreshes the final cases whose fault still stands: were they dropped, the
// fault would be answered a second time.
func (p *Pass) keep(ctx context.Context, g *ground, h *host) error {
	now := p.Clock()
	for i := range g.records {
		r := &g.records[i]
		if r.Case.Instance != h.ec2() || !r.Case.State.Final() || now.Sub(r.Kept) < KeepFor/2 {
			continue
		}
		for _, reason := range h.rec.Verdict.Reasons {
			if !slices.Contains(r.Case.Faults, reason.Fault) {
				continue
			}
			r.Kept = now
			saved, err := p.Store.SaveCase(ctx, *r)
			if err != nil && !errors.Is(err, ledger.ErrConflict) {
				return fmt.Errorf("keep case %s: %w", r.Case.ID, err)
			}
			if err == nil {
				*r = saved
			}
			break
		}
	}
	return nil
}

// advanceAll moves the open cases on, those with a place in the budgets first.
func (p *Pass) advanceAll(ctx context.Context, g *ground, rep *Report) error {
	var open []Record
	for _, r := range g.records {
		if !r.Case.State.Final() {
			open = append(open, r)
		}
	}
	slices.SortStableFunc(open, func(a, b Record) int {
		return cmp.Or(rank(a.Case)-rank(b.Case), a.Case.Opened.Compare(b.Case.Opened), cmp.Compare(a.Case.ID, b.Case.ID))
	})
	deadline, bounded := ctx.Deadline()
	var errs []error
	for _, r := range open {
		if bounded && p.Clock().Add(p.Margin).After(deadline) {
			rep.Left++
			continue
		}
		after, steps, err := p.advance(ctx, g, r)
		if err != nil {
			errs = append(errs, fmt.Errorf("case %s: %w", r.Case.ID, err))
			// What was written is not known, perhaps a place in the budgets: the next case
			// is judged by what the table holds.
			if err := p.reread(ctx, g); err != nil {
				return errors.Join(append(errs, err)...)
			}
			rep.Open++
			continue
		}
		rep.Steps += steps
		g.put(after)
		switch c := after.Case; {
		case c.State.Final():
			rep.Closed++
		case c.State == remedy.Blocked:
			rep.Blocked++
			rep.Open++
		default:
			rep.Open++
		}
	}
	return errors.Join(errs...)
}

// rank puts what has no way back first, then what is in repair.
func rank(c remedy.Case) int {
	switch {
	case c.Detached || c.Ended:
		return 0
	case c.InRepair():
		return 1
	case c.Cause.Planned:
		return 0 // it has minutes
	}
	return 2
}

// each calls f for 0..n-1, at most limit at once; what f finds it writes itself.
func each(ctx context.Context, n, limit int, f func(ctx context.Context, i int)) {
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(max(1, limit))
	for i := range n {
		group.Go(func() error { f(gctx, i); return nil })
	}
	_ = group.Wait()
}
