package boot

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/ingest"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

// Config is what the template sets for every function.
type Config struct {
	Table string `env:"BULKHEAD_TABLE,required,notEmpty"`
	// Endpoint overrides DynamoDB's address, for tests and local runs.
	Endpoint string `env:"BULKHEAD_DYNAMODB_ENDPOINT"`
	// Accounts, Regions and Clusters that are watched; empty watches all that come.
	Accounts []string `env:"BULKHEAD_ACCOUNTS" envSeparator:","`
	Regions  []string `env:"BULKHEAD_REGIONS" envSeparator:","`
	Clusters []string `env:"BULKHEAD_CLUSTERS" envSeparator:","`
	// Tiers by service and by family, as name=tier pairs; and the default tier.
	TierByService map[string]string `env:"BULKHEAD_TIER_BY_SERVICE" envSeparator:"," envKeyValSeparator:"="`
	TierByFamily  map[string]string `env:"BULKHEAD_TIER_BY_FAMILY" envSeparator:"," envKeyValSeparator:"="`
	DefaultTier   string            `env:"BULKHEAD_DEFAULT_TIER"`
	// TierRules say which neighbours a tier accepts: tier=exclusive|same|any.
	TierRules map[string]string `env:"BULKHEAD_TIER_RULES" envSeparator:"," envKeyValSeparator:"="`
	LogLevel  slog.Level        `env:"BULKHEAD_LOG_LEVEL" envDefault:"INFO"`
}

// Load reads and validates the configuration.
func Load() (Config, error) {
	c, err := env.ParseAs[Config]()
	if err != nil {
		return c, fmt.Errorf("configuration: %w", err)
	}
	for tier, rule := range c.TierRules {
		switch ledger.TierRule(rule) {
		case ledger.TierExclusive, ledger.TierOnlySame, ledger.TierAny:
		default:
			return c, fmt.Errorf("configuration: BULKHEAD_TIER_RULES gives tier %q the rule %q: use exclusive, same or any", tier, rule)
		}
	}
	for i := range c.Clusters {
		c.Clusters[i] = strings.TrimSpace(c.Clusters[i])
	}
	return c, nil
}

// Scope is which events are believed.
func (c Config) Scope() ingest.Scope {
	return ingest.Scope{Accounts: c.Accounts, Regions: c.Regions, Clusters: c.Clusters}
}

// Tiers is how a task's tier is found.
func (c Config) Tiers() ingest.Tiers {
	return ingest.Tiers{ByService: tiers(c.TierByService), ByFamily: tiers(c.TierByFamily), Default: gpu.Tier(c.DefaultTier)}
}

func tiers(m map[string]string) map[string]gpu.Tier {
	out := map[string]gpu.Tier{}
	for k, v := range m {
		out[k] = gpu.Tier(v)
	}
	return out
}

// Policy is the ledger's.
func (c Config) Policy() ledger.Policy {
	p := ledger.DefaultPolicy()
	p.Tiers = map[gpu.Tier]ledger.TierRule{}
	for k, v := range c.TierRules {
		p.Tiers[gpu.Tier(k)] = ledger.TierRule(v)
	}
	return p
}

// Clock is the wall clock, cut to what the ledger keeps.
func Clock() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

// Wait pauses with jitter before a lost race is decided again.
func Wait(ctx context.Context, attempt int) error {
	top := 10 * time.Millisecond << min(attempt, 6)
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(rand.N(top)): // jitter parts writers that race; no decision hangs on it
		return nil
	}
}
