package fleet

import (
	"context"

	"github.com/bulkhead-ecs/bulkhead/internal/vitals"
)

// Nudging is a store of health records that calls for a pass of remedies when what
// it kept asks for something. A call that fails costs nothing but time: the pass
// comes by its schedule too.
type Nudging struct {
	vitals.Store
	Nudge func(ctx context.Context, r vitals.Record)
}

// SaveHealth keeps the record, then nudges.
func (n Nudging) SaveHealth(ctx context.Context, r vitals.Record) (vitals.Record, error) {
	saved, err := n.Store.SaveHealth(ctx, r)
	if err == nil && Demands(saved.Verdict) {
		n.Nudge(ctx, saved)
	}
	return saved, err
}
