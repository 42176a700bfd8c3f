package placement

import (
	"bytes"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
)

// Neighbours says whom a tier may share a card with.
type Neighbours string

// The three rules of a tier.
const (
	Exclusive Neighbours = "exclusive" // nobody
	Same      Neighbours = "same"      // shares of the same tier
	Any       Neighbours = "any"
)

// TierRule is what the policy says of one tier.
type TierRule struct {
	Neighbours Neighbours `yaml:"neighbours"`
	// Budget is the most that ceilings on a card may promise, in percent; zero
	// is 100. The smallest budget of the tiers on a card counts.
	Budget gpu.Percent `yaml:"computeBudget"`
}

// Policy is the operator's word on placement.
type Policy struct {
	Tiers map[gpu.Tier]TierRule `yaml:"tiers"`
	// Optimistic lets a host be chosen when at least one card keeps the policy;
	// otherwise every card that ECS could pick by memory must.
	Optimistic bool `yaml:"optimistic"`
}

// DefaultPolicy holds with no document: one tier, any neighbours, 100 %.
func DefaultPolicy() Policy {
	return Policy{Tiers: map[gpu.Tier]TierRule{gpu.DefaultTier: {Neighbours: Any, Budget: gpu.FullCompute}}}
}

// MaxPolicyBytes bounds a policy document.
const MaxPolicyBytes = 256 << 10

// MaxBudget bounds oversubscription: 48 clients with no ceiling.
const MaxBudget gpu.Percent = 4800

// ParsePolicy reads a document; unknown keys are refused with their line.
func ParsePolicy(doc []byte) (Policy, error) {
	if len(doc) > MaxPolicyBytes {
		return Policy{}, fmt.Errorf("policy: %d bytes, at most %d", len(doc), MaxPolicyBytes)
	}
	var p Policy
	d := yaml.NewDecoder(bytes.NewReader(doc))
	d.KnownFields(true)
	if err := d.Decode(&p); err != nil {
		return Policy{}, fmt.Errorf("policy: %w", err)
	}
	if len(p.Tiers) == 0 {
		return Policy{}, fmt.Errorf("policy: tiers: name at least one")
	}
	names := make([]gpu.Tier, 0, len(p.Tiers))
	for t := range p.Tiers {
		names = append(names, t)
	}
	slices.Sort(names)
	for _, t := range names {
		r := p.Tiers[t]
		switch r.Neighbours {
		case Exclusive, Same, Any:
		default:
			return Policy{}, fmt.Errorf("policy: tiers.%s.neighbours: %q is not exclusive, same or any", t, r.Neighbours)
		}
		if t == "" || len(t) > gpu.MaxTierLen || r.Budget < 0 || r.Budget > MaxBudget {
			return Policy{}, fmt.Errorf("policy: tiers.%s: a name has 1 to %d characters, computeBudget is 1 to %d", t, gpu.MaxTierLen, MaxBudget)
		}
		if r.Neighbours == Exclusive && r.Budget > gpu.FullCompute {
			return Policy{}, fmt.Errorf("policy: tiers.%s: ExclusiveOversubscribed: an exclusive tier has no neighbours to oversubscribe with", t)
		}
		r.Budget = r.Budget.OrFull()
		p.Tiers[t] = r
	}
	return p, nil
}
