package memstore

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/placing"
)

// Placements keeps placement requests in memory.
type Placements struct {
	mu   sync.Mutex
	kept map[string]savedPlacement
}

// savedPlacement is a record as bytes, so that nothing is shared with callers, who
// change the copies of a record in place.
type savedPlacement struct {
	revision int64
	body     []byte
}

// NewPlacements makes an empty store.
func NewPlacements() *Placements { return &Placements{kept: map[string]savedPlacement{}} }

// Placement implements placing.Store.
func (s *Placements) Placement(_ context.Context, id string) (placing.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, ok := s.kept[id]
	if !ok {
		return placing.Record{}, ledger.ErrNotFound
	}
	var r placing.Record
	err := json.Unmarshal(old.body, &r)
	r.Revision = old.revision
	return r, err
}

// SavePlacement implements placing.Store.
func (s *Placements) SavePlacement(_ context.Context, r placing.Record) (placing.Record, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return r, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept[r.ID].revision != r.Revision {
		return r, ledger.ErrConflict
	}
	r.Revision++
	s.kept[r.ID] = savedPlacement{r.Revision, body}
	return r, nil
}

var _ placing.Store = (*Placements)(nil)
