package memstore

import (
	"context"

	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/vitals"
)

// Health implements vitals.Store.
func (s *Store) Health(_ context.Context, ec2 string) (vitals.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.health[ec2]
	if !ok {
		return r, ledger.ErrNotFound
	}
	return r, nil
}

// SaveHealth implements vitals.Store.
func (s *Store) SaveHealth(_ context.Context, r vitals.Record) (vitals.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, ok := s.health[r.EC2]
	if ok != (r.Revision > 0) || ok && old.Revision != r.Revision {
		return r, ledger.ErrConflict
	}
	r.Revision++
	s.health[r.EC2] = r
	return r, nil
}

var _ vitals.Store = (*Store)(nil)
