package boot

import (
	"strings"
	"testing"

	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

func TestTheConfigurationIsReadOnceAndRefusedWithASentence(t *testing.T) {
	for name, c := range map[string]struct {
		env  map[string]string
		want string
	}{
		"no table":       {map[string]string{}, "BULKHEAD_TABLE"},
		"unknown rule":   {map[string]string{"BULKHEAD_TABLE": "t", "BULKHEAD_TIER_RULES": "critical=alone"}, "use exclusive, same or any"},
		"unknown level":  {map[string]string{"BULKHEAD_TABLE": "t", "BULKHEAD_LOG_LEVEL": "loud"}, "LogLevel"},
		"pairs not read": {map[string]string{"BULKHEAD_TABLE": "t", "BULKHEAD_TIER_BY_SERVICE": "chat"}, "TierByService"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("BULKHEAD_TABLE", "")
			for k, v := range c.env {
				t.Setenv(k, v)
			}
			if _, err := Load(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want something about %s", err, c.want)
			}
		})
	}
}

func TestWhatTheTemplateSetsIsWhatIsUsed(t *testing.T) {
	for k, v := range map[string]string{"BULKHEAD_TABLE": "t", "BULKHEAD_ACCOUNTS": "111122223333", "BULKHEAD_REGIONS": "us-east-1", "BULKHEAD_CLUSTERS": "a,b",
		"BULKHEAD_TIER_BY_SERVICE": "chat=critical,batch=low", "BULKHEAD_TIER_RULES": "critical=same", "BULKHEAD_DEFAULT_TIER": "standard"} {
		t.Setenv(k, v)
	}
	c, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Tiers().Of("service:batch", "", ledger.Definition{}); got != "low" {
		t.Errorf("tier %s", got)
	}
	if c.Policy().Tiers["critical"] != ledger.TierOnlySame || len(c.Scope().Clusters) != 2 || c.Policy().TombstoneWindow != ledger.DefaultTombstoneWindow {
		t.Errorf("%+v %+v", c.Policy(), c.Scope())
	}
}

func TestEmptyParametersOfTheTemplateMeanNothingIsSet(t *testing.T) {
	for _, k := range []string{"BULKHEAD_CLUSTERS", "BULKHEAD_TIER_BY_SERVICE", "BULKHEAD_TIER_RULES", "BULKHEAD_DEFAULT_TIER"} {
		t.Setenv(k, "")
	}
	t.Setenv("BULKHEAD_TABLE", "t")
	c, err := Load()
	if err != nil || len(c.Scope().Clusters) != 0 || len(c.TierByService) != 0 {
		t.Errorf("%v %+v", err, c)
	}
}
