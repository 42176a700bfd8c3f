package boot

import (
	"strings"
	"testing"

	"github.com/bulkhead-ecs/bulkhead/internal/fleet"
	"github.com/bulkhead-ecs/bulkhead/internal/placement"
)

func TestThePlacementPolicyFollowsTheTiersUnlessADocumentSaysMore(t *testing.T) {
	t.Setenv("BULKHEAD_PLACEMENT_POLICY", "")
	c := Config{DefaultTier: "standard", TierByService: map[string]string{"chat": "critical"}, TierRules: map[string]string{"critical": "same", "train": "exclusive"}}
	p, err := c.Placement()
	if err != nil || len(p.Tiers) != 3 || p.Tiers["critical"].Neighbours != placement.Same || p.Tiers["train"].Neighbours != placement.Exclusive {
		t.Errorf("%v %+v", err, p)
	}
	t.Setenv("BULKHEAD_PLACEMENT_POLICY", `{"tiers": {"gold": {"neighbours": "same", "computeBudget": 150}}}`)
	if p, err = c.Placement(); err != nil || len(p.Tiers) != 1 || p.Tiers["gold"].Budget != 150 {
		t.Errorf("%v %+v", err, p)
	}
	t.Setenv("BULKHEAD_PLACEMENT_POLICY", `{"tires": {}}`)
	if _, err = c.Placement(); err == nil || !strings.Contains(err.Error(), "BULKHEAD_PLACEMENT_POLICY") {
		t.Error(err)
	}
}

func TestSteeringObservesUnlessToldOtherwise(t *testing.T) {
	for env, want := range map[string]fleet.SteerMode{"": fleet.SteerObserve, "act": fleet.SteerAct, "remove": fleet.SteerRemove} {
		t.Setenv("BULKHEAD_STEER_MODE", env)
		if m, err := SteerMode(); err != nil || m != want {
			t.Errorf("%q: %v %v", env, m, err)
		}
	}
	t.Setenv("BULKHEAD_STEER_MODE", "on")
	if _, err := SteerMode(); err == nil {
		t.Error("an unknown mode is taken")
	}
}
