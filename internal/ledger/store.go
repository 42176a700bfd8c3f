package ledger

import (
	"context"
	"errors"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
)

// Errors of a Store. Every implementation wraps these; callers compare with
// errors.Is and decide: not found is an answer, a conflict is loaded and decided
// again (bounded), a throttle is retried later by the caller's own carrier.
var (
	ErrNotFound  = errors.New("not found")
	ErrConflict  = errors.New("revision moved on: load and decide again")
	ErrThrottled = errors.New("store throttled: try again later")
	// ErrNewerSchema: the item was written by a newer release; this one must not
	// write it.
	ErrNewerSchema = errors.New("item has a newer schema: upgrade this function before it writes")
	// ErrTooLarge: the host does not fit in one item.
	ErrTooLarge = errors.New("host too large for one item")
	ErrCursor   = errors.New("not a cursor of this listing: start again without one")
)

// Store keeps the ledger. ledgertest.Run is its contract; every implementation
// passes it.
type Store interface {
	// Host reads one host with the newest state (strongly consistent). ErrNotFound.
	Host(ctx context.Context, id HostID) (Host, error)
	// Commit writes the host whole if the store still holds h.Revision (zero: holds
	// none) and returns it with the next revision. ErrConflict otherwise. A lost
	// reply followed by the same call is ErrConflict: the caller loads and sees its
	// own work done.
	Commit(ctx context.Context, h Host) (Host, error)
	// Remove deletes the host under the same condition.
	Remove(ctx context.Context, h Host) error
	// Hosts lists a cluster's hosts ordered by instance ARN; it may lag a commit.
	// limit 0 is the store's own page. An empty next ends the listing.
	Hosts(ctx context.Context, cluster string, after Cursor, limit int) (hosts []Host, next Cursor, err error)
	// Clusters lists the clusters that have, or had, a host.
	Clusters(ctx context.Context) ([]string, error)

	// Index remembers by which ids a host is found: its EC2 instance and its cards.
	// It is called before the commit that makes them true: an index that points to
	// nothing is harmless. Every registration keeps entries of its own, so that no
	// late word of an ended one hides a living one. Remove drops the host's entries.
	Index(ctx context.Context, h Host) error
	// HostsOfInstance are the registrations of an instance, the first by Rank first;
	// none is no error.
	HostsOfInstance(ctx context.Context, ec2 string) ([]HostID, error)
	// HostOfInstance and HostOfCard find the host of an id that is first by Rank.
	// ErrNotFound.
	HostOfInstance(ctx context.Context, ec2 string) (HostID, error)
	HostOfCard(ctx context.Context, card gpu.UUID) (HostID, error)

	// Definition reads a cached task definition. ErrNotFound.
	Definition(ctx context.Context, arn string) (Definition, error)
	SaveDefinition(ctx context.Context, d Definition) error

	// Record appends journal entries; recording one twice leaves one.
	Record(ctx context.Context, entries []Entry) error
	// Journal lists a host's entries with from <= At < to, oldest first.
	Journal(ctx context.Context, id HostID, from, to time.Time, after Cursor) (entries []Entry, next Cursor, err error)
}

// Cursor is an opaque place in a listing.
type Cursor string

// Entry is one line of the journal: the image of a host after a commit. The
// newest one at or before a time answers what stood there then.
type Entry struct {
	Host     HostID
	At       time.Time // when the image was committed
	Revision int64
	Image    Host
}
