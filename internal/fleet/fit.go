package fleet

import (
	"context"
	"errors"
	"log/slog"

	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

// commitFitting commits a host. One that has grown past what the store takes gives
// up its oldest tombstones: a tombstone less is worth more than a host that no
// event can change any more. What an event older than a dropped one says is healed
// by the sweep.
func commitFitting(ctx context.Context, s ledger.Store, h ledger.Host, log *slog.Logger) error {
	_, err := s.Commit(ctx, h)
	for errors.Is(err, ledger.ErrTooLarge) {
		fewer, dropped := ledger.DropOldest(h)
		if dropped == 0 {
			return err
		}
		log.WarnContext(ctx, "host too large for one item, its oldest tombstones are dropped",
			"host", h.ID.Instance, "dropped", dropped, "tasks", len(fewer.Tasks))
		h = fewer
		_, err = s.Commit(ctx, h)
	}
	return err
}
