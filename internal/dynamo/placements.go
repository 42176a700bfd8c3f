package dynamo

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/bulkhead-ecs/bulkhead/internal/placing"
)

const placementSK = "placement"

// placementKey is a partition of its own for each request, so that a permission can
// name the prefix and no partition grows hot.
func placementKey(id string) key { return key{"placement#" + id, placementSK} }

// Placement implements placing.Store.
func (s *Store) Placement(ctx context.Context, id string) (placing.Record, error) {
	var r placing.Record
	item, err := s.strong(ctx, placementKey(id))
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal([]byte(textOf(item[attrJ])), &r); err != nil {
		return r, fmt.Errorf("placement %s: %w", id, err)
	}
	r.Revision, err = revisionOf(item)
	return r, err
}

// SavePlacement implements placing.Store. The item expires with its client token.
func (s *Store) SavePlacement(ctx context.Context, r placing.Record) (placing.Record, error) {
	next := r
	next.Revision++
	item := placementKey(r.ID).item()
	item[attrTTL] = number(r.Until().Unix())
	if err := s.fenced(ctx, item, r.Revision, next); err != nil {
		return r, err
	}
	return next, nil
}

var _ placing.Store = (*Store)(nil)
