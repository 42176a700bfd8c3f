package ingest

import (
	"strings"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

// TierTag is the tag or docker label that names a task definition's tier.
const TierTag = "bulkhead:tier"

// Tiers says which tier a task has: its definition's tag or label, else a mapping
// by service, else by family, else the default.
type Tiers struct {
	ByService map[string]gpu.Tier // service name → tier
	ByFamily  map[string]gpu.Tier // task definition family → tier
	Default   gpu.Tier            // empty: gpu.DefaultTier
}

// Of finds the tier of a task.
func (t Tiers) Of(group, definitionARN string, d ledger.Definition) gpu.Tier {
	if tag, ok := cleanTier(d.TierTag); ok {
		return tag
	}
	if name, ok := strings.CutPrefix(group, "service:"); ok {
		if tier, ok := t.ByService[name]; ok {
			return tier
		}
	}
	if tier, ok := t.ByFamily[Family(definitionARN)]; ok {
		return tier
	}
	if t.Default != "" {
		return t.Default
	}
	return gpu.DefaultTier
}

// cleanTier accepts a short word of letters, digits, dash and underscore: a tier
// is shown, counted and compared, so it must not carry anything else.
func cleanTier(s string) (gpu.Tier, bool) {
	if s == "" || len(s) > gpu.MaxTierLen {
		return "", false
	}
	for _, r := range s {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_':
		default:
			return "", false
		}
	}
	return gpu.Tier(strings.ToLower(s)), true
}

// Family is the family in a task definition ARN or family:revision.
func Family(arn string) string {
	if i := strings.LastIndexByte(arn, '/'); i >= 0 {
		arn = arn[i+1:]
	}
	if i := strings.LastIndexByte(arn, ':'); i >= 0 {
		arn = arn[:i]
	}
	return arn
}
