package placing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/placement"
)

// ErrTokenUsed is a client token that already stands for another request.
var ErrTokenUsed = errors.New("the client token stands for another request: use a new one")

// Desk takes requests and answers for them.
type Desk struct {
	Ledger      ledger.Store
	Store       Store
	Queue       Queue
	Definitions Definitions
	Policy      placement.Policy
	Laws        ledger.Policy
	// TierOf finds the tier of a definition when the request names none.
	TierOf func(group string, d ledger.Definition) gpu.Tier
	Clock  Clock
	Log    *slog.Logger
}

// Submit keeps a request and queues it. The same token again returns the same record,
// queued once more while it is not done: whoever lost the answer may just ask again.
// A *placement.Refusal says what is wrong with it; ErrTokenUsed that the token is taken.
func (d *Desk) Submit(ctx context.Context, q Request, by string) (Record, error) {
	if _, err := d.want(ctx, &q); err != nil {
		return Record{}, err
	}
	rec := newRecord(q, by, d.Clock())
	old, err := d.Store.Placement(ctx, rec.ID)
	switch {
	case err == nil && d.Clock().Before(old.Until()):
		return d.again(ctx, old, q)
	case err == nil:
		rec.Revision = old.Revision // its day is over; the store has not dropped it yet
	case !errors.Is(err, ledger.ErrNotFound):
		return Record{}, err
	}
	kept, err := d.Store.SavePlacement(ctx, rec)
	if errors.Is(err, ledger.ErrConflict) { // somebody asked the same at this moment
		if old, err = d.Store.Placement(ctx, rec.ID); err == nil {
			return d.again(ctx, old, q)
		}
	}
	if err != nil {
		return Record{}, fmt.Errorf("keep the request: %w", err)
	}
	d.Log.InfoContext(ctx, "placement asked for", "id", kept.ID, "by", by, "cluster", q.Cluster, "definition", q.Definition, "count", q.Count, "tier", q.Tier)
	return kept, d.send(ctx, kept)
}

func (d *Desk) again(ctx context.Context, old Record, q Request) (Record, error) {
	if !reflect.DeepEqual(old.Request, q) {
		return Record{}, ErrTokenUsed
	}
	if old.Done() {
		return old, nil
	}
	return old, d.send(ctx, old)
}

func (d *Desk) send(ctx context.Context, r Record) error {
	if err := d.Queue.Send(ctx, r.Request.Cluster, r.ID); err != nil {
		return fmt.Errorf("queue the request %s: %w", r.ID, err)
	}
	return nil
}

// want checks a request against itself and its task definition, and fills in the
// definition's full ARN and the tier.
func (d *Desk) want(ctx context.Context, q *Request) (want, error) {
	if err := q.check(); err != nil {
		return want{}, err
	}
	def, err := d.Definitions.Definition(ctx, q.Definition)
	tier := q.Tier
	if tier == "" && err == nil {
		if tier = gpu.DefaultTier; d.TierOf != nil {
			tier = d.TierOf(q.Group, def)
		}
	}
	w, err := wantOf(*q, def, err, tier)
	if err != nil {
		return w, err
	}
	if def.ARN != "" {
		q.Definition = def.ARN
	}
	q.Tier = tier
	if _, ok := d.Policy.Tiers[tier]; !ok {
		return w, bad("TierUnknown", "tier", "no policy names the tier %q", tier)
	}
	return w, nil
}

// Get reads a request with what the ledger knows of its tasks: the card that ECS
// named binds a copy. ledger.ErrNotFound for one that is not kept (any more).
func (d *Desk) Get(ctx context.Context, id string) (Record, error) {
	r, err := d.Store.Placement(ctx, id)
	if err != nil || !d.Clock().Before(r.Until()) {
		return Record{}, errors.Join(err, notKept(id, err == nil))
	}
	seen := map[ledger.HostID]ledger.Host{}
	for i := range r.Copies {
		c := &r.Copies[i]
		if c.State != Started && c.State != Asked {
			continue
		}
		h, ok := seen[c.Host]
		if !ok {
			if h, err = d.Ledger.Host(ctx, c.Host); err != nil && !errors.Is(err, ledger.ErrNotFound) {
				return r, err
			}
			seen[c.Host] = h
		}
		bind(c, h)
	}
	return r, nil
}

func notKept(id string, expired bool) error {
	if expired {
		return fmt.Errorf("placement %s: %w", id, ledger.ErrNotFound)
	}
	return nil
}

// bind reads from the host which card ECS named for the copy's task.
func bind(c *Copy, h ledger.Host) {
	t, ok := taskOf(h, c.Reservation)
	if !ok {
		return
	}
	c.Task, c.State = t.ARN, Started
	for _, s := range t.Shares {
		c.GPUs = append(c.GPUs, s.GPUs...)
	}
	if len(c.GPUs) > 0 {
		c.State = Bound
	}
}

// taskOf finds the task that a copy started, also one that has stopped: a tombstone
// is as good a proof that it was started.
func taskOf(h ledger.Host, reservation string) (ledger.Task, bool) {
	for _, t := range h.Tasks {
		if t.StartedBy == reservation {
			return t, true
		}
	}
	return ledger.Task{}, false
}

// DryRun says where the copies would go now, and keeps and starts nothing.
func (d *Desk) DryRun(ctx context.Context, q Request, by string) (Record, error) {
	w, err := d.want(ctx, &q)
	if err != nil {
		return Record{}, err
	}
	b, err := newBoard(ctx, d.Ledger, q.Cluster, d.Policy, d.Laws, d.Clock())
	if err != nil {
		return Record{}, err
	}
	r := newRecord(q, by, d.Clock())
	for i := range r.Copies {
		b.choose(&r.Copies[i], w, q.Mode)
	}
	return r, nil
}
