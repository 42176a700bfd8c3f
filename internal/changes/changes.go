// Package changes tells what a store committed, as DynamoDB's stream does: for
// stores that have no stream. It decorates any ledger.Store.
package changes

import (
	"context"
	"errors"
	"sync"

	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

// Store tells every commit and removal of a host to a listener, with both images,
// in the order of the commits of each host.
type Store struct {
	ledger.Store
	tell func(before, after ledger.Host)
	mu   sync.Mutex
}

// Notify decorates a store. The listener is called inside the commit and must not
// call the store's Commit itself.
func Notify(s ledger.Store, tell func(before, after ledger.Host)) *Store {
	return &Store{Store: s, tell: tell}
}

// Commit commits, then tells.
func (s *Store) Commit(ctx context.Context, h ledger.Host) (ledger.Host, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, err := s.Host(ctx, h.ID)
	if err != nil && !errors.Is(err, ledger.ErrNotFound) {
		return h, err
	}
	after, err := s.Store.Commit(ctx, h)
	if err == nil {
		s.tell(before, after)
	}
	return after, err
}

// Remove removes, then tells.
func (s *Store) Remove(ctx context.Context, h ledger.Host) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, err := s.Host(ctx, h.ID)
	if err != nil && !errors.Is(err, ledger.ErrNotFound) {
		return err
	}
	if err := s.Store.Remove(ctx, h); err != nil {
		return err
	}
	s.tell(before, ledger.Host{})
	return nil
}
