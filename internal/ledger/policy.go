package ledger

import (
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
)

// Policy is what the ledger's laws leave to the operator. The zero value is
// usable: DefaultPolicy fills what is missing.
type Policy struct {
	// TombstoneWindow is how long a stopped task stays in the host's item. An
	// event about a task the host does not know, older than this, must be checked
	// with ECS before it is believed. Negative: tombstones stay for ever, for
	// stores that have no ECS to ask (replay of recorded events).
	TombstoneWindow time.Duration
	// ReservationGrace is how long an expired reservation stays visible.
	ReservationGrace time.Duration
	// MaxClients is the number of MPS client contexts a card admits.
	MaxClients int
	// Tiers says which neighbours a tier accepts; a tier that is not named accepts any.
	Tiers map[gpu.Tier]TierRule
}

// TierRule says which neighbours a tier accepts on one card.
type TierRule string

// The rules, from strict to lenient.
const (
	TierExclusive TierRule = "exclusive" // no neighbour of any other task
	TierOnlySame  TierRule = "same"      // only tasks of the same tier
	TierAny       TierRule = "any"
)

// Keep is the TombstoneWindow that never drops a tombstone.
const Keep time.Duration = -1

// Default windows. Fifteen minutes covers the usual delay of an event many times
// over and keeps the item small; what is later than that is verified.
const (
	DefaultTombstoneWindow  = 15 * time.Minute
	DefaultReservationGrace = 5 * time.Minute
)

// DefaultPolicy is the policy of a fresh installation.
func DefaultPolicy() Policy { return Policy{}.withDefaults() }

func (p Policy) withDefaults() Policy {
	if p.TombstoneWindow == 0 {
		p.TombstoneWindow = DefaultTombstoneWindow
	}
	if p.ReservationGrace == 0 {
		p.ReservationGrace = DefaultReservationGrace
	}
	if p.MaxClients == 0 {
		p.MaxClients = gpu.MaxClients
	}
	return p
}

// TooOldToBelieve reports whether an event of that time, about a task that the
// host does not know, might be from before the task's tombstone was dropped.
func (p Policy) TooOldToBelieve(at, now time.Time) bool {
	p = p.withDefaults()
	return p.TombstoneWindow >= 0 && at.Before(now.Add(-p.TombstoneWindow))
}
