package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/ingest"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

// tierFlags are a deployment's settings of tiers, as flags.
type tierFlags struct {
	rules, byService, byFamily map[string]string
	fallback                   string
}

func (t *tierFlags) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringToStringVar(&t.rules, "tier-rules", nil, "which neighbours a tier accepts on a card: tier=exclusive, same or any")
	fs.StringToStringVar(&t.byService, "tier-by-service", nil, "tier of a service's tasks: service=tier")
	fs.StringToStringVar(&t.byFamily, "tier-by-family", nil, "tier of a task definition family's tasks: family=tier")
	fs.StringVar(&t.fallback, "default-tier", "", "tier of all other tasks (default "+string(gpu.DefaultTier)+")")
}

// read joins the flags with the settings that a deployment's functions have in
// their environment. A flag wins.
func (t *tierFlags) read(env func(string) string) (ingest.Tiers, ledger.Policy, error) {
	tiers := ingest.Tiers{Default: gpu.Tier(t.fallback)}
	policy := ledger.DefaultPolicy()
	if tiers.Default == "" {
		tiers.Default = gpu.Tier(env("BULKHEAD_DEFAULT_TIER"))
	}
	for _, x := range []struct {
		flag, name string
		set        map[string]string
		take       func(name, word string) bool
	}{
		{"--tier-rules", "BULKHEAD_TIER_RULES", t.rules, func(tier, rule string) bool {
			switch r := ledger.TierRule(rule); r {
			case ledger.TierExclusive, ledger.TierOnlySame, ledger.TierAny:
				if policy.Tiers == nil {
					policy.Tiers = map[gpu.Tier]ledger.TierRule{}
				}
				policy.Tiers[gpu.Tier(strings.ToLower(tier))] = r
				return true
			}
			return false
		}},
		{"--tier-by-service", "BULKHEAD_TIER_BY_SERVICE", t.byService, func(name, tier string) bool {
			if tiers.ByService == nil {
				tiers.ByService = map[string]gpu.Tier{}
			}
			tiers.ByService[name] = gpu.Tier(tier)
			return tier != ""
		}},
		{"--tier-by-family", "BULKHEAD_TIER_BY_FAMILY", t.byFamily, func(name, tier string) bool {
			if tiers.ByFamily == nil {
				tiers.ByFamily = map[string]gpu.Tier{}
			}
			tiers.ByFamily[name] = gpu.Tier(tier)
			return tier != ""
		}},
	} {
		for name, word := range x.set {
			if !x.take(name, word) {
				return tiers, policy, useError("%s %s=%s is not understood: a rule is exclusive, same or any, and a tier is a word", x.flag, name, word)
			}
		}
		if x.set != nil {
			continue
		}
		for pair := range strings.SplitSeq(env(x.name), ",") {
			if pair == "" {
				continue
			}
			if name, word, ok := strings.Cut(pair, "="); !ok || !x.take(name, word) {
				return tiers, policy, useError("$%s has %q: write name=word pairs, parted by commas", x.name, pair)
			}
		}
	}
	return tiers, policy, nil
}
