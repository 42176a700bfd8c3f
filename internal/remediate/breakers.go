package remediate

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/remedy"
)

// breakers judges what all hosts show together and tells people what changed. What
// is told was stored first, so a crash tells it twice rather than never.
func (p *Pass) breakers(ctx context.Context, g *ground) (int, error) {
	for race := 0; ; race++ {
		c, err := p.Store.Control(ctx, g.cluster)
		if err != nil {
			return 0, err
		}
		next := p.judge(c, g)
		if same(c, next) {
			g.control = c
			return p.tell(ctx, g)
		}
		saved, err := p.Store.SaveControl(ctx, next)
		if err == nil {
			g.control = saved
			return p.tell(ctx, g)
		}
		if !errors.Is(err, ledger.ErrConflict) || race+1 >= maxRaces {
			return 0, err
		}
	}
}

// judge folds the detections of this pass into the control.
func (p *Pass) judge(c Control, g *ground) Control {
	now, window := p.Clock(), time.Duration(p.Policy.Breaker.Window)
	seen := slices.Clone(c.Seen)
	for _, h := range g.sorted() {
		for _, d := range remedy.Detections(h.view(h.rec.Verdict)) {
			if !slices.ContainsFunc(seen, func(o remedy.Detection) bool { return o.Instance == d.Instance && o.Key == d.Key && o.At.Equal(d.At) }) {
				seen = append(seen, d)
			}
		}
	}
	seen = slices.DeleteFunc(seen, func(d remedy.Detection) bool { return now.Sub(d.At) > window })
	slices.SortFunc(seen, func(a, b remedy.Detection) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Instance, b.Instance), cmp.Compare(a.Key.String(), b.Key.String()))
	})
	seen = seen[max(0, len(seen)-maxSeen):]
	pop := remedy.Population{Cluster: len(g.hosts), ByAMI: map[string]int{}}
	for _, h := range g.sorted() {
		pop.ByAMI[h.scope().AMI]++
	}
	next := c
	next.Cluster, next.Seen = g.cluster, seen
	var notices, more []remedy.Notice
	next.Breakers, notices = remedy.Trip(c.Breakers, seen, pop, p.Policy.Breaker, now)
	cases := casesIn(g.records)
	for i, b := range next.Breakers {
		j := slices.IndexFunc(cases, func(x remedy.Case) bool { return x.ID == b.Canary })
		if b.Canary == "" {
			continue
		}
		if j < 0 { // its case is kept no more: another may try
			next.Breakers[i].Canary = ""
			continue
		}
		next.Breakers[i], more = remedy.Settle(b, cases[j], p.Policy.Breaker, now)
		notices = append(notices, more...)
	}
	next.Breakers = remedy.Canaries(next.Breakers, cases)
	next.Notices = append(slices.Clone(c.Notices), notices...)
	next.Notices = next.Notices[max(0, len(next.Notices)-maxNotices):]
	return next
}

// same reports whether nothing is to be written. It compares what would be stored.
func same(a, b Control) bool {
	x, errA := json.Marshal(a)
	y, errB := json.Marshal(b)
	return errA == nil && errB == nil && bytes.Equal(x, y)
}

// tell tells the stored notices and takes them off the control.
func (p *Pass) tell(ctx context.Context, g *ground) (int, error) {
	if len(g.control.Notices) == 0 {
		return 0, nil
	}
	told := 0
	var failed error
	for _, n := range g.control.Notices {
		if failed = p.Pager.Tell(ctx, Notice{Cluster: g.cluster, Subject: n.Key.String(), Page: n.Page, Text: n.Text, At: p.Clock()}); failed != nil {
			break
		}
		p.Log.WarnContext(ctx, "breaker", "cluster", g.cluster, "key", n.Key.String(), "page", n.Page, "text", n.Text)
		told++
	}
	done := g.control.Notices[:told]
	_, err := p.changeControl(ctx, g.cluster, func(c *Control) bool {
		before := len(c.Notices)
		c.Notices = slices.DeleteFunc(slices.Clone(c.Notices), func(n remedy.Notice) bool { return slices.Contains(done, n) })
		return len(c.Notices) != before
	})
	g.control.Notices = nil
	return told, errors.Join(failed, err)
}

// changeControl changes the control under its fence; f reports whether it did.
func (p *Pass) changeControl(ctx context.Context, cluster string, f func(*Control) bool) (Control, error) {
	return changeControl(ctx, p.Store, cluster, f)
}

func changeControl(ctx context.Context, s Store, cluster string, f func(*Control) bool) (Control, error) {
	for race := 0; ; race++ {
		c, err := s.Control(ctx, cluster)
		if err != nil {
			return c, err
		}
		c.Cluster = cluster
		if !f(&c) {
			return c, nil
		}
		saved, err := s.SaveControl(ctx, c)
		if err == nil || !errors.Is(err, ledger.ErrConflict) || race+1 >= maxRaces {
			return saved, err
		}
	}
}
