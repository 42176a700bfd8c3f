package placing

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/placement"
)

// Breach is a card on which bound shares stand against the policy: ECS chose it, or the
// policy changed since.
type Breach struct {
	Host   ledger.HostID
	Device gpu.UUID
	// Kinds are ComputeBudgetExceeded and TierConflict, in this order.
	Kinds []string
	Text  string
}

// Service is what is known of a service when a task of it might be stopped.
type Service struct {
	Running, Desired int
	// MinimumPercent of Desired must go on running while a task is replaced.
	MinimumPercent int
}

// spares reports whether one more task may stop.
func (s Service) spares() bool {
	least := (s.Desired*s.MinimumPercent + 99) / 100
	return s.Running-1 >= least
}

// Cure is the least disruptive step against a breach: one task to be stopped and placed
// again, or why none may be.
type Cure struct {
	Breach Breach
	Task   string // ARN; empty when Blocked says why not
	Why    string
	// Heals is true when the card keeps the policy once the task has gone.
	Heals   bool
	Blocked string
}

// Breaches finds the cards of a host that stand against the policy. Shares that are on
// their way out count no more: they heal by themselves.
func Breaches(v ledger.View, p placement.Policy) []Breach {
	var out []Breach
	for _, d := range v.Devices {
		if d.Vanished {
			continue
		}
		if kinds, text := against(bound(d), p); len(kinds) > 0 {
			out = append(out, Breach{v.Host.ID, d.UUID, kinds, text})
		}
	}
	return out
}

func bound(d ledger.Device) []ledger.Share {
	var out []ledger.Share
	for _, s := range d.Shares {
		if s.State == ledger.StateBound {
			out = append(out, s)
		}
	}
	return out
}

// against says which rules the shares of one card break together. Containers of one task
// are no neighbours of each other, and a tier that the policy does not name accepts any.
func against(shares []ledger.Share, p placement.Policy) (kinds []string, text string) {
	budget, sum := gpu.Percent(0), gpu.Percent(0)
	conflict := ""
	for i, a := range shares {
		rule := p.Tiers[a.Tier]
		if b := rule.Budget.OrFull(); i == 0 || b < budget {
			budget = b
		}
		sum = sum.Add(a.Compute.OrFull())
		for _, b := range shares[:i] {
			if a.TaskARN != b.TaskARN && (apart(rule, a.Tier, b.Tier) || apart(p.Tiers[b.Tier], b.Tier, a.Tier)) {
				conflict = fmt.Sprintf("%s beside %s", a.Tier, b.Tier)
			}
		}
	}
	if sum > budget {
		kinds, text = append(kinds, "ComputeBudgetExceeded"), fmt.Sprintf("ceilings promise %d of %d percent", sum, budget)
	}
	if conflict != "" {
		kinds = append(kinds, "TierConflict")
		if text != "" {
			text += "; "
		}
		text += conflict
	}
	return kinds, text
}

func apart(r placement.TierRule, mine, theirs gpu.Tier) bool {
	return r.Neighbours == placement.Exclusive || r.Neighbours == placement.Same && mine != theirs
}

// CureOf chooses the task to stop on a breached card: one that may be stopped, that heals
// the card by itself, that promises the least compute and holds the least memory. A task
// that is protected, that no service would start again, or whose service has none to
// spare, may not.
func CureOf(b Breach, v ledger.View, p placement.Policy, protected map[string]bool, services map[string]Service) Cure {
	i := slices.IndexFunc(v.Devices, func(d ledger.Device) bool { return d.UUID == b.Device })
	if i < 0 {
		return Cure{Breach: b, Blocked: "the card is gone"}
	}
	shares := bound(v.Devices[i])
	c := Cure{Breach: b}
	var may []candidate
	count := map[string]int{}
	for _, t := range tasksOf(shares) {
		if why := held(t, protected, services); why != "" {
			count[why]++
			continue
		}
		kinds, _ := against(slices.DeleteFunc(slices.Clone(shares), func(s ledger.Share) bool { return s.TaskARN == t.task }), p)
		t.heals = len(kinds) == 0
		may = append(may, t)
	}
	if len(may) == 0 {
		c.Blocked = fmt.Sprintf("of %d tasks on the card %d are protected, %d belong to no service, %d belong to a service with none to spare",
			len(tasksOf(shares)), count["protected"], count["standalone"], count["minimum"])
		return c
	}
	best := slices.MinFunc(may, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(rank(b.heals), rank(a.heals)), cmp.Compare(a.compute, b.compute), cmp.Compare(a.memory, b.memory), cmp.Compare(a.task, b.task))
	})
	c.Task, c.Heals = best.task, best.heals
	c.Why = fmt.Sprintf("%s of %s: it promises %d percent and holds %s, the least of %d that may be stopped", best.task, best.group, best.compute, best.memory, len(may))
	return c
}

func rank(b bool) int {
	if b {
		return 1
	}
	return 0
}

// candidate is one task of a card.
type candidate struct {
	task, group string
	compute     gpu.Percent
	memory      gpu.MiB
	heals       bool
}

func tasksOf(shares []ledger.Share) []candidate {
	var out []candidate
	for _, s := range shares {
		i := slices.IndexFunc(out, func(c candidate) bool { return c.task == s.TaskARN })
		if i < 0 {
			out = append(out, candidate{task: s.TaskARN, group: s.Group})
			i = len(out) - 1
		}
		out[i].compute = out[i].compute.Add(s.Compute.OrFull())
		out[i].memory = out[i].memory.Add(s.Memory)
	}
	return out
}

// held says why a task may not be stopped, empty when it may.
func held(t candidate, protected map[string]bool, services map[string]Service) string {
	s, ok := services[t.group]
	switch {
	case protected[t.task]:
		return "protected"
	case !ok:
		return "standalone"
	case !s.spares():
		return "minimum"
	}
	return ""
}
