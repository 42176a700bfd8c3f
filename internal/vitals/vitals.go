// Package vitals is what is kept of one instance's health: its newest report, what
// is remembered between assessments, and the verdict. It holds the record and the
// port of its store; what the record means is package health's.
package vitals

import (
	"context"
	"time"

	"github.com/bulkhead-ecs/bulkhead/events"
	"github.com/bulkhead-ecs/bulkhead/internal/health"
)

// Record is one instance's. It is a plain value, stored whole.
type Record struct {
	EC2        string
	Revision   int64 // the store's fence, as in ledger.Host
	BootID     string
	Sequence   uint64 // highest accepted of BootID
	ReceivedAt time.Time
	Report     events.HostReport
	State      health.State
	Verdict    health.Verdict
	// Since is when each standing gap between report and ledger was first seen, by
	// drift.Key.
	Since map[string]time.Time `json:",omitempty"`
}

// Store keeps one record an instance, under the same rules as ledger.Store:
// ledger.ErrNotFound, and ledger.ErrConflict when the revision moved on.
type Store interface {
	Health(ctx context.Context, ec2 string) (Record, error)
	SaveHealth(ctx context.Context, r Record) (Record, error)
}
