package placing

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Inline is a Queue in this process, for the local mode and simulations: like the queue of
// a deployment it brings a request at least once, and again until it is done.
type Inline struct {
	mu    sync.Mutex
	open  map[string][]string // cluster → ids, in the order of asking
	awake chan struct{}
}

// NewInline makes an empty queue.
func NewInline() *Inline {
	return &Inline{open: map[string][]string{}, awake: make(chan struct{}, 1)}
}

// Send implements Queue.
func (q *Inline) Send(_ context.Context, cluster, id string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !slices.Contains(q.open[cluster], id) {
		q.open[cluster] = append(q.open[cluster], id)
	}
	select {
	case q.awake <- struct{}{}:
	default: // it is awake already
	}
	return nil
}

// Pass brings what is open to the placer once, and keeps what is not done.
func (q *Inline) Pass(ctx context.Context, p *Placer) {
	q.mu.Lock()
	open := q.open
	q.open = map[string][]string{}
	q.mu.Unlock()
	for cluster, ids := range open { // clusters do not touch each other
		for i, err := range p.Batch(ctx, cluster, ids) {
			if err != nil {
				_ = q.Send(ctx, cluster, ids[i]) // cannot fail
			}
		}
	}
}

// Run passes whenever something is sent, and every so often, until the context ends.
func (q *Inline) Run(ctx context.Context, p *Placer, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-q.awake:
		case <-tick.C:
		}
		q.Pass(ctx, p)
		select { // what a pass kept must wait for the tick, or it would spin
		case <-q.awake:
		default:
		}
	}
}

var _ Queue = (*Inline)(nil)
