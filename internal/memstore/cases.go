package memstore

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/remediate"
)

// Cases is a remediate.Store in memory.
type Cases struct {
	mu        sync.Mutex
	cases     map[string]map[string]remediate.Record // cluster → id
	controls  map[string]remediate.Control
	decisions map[string][]remediate.Decision // cluster → by id
	// PageSize is how many decisions one page holds.
	PageSize int
}

// NewCases makes an empty store.
func NewCases() *Cases {
	return &Cases{cases: map[string]map[string]remediate.Record{}, controls: map[string]remediate.Control{},
		decisions: map[string][]remediate.Decision{}, PageSize: 250}
}

// copied makes a value that shares nothing with v: what is handed out may be changed
// by who got it.
func copied[T any](v T) T {
	var out T
	b, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		return v // only for types that JSON cannot hold, which these are not
	}
	return out
}

// Cases implements remediate.Store.
func (s *Cases) Cases(_ context.Context, cluster string) ([]remediate.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []remediate.Record
	for _, r := range s.cases[cluster] {
		out = append(out, copied(r))
	}
	slices.SortFunc(out, func(a, b remediate.Record) int { return cmp.Compare(a.Case.ID, b.Case.ID) })
	return out, nil
}

// Case implements remediate.Store.
func (s *Cases) Case(_ context.Context, cluster, id string) (remediate.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.cases[cluster][id]
	if !ok {
		return r, ledger.ErrNotFound
	}
	return copied(r), nil
}

// SaveCase implements remediate.Store.
func (s *Cases) SaveCase(_ context.Context, r remediate.Record) (remediate.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, ok := s.cases[r.Cluster][r.Case.ID]
	if ok != (r.Case.Version > 0) || ok && old.Case.Version != r.Case.Version {
		return r, ledger.ErrConflict
	}
	r = copied(r)
	r.Case.Version++
	if s.cases[r.Cluster] == nil {
		s.cases[r.Cluster] = map[string]remediate.Record{}
	}
	s.cases[r.Cluster][r.Case.ID] = r
	return copied(r), nil
}

// Control implements remediate.Store.
func (s *Cases) Control(_ context.Context, cluster string) (remediate.Control, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.controls[cluster]
	c.Cluster = cluster
	return copied(c), nil
}

// SaveControl implements remediate.Store.
func (s *Cases) SaveControl(_ context.Context, c remediate.Control) (remediate.Control, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.controls[c.Cluster].Revision != c.Revision {
		return c, ledger.ErrConflict
	}
	c = copied(c)
	c.Revision++
	s.controls[c.Cluster] = c
	return copied(c), nil
}

// NoteDecision implements remediate.Store.
func (s *Cases) NoteDecision(_ context.Context, d remediate.Decision) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.decisions[d.Cluster]
	i, found := slices.BinarySearchFunc(list, d.ID, func(x remediate.Decision, id string) int { return strings.Compare(x.ID, id) })
	if found {
		list[i] = copied(d)
		return nil
	}
	s.decisions[d.Cluster] = slices.Insert(list, i, copied(d))
	return nil
}

// Decision implements remediate.Store.
func (s *Cases) Decision(_ context.Context, cluster, id string) (remediate.Decision, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.decisions[cluster] {
		if d.ID == id {
			return copied(d), nil
		}
	}
	return remediate.Decision{}, ledger.ErrNotFound
}

// Decisions implements remediate.Store.
func (s *Cases) Decisions(_ context.Context, cluster string, after ledger.Cursor, limit int) ([]remediate.Decision, ledger.Cursor, error) {
	last, err := place(after)
	if err != nil {
		return nil, "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if limit <= 0 || limit > s.PageSize {
		limit = s.PageSize
	}
	var out []remediate.Decision
	list := s.decisions[cluster]
	for i := len(list) - 1; i >= 0; i-- {
		if last != "" && list[i].ID >= last {
			continue
		}
		if len(out) == limit {
			return out, cursor(out[len(out)-1].ID), nil
		}
		out = append(out, copied(list[i]))
	}
	return out, "", nil
}

var _ remediate.Store = (*Cases)(nil)
