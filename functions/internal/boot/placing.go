package boot

import (
	"fmt"
	"os"

	"github.com/bulkhead-ecs/bulkhead/internal/fleet"
	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/placement"
)

// Placement is the policy of placement: the document in BULKHEAD_PLACEMENT_POLICY, or,
// without one, the tiers that the rest of the configuration names, each with its rule.
func (c Config) Placement() (placement.Policy, error) {
	if doc := os.Getenv("BULKHEAD_PLACEMENT_POLICY"); doc != "" {
		p, err := placement.ParsePolicy([]byte(doc))
		if err != nil {
			return p, fmt.Errorf("configuration: BULKHEAD_PLACEMENT_POLICY: %w", err)
		}
		return p, nil
	}
	p := placement.DefaultPolicy()
	name := func(t string) {
		if _, ok := p.Tiers[gpu.Tier(t)]; !ok && t != "" {
			p.Tiers[gpu.Tier(t)] = placement.TierRule{Neighbours: placement.Any, Budget: gpu.FullCompute}
		}
	}
	name(c.DefaultTier)
	for _, m := range []map[string]string{c.TierByService, c.TierByFamily} {
		for _, t := range m {
			name(t)
		}
	}
	for t, rule := range c.TierRules {
		p.Tiers[gpu.Tier(t)] = placement.TierRule{Neighbours: placement.Neighbours(rule), Budget: gpu.FullCompute}
	}
	return p, nil
}

// TierOf finds the tier of a definition, as ingest does of its tasks.
func (c Config) TierOf(group string, d ledger.Definition) gpu.Tier {
	return c.Tiers().Of(group, d.ARN, d)
}

// SteerMode is whether attributes are written on hosts.
func SteerMode() (fleet.SteerMode, error) {
	switch m := fleet.SteerMode(os.Getenv("BULKHEAD_STEER_MODE")); m {
	case "":
		return fleet.SteerObserve, nil
	case fleet.SteerObserve, fleet.SteerRecommend, fleet.SteerAct, fleet.SteerRemove:
		return m, nil
	default:
		return m, fmt.Errorf("configuration: BULKHEAD_STEER_MODE is %q: use observe, recommend, act or remove", m)
	}
}
