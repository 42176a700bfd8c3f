package sizing

import (
	"cmp"
	"slices"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
)

// Wanted is a service with the number of tasks to carry.
type Wanted struct {
	Service
	Count int `json:"count"`
}

// MaxWanted bounds the tasks of a mix.
const MaxWanted = 100_000

// Plan is what one instance type takes to carry a mix.
type Plan struct {
	InstanceType
	Shapes    []Shaped `json:"shapes,omitempty"`
	Cards     int      `json:"cards,omitempty"`
	Instances int      `json:"instances,omitempty"`
	// Least is the fewest cards that the memory could take at all: how far from the
	// best the packing can be at most.
	Least  int     `json:"leastCards,omitempty"`
	Hourly float64 `json:"hourly,omitempty"` // zero: no price known
	Why    string  `json:"why,omitempty"`    // it cannot carry the mix, or has no price
}

// Cheapest plans the mix on each type of the table, the cheapest that carries it
// first, then those without a price, then those that cannot. Memory is shaped against
// the largest figure a card may register and packed against the smallest. Only GPUs
// are counted: vCPU, RAM and network of the instance are not.
func Cheapest(mix []Wanted, prices Prices, l Limits) ([]Plan, error) {
	services := make([]Service, len(mix))
	total := 0
	for i, w := range mix {
		services[i] = w.Service
		if w.Count < 1 || w.Count > MaxWanted {
			return nil, badCount(w)
		}
		total += w.Count
	}
	if total > MaxWanted {
		return nil, badCount(Wanted{Service: Service{Name: "the mix"}, Count: total})
	}
	if err := checkShape(services, []gpu.MiB{MaxPeak}, l); err != nil {
		return nil, err
	}
	plans := make([]Plan, 0, len(prices.Types))
	for _, t := range prices.Types {
		plans = append(plans, plan(mix, services, t, planLimits{l, prices.Reserve}))
	}
	rank := func(p Plan) int {
		switch {
		case p.Instances == 0:
			return 2
		case p.Hourly == 0:
			return 1
		}
		return 0
	}
	slices.SortStableFunc(plans, func(a, b Plan) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Hourly, b.Hourly), cmp.Compare(a.Instances, b.Instances), cmp.Compare(a.Type, b.Type))
	})
	return plans, nil
}

type planLimits struct {
	Limits
	reserve gpu.MiB
}

func plan(mix []Wanted, services []Service, t InstanceType, l planLimits) Plan {
	p := Plan{InstanceType: t}
	usable := t.Memory - l.reserve
	if usable <= 0 {
		p.Why = "the table does not tell its cards' memory"
		return p
	}
	shapes, err := Shape(services, []gpu.MiB{t.Memory, usable}, l.Limits)
	if err != nil {
		p.Why = err.Error()
		return p
	}
	p.Shapes = shapes
	var sizes []gpu.MiB
	var sum gpu.MiB
	for i, s := range shapes {
		if !s.Fits {
			p.Why = s.Name + " needs " + s.Declare.String() + " and a card may have as little as " + usable.String()
			return p
		}
		for range mix[i].Count {
			sizes = append(sizes, s.Declare)
		}
		sum = sum.Add(s.Declare * gpu.MiB(mix[i].Count))
	}
	p.Cards = firstFit(sizes, usable)
	p.Least = int((sum + usable - 1) / usable)
	p.Instances = (p.Cards + t.GPUs - 1) / t.GPUs
	p.Hourly = float64(p.Instances) * t.PerHour
	if t.PerHour == 0 {
		p.Why = "the table has no price for it"
	}
	return p
}

// firstFit packs the largest first and returns the number of cards. A segment tree
// over the free memory finds the first card that has room.
func firstFit(sizes []gpu.MiB, card gpu.MiB) int {
	slices.SortFunc(sizes, func(a, b gpu.MiB) int { return cmp.Compare(b, a) })
	n := 1
	for n < len(sizes) {
		n *= 2
	}
	free := make([]gpu.MiB, 2*n)
	for i := range free {
		free[i] = card
	}
	used := 0
	for _, s := range sizes {
		i := 1
		for i < n {
			if i *= 2; free[i] < s {
				i++
			}
		}
		used = max(used, i-n+1)
		free[i] -= s
		for i /= 2; i >= 1; i /= 2 {
			free[i] = max(free[2*i], free[2*i+1])
		}
	}
	return used
}
