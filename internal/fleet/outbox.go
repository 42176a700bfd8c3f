package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

// Image is one change of a host as the table's stream brings it: the two images
// and when it was written.
type Image struct {
	Before ledger.Host // zero when the host is new
	After  ledger.Host // zero when it was removed
	At     time.Time
}

// Bus publishes what changed. Publishing the same change twice is allowed: its
// id is the same, and consumers drop doubles by it.
type Bus interface {
	Publish(ctx context.Context, ps []Published) error
}

// Published is one domain event.
type Published struct {
	// ID is the same whenever the same change is published again.
	ID     string
	Host   ledger.HostID
	EC2    string
	At     time.Time
	Change ledger.Change
}

// Outbox tells the world what the table's stream says: it appends the journal and
// publishes the changes. The stream is the only source, so table, journal and bus
// cannot disagree; brought twice, it does the same again and nothing doubles.
type Outbox struct {
	Store  ledger.Store
	Bus    Bus // optional
	Policy ledger.Policy
}

// Batch handles stream records in their order. The journal is written first: a
// crash between the two brings the records again.
func (o *Outbox) Batch(ctx context.Context, images []Image) error {
	var entries []ledger.Entry
	var out []Published
	last := map[ledger.HostID]int{}
	for _, im := range images {
		h := im.After
		if h.Revision == 0 {
			h = im.Before
		}
		if IsOrphanage(h.ID.Cluster) {
			continue
		}
		if o.Bus != nil {
			out = append(out, o.changes(h, im)...)
		}
		e := ledger.Entry{Host: h.ID, At: im.At, Revision: h.Revision, Image: im.After}
		// One entry a host and batch is enough to answer what stood there; images
		// between are milliseconds apart.
		if i, ok := last[h.ID]; ok && entries[i].At.Truncate(time.Second).Equal(e.At.Truncate(time.Second)) {
			entries[i] = e
			continue
		}
		last[h.ID] = len(entries)
		entries = append(entries, e)
	}
	if err := o.Store.Record(ctx, entries); err != nil {
		return fmt.Errorf("append the journal: %w", err)
	}
	if len(out) == 0 {
		return nil
	}
	if err := o.Bus.Publish(ctx, out); err != nil {
		return errors.Join(fmt.Errorf("publish %d changes", len(out)), err)
	}
	return nil
}

// changes are what is published of one image.
func (o *Outbox) changes(h ledger.Host, im Image) (out []Published) {
	for n, c := range ledger.Diff(im.Before, im.After, o.Policy, im.At) {
		out = append(out, Published{ID: fmt.Sprintf("%s/%d/%d", h.ID.Instance, h.Revision, n),
			Host: h.ID, EC2: h.Fixed.EC2InstanceID, At: im.At, Change: c})
	}
	return out
}
