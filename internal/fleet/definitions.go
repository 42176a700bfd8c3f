package fleet

import (
	"context"
	"errors"
	"sync"

	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

// DefinitionCache remembers task definitions: in memory while the process is
// warm, in the store for the next one. A revision is immutable, so what was once
// read stays true, and ECS is asked once for each.
type DefinitionCache struct {
	Store  ledger.Store
	Source Definitions // optional: without, only the store is asked
	// Max bounds the memory; 0 is DefaultDefinitions.
	Max int

	mu   sync.Mutex
	byID map[string]ledger.Definition
}

// DefaultDefinitions is how many definitions a warm process keeps, at a few
// hundred bytes each.
const DefaultDefinitions = 4096

// Definition answers from memory, the store, or the source, in this order.
func (c *DefinitionCache) Definition(ctx context.Context, arn string) (ledger.Definition, error) {
	c.mu.Lock()
	d, ok := c.byID[arn]
	c.mu.Unlock()
	if ok {
		return d, nil
	}
	d, err := c.Store.Definition(ctx, arn)
	switch {
	case err == nil:
		c.keep(d)
		return d, nil
	case !errors.Is(err, ledger.ErrNotFound):
		return d, err
	case c.Source == nil:
		return d, err
	}
	if d, err = c.Source.Definition(ctx, arn); err != nil {
		return d, err
	}
	c.keep(d)
	return d, c.Store.SaveDefinition(ctx, d)
}

func (c *DefinitionCache) keep(d ledger.Definition) {
	c.mu.Lock()
	defer c.mu.Unlock()
	limit := c.Max
	if limit == 0 {
		limit = DefaultDefinitions
	}
	if c.byID == nil || len(c.byID) >= limit {
		c.byID = map[string]ledger.Definition{} // rare; a cold start costs one read each
	}
	c.byID[d.ARN] = d
}

var _ Definitions = (*DefinitionCache)(nil)
