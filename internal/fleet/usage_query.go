package fleet

import (
	"context"
	"strings"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/sizing"
)

// Series joins what the hosts of a cluster saw of each task definition. Without a
// store of usages there is none.
func (q *Query) Series(ctx context.Context, cluster string) ([]sizing.Series, error) {
	if q.Usage == nil {
		return nil, nil
	}
	var all [][]sizing.Series
	for after := ""; ; {
		page, next, err := q.Usage.Usages(ctx, cluster, after)
		if err != nil {
			return nil, err
		}
		for _, u := range page {
			all = append(all, u.Series)
		}
		if after = next; after == "" {
			return q.declared(ctx, cluster, sizing.Merge(all...))
		}
	}
}

// declared fills in, from the ledger's shares, the declared size of series whose
// hosts could not read the limits in force.
func (q *Query) declared(ctx context.Context, cluster string, series []sizing.Series) ([]sizing.Series, error) {
	type container struct{ definition, name string }
	known := map[container]ledger.TaskShare{}
	err := EachHost(ctx, q.Store, cluster, func(h ledger.Host) error {
		for _, t := range h.Tasks {
			for _, s := range t.Shares {
				if s.Need == ledger.NeedWhole || s.Need == ledger.NeedAll || s.Need == ledger.NeedShare && s.Sized {
					known[container{t.Definition[strings.LastIndexByte(t.Definition, '/')+1:], s.Container}] = s
				}
			}
		}
		return nil
	})
	for i, s := range series {
		k, ok := known[container{s.Definition, s.Container}]
		if !ok {
			continue
		}
		series[i].Whole = k.Need != ledger.NeedShare
		if s.Limit == 0 {
			series[i].Limit = k.Memory
		}
		if s.Percent == 0 && k.Compute > 0 {
			series[i].Percent = k.Compute
		}
	}
	return series, err
}

// Meter adds up a cluster's journal between m.From and m.To. Hosts that the ledger
// has dropped since are not found by it any more; their cards are missing.
func (q *Query) Meter(ctx context.Context, cluster string, m *sizing.Meter) error {
	return EachHost(ctx, q.Store, cluster, func(h ledger.Host) error {
		if !Visible(h) && h.Registration.Status == "" {
			return nil
		}
		images, err := q.images(ctx, h, m.From, m.To)
		if err != nil {
			return err
		}
		m.Add(images)
		return nil
	})
}

// images are a host's images that touch a span: those in it, and the one before.
func (q *Query) images(ctx context.Context, h ledger.Host, from, to time.Time) ([]sizing.Image, error) {
	var out []sizing.Image
	for after := ledger.Cursor(""); ; {
		entries, next, err := q.Store.Journal(ctx, h.ID, time.Time{}, to, after)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if !e.At.After(from) && len(out) > 0 {
				out = out[:0] // a later one stands at the start
			}
			out = append(out, sizing.Image{At: e.At, Host: e.Image})
		}
		if after = next; after == "" {
			return out, nil
		}
	}
}
