package memstore

import (
	"context"
	"slices"

	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/sizing"
)

type usageKey struct{ cluster, ec2 string }

// Usage implements sizing.Store.
func (s *Store) Usage(_ context.Context, cluster, ec2 string) (sizing.Usage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u, ok := s.usages[usageKey{cluster, ec2}]
	if !ok {
		return u, ledger.ErrNotFound
	}
	return u, nil
}

// SaveUsage implements sizing.Store.
func (s *Store) SaveUsage(_ context.Context, u sizing.Usage) (sizing.Usage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := usageKey{u.Cluster, u.EC2}
	old, ok := s.usages[k]
	if ok != (u.Revision > 0) || ok && old.Revision != u.Revision {
		return u, ledger.ErrConflict
	}
	u.Revision++
	if s.usages == nil {
		s.usages = map[usageKey]sizing.Usage{}
	}
	s.usages[k] = u
	return u, nil
}

// Usages implements sizing.Store.
func (s *Store) Usages(_ context.Context, cluster, after string) ([]sizing.Usage, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []string
	for k := range s.usages {
		if k.cluster == cluster && k.ec2 > after {
			ids = append(ids, k.ec2)
		}
	}
	slices.Sort(ids)
	next := ""
	if len(ids) > s.PageSize {
		ids = ids[:s.PageSize]
		next = ids[len(ids)-1]
	}
	var out []sizing.Usage
	for _, id := range ids {
		out = append(out, s.usages[usageKey{cluster, id}])
	}
	return out, next, nil
}

var _ sizing.Store = (*Store)(nil)
