package fleet

import (
	"context"
	"errors"

	"github.com/bulkhead-ecs/bulkhead/internal/drift"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/vitals"
)

// gapReads is how many records are read at once to find gaps.
const gapReads = 16

// gapsOf compares hosts with what their own agents reported: the third leg of the
// reconcile. A host without a report, or with an old one, has no gaps to name.
func gapsOf(ctx context.Context, store vitals.Store, views []ledger.View, clock Clock) ([]ledger.Finding, error) {
	if store == nil {
		return nil, nil
	}
	found, errs := make([][]ledger.Finding, len(views)), make([]error, len(views))
	each(ctx, len(views), gapReads, func(ctx context.Context, i int) {
		ec2 := views[i].Host.Fixed.EC2InstanceID
		if ec2 == "" || views[i].Host.Gone() {
			return
		}
		rec, err := store.Health(ctx, ec2)
		switch {
		case errors.Is(err, ledger.ErrNotFound):
		case err != nil:
			errs[i] = err
		default:
			found[i] = drift.Compare(views[i], reportOf(rec), drift.DefaultPolicy(), clock())
		}
	})
	var out []ledger.Finding
	for _, f := range found {
		out = append(out, f...)
	}
	return out, errors.Join(errs...)
}

func reportOf(rec vitals.Record) drift.Report {
	return drift.Report{HostReport: rec.Report, ReceivedAt: rec.ReceivedAt, Since: rec.Since}
}
