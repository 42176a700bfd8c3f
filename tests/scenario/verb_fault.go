package scenario

import (
	"context"
	"fmt"
	"slices"

	"github.com/bulkhead-ecs/bulkhead/internal/fleet"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

// fail conflict|throttle|lostreply [N]: the next N commits meet this. A lost reply
// is one whose write happened: a crash right behind it looks the same.
func fail(w *world, a args) error {
	kinds := map[string]error{"conflict": ledger.ErrConflict, "throttle": ledger.ErrThrottled, "lostreply": errLostReply}
	kind, ok := kinds[a.name]
	if !ok {
		return fmt.Errorf("no fault %q: conflict, throttle or lostreply", a.name)
	}
	n := int64(1)
	if len(a.rest) > 0 {
		n = atoi(a.rest[0])
	}
	for range n {
		w.faults = append(w.faults, kind)
	}
	return nil
}

var errLostReply = fmt.Errorf("reply lost: %w", ledger.ErrThrottled)

// hold on|off: events wait; at off they come, the last one first.
func hold(w *world, a args) error {
	w.holding = a.name == "on"
	if w.holding {
		return nil
	}
	late := w.held
	w.held = nil
	slices.Reverse(late)
	return w.bring(late...)
}

// retry: what failed comes again, as the queue would bring it.
func retry(w *world, _ args) error {
	again := w.failed
	w.failed = nil
	return w.bring(again...)
}

// faulty is the store that the handlers write: commits meet what the script put in
// their way.
type faulty struct {
	ledger.Store
	w *world
}

// Commit meets the next fault, if there is one.
func (f faulty) Commit(ctx context.Context, h ledger.Host) (ledger.Host, error) {
	var fault error
	if len(f.w.faults) > 0 {
		fault, f.w.faults = f.w.faults[0], f.w.faults[1:]
	}
	if fault != nil && fault != errLostReply { //nolint:errorlint // the very value is meant
		return h, fault
	}
	before, _ := f.Host(ctx, h.ID)
	after, err := f.Store.Commit(ctx, h)
	if err != nil {
		return after, err
	}
	f.w.images = append(f.w.images, fleet.Image{Before: before, After: after, At: f.w.now})
	return after, fault
}

// Remove tells the stream too.
func (f faulty) Remove(ctx context.Context, h ledger.Host) error {
	err := f.Store.Remove(ctx, h)
	if err == nil {
		f.w.images = append(f.w.images, fleet.Image{Before: h, At: f.w.now})
	}
	return err
}
