package memstore

import (
	"context"
	"slices"
	"strings"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

// ranks are the registrations that are known by one id, each with its rank.
type ranks map[ledger.HostID]string

// Index implements ledger.Store.
func (s *Store) Index(_ context.Context, h ledger.Host) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	rank := h.Rank()
	if ec2 := h.Fixed.EC2InstanceID; ec2 != "" {
		if s.instances[ec2] == nil {
			s.instances[ec2] = ranks{}
		}
		s.instances[ec2][h.ID] = rank
	}
	for _, u := range h.Cards() {
		if s.cards[u] == nil {
			s.cards[u] = ranks{}
		}
		s.cards[u][h.ID] = rank
	}
	return nil
}

// HostsOfInstance implements ledger.Store.
func (s *Store) HostsOfInstance(_ context.Context, ec2 string) ([]ledger.HostID, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.instances[ec2].ordered(), nil
}

// HostOfInstance implements ledger.Store.
func (s *Store) HostOfInstance(_ context.Context, ec2 string) (ledger.HostID, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.instances[ec2].first()
}

// HostOfCard implements ledger.Store.
func (s *Store) HostOfCard(_ context.Context, u gpu.UUID) (ledger.HostID, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cards[u].first()
}

func (r ranks) first() (ledger.HostID, error) {
	if ids := r.ordered(); len(ids) > 0 {
		return ids[0], nil
	}
	return ledger.HostID{}, ledger.ErrNotFound
}

// ordered are the registrations, the first by rank first.
func (r ranks) ordered() []ledger.HostID {
	ids := make([]ledger.HostID, 0, len(r))
	for id := range r {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b ledger.HostID) int { return strings.Compare(r[b], r[a]) })
	return ids
}
