package placing

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

func cardOf(shares ...ledger.Share) ledger.View {
	for i := range shares {
		s := &shares[i]
		s.State, s.Sized = ledger.StateBound, true
		if s.TaskARN == "" {
			s.TaskARN = fmt.Sprintf("t%d", i)
		}
		if s.Group == "" {
			s.Group = "service:x"
		}
	}
	return ledger.View{Devices: []ledger.Device{{UUID: "GPU-1", Shares: shares}}}
}

func share(tier gpu.Tier, compute gpu.Percent, memory gpu.MiB) ledger.Share {
	return ledger.Share{Tier: tier, Compute: compute, Memory: memory}
}

func TestABreachIsNamedAndTheLeastTaskThatHealsItIsChosen(t *testing.T) {
	spare := map[string]Service{"service:x": {Running: 9, Desired: 9, MinimumPercent: 50}}
	stopping := cardOf(share("a", 60, 100), share("a", 60, 100))
	stopping.Devices[0].Shares[1].State = ledger.StateReleasing
	twins := cardOf(share("a", 60, 100), share("a", 30, 100))
	twins.Devices[0].Shares[1].TaskARN = "t0"
	for name, c := range map[string]struct {
		view     ledger.View
		kinds    string
		task     string
		heals    bool
		prot     map[string]bool
		services map[string]Service
		blocked  string
	}{
		"within the budget":              {view: cardOf(share("a", 60, 1), share("a", 40, 1))},
		"one is on its way out":          {view: stopping},
		"containers of one task":         {view: twins},
		"the budget of the strictest":    {view: cardOf(share("b", 60, 1), share("b", 60, 1)), services: spare},
		"too much compute":               {view: cardOf(share("a", 60, 500), share("a", 30, 200), share("a", 30, 100)), kinds: "ComputeBudgetExceeded", task: "t2", heals: true, services: spare},
		"the least would not heal it":    {view: cardOf(share("a", 60, 500), share("a", 70, 200), share("a", 30, 100)), kinds: "ComputeBudgetExceeded", task: "t0", heals: true, services: spare},
		"tiers that may not meet":        {view: cardOf(share("a", 10, 1), share("b", 20, 1)), kinds: "TierConflict", task: "t0", heals: true, services: spare},
		"a protected one is left":        {view: cardOf(share("a", 60, 500), share("a", 30, 200), share("a", 30, 100)), kinds: "ComputeBudgetExceeded", task: "t1", heals: true, prot: map[string]bool{"t2": true}, services: spare},
		"a service with none to spare":   {view: cardOf(share("a", 60, 5), share("a", 60, 2)), kinds: "ComputeBudgetExceeded", services: map[string]Service{"service:x": {Running: 2, Desired: 2, MinimumPercent: 100}}, blocked: "2 belong to a service with none to spare"},
		"tasks that nobody starts again": {view: cardOf(share("a", 60, 5), share("a", 60, 2)), kinds: "ComputeBudgetExceeded", blocked: "2 belong to no service"},
	} {
		t.Run(name, func(t *testing.T) {
			got := Breaches(c.view, tiers(false))
			if c.kinds == "" {
				if len(got) > 0 {
					t.Fatalf("%+v", got)
				}
				return
			}
			if len(got) != 1 || strings.Join(got[0].Kinds, " ") != c.kinds || got[0].Text == "" {
				t.Fatalf("%+v", got)
			}
			cure := CureOf(got[0], c.view, tiers(false), c.prot, c.services)
			if cure.Task != c.task || cure.Heals != c.heals || !strings.Contains(cure.Blocked, c.blocked) || (cure.Blocked == "") != (c.blocked == "") {
				t.Errorf("%+v", cure)
			}
		})
	}
}
