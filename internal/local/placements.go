package local

import (
	"context"
	"errors"
	"sync"

	"github.com/bulkhead-ecs/bulkhead/internal/fleet"
	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/placement"
	"github.com/bulkhead-ecs/bulkhead/internal/placing"
)

// places is the queue of placements: one writer takes them, as in a deployment.
type places struct {
	mu  sync.Mutex
	ids []string
}

// Send implements placing.Queue.
func (q *places) Send(_ context.Context, _, id string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ids = append(q.ids, id)
	return nil
}

func (q *places) take() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	ids := q.ids
	q.ids = nil
	return ids
}

// placement makes the desk that takes requests and the placer that carries them out.
func (r *run) placement(definitions *fleet.DefinitionCache) {
	if r.o.Places == nil {
		return
	}
	policy := placement.DefaultPolicy()
	policy.Tiers["critical"] = placement.TierRule{Neighbours: placement.Same, Budget: gpu.FullCompute}
	for _, tier := range []gpu.Tier{"standard", "batch"} {
		policy.Tiers[tier] = placement.TierRule{Neighbours: placement.Any, Budget: gpu.FullCompute}
	}
	laws := r.ingest.Policy
	r.api.Placing = &placing.Desk{Ledger: r.ingest.Store, Store: r.o.Places, Queue: &r.places, Definitions: definitions, Policy: policy, Laws: laws, Clock: r.now, Log: r.o.Log,
		TierOf: func(group string, d ledger.Definition) gpu.Tier { return r.ingest.Tiers.Of(group, d.ARN, d) }}
	r.placer = &placing.Placer{Ledger: r.ingest.Store, Store: r.o.Places, Definitions: definitions, Tasks: r.ecs.client, Policy: policy, Laws: laws, Clock: r.now, Log: r.o.Log}
}

// place carries out what was asked for; what stays open comes again.
func (r *run) place(ctx context.Context) error {
	ids := r.places.take()
	if len(ids) == 0 {
		return nil
	}
	for i, err := range r.placer.Batch(ctx, clusterARN, ids) {
		if err == nil {
			continue
		}
		if !errors.Is(err, placing.ErrLater) {
			r.o.Log.WarnContext(ctx, "placement comes again", "id", ids[i], "error", err.Error())
		}
		if err := r.places.Send(ctx, clusterARN, ids[i]); err != nil {
			return err
		}
	}
	return nil
}
