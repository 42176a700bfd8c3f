package sizing

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
)

// Bounds of what Shape takes.
const (
	MaxBudget  gpu.Percent = 4800 // 48 clients at 100 %
	MaxTenants             = gpu.MaxClientsProved
	MaxShapes              = 64
)

// Service is one task's share of one card: ECS puts the sharing containers of a task
// on the same card, so their sums count.
type Service struct {
	Name    string      `json:"name"`
	Memory  gpu.MiB     `json:"memoryMiB"`
	Compute gpu.Percent `json:"computePercent"` // zero: no ceiling, counts 100
}

// Limits are what must hold on every card. A zero is no limit; one at least is set.
type Limits struct {
	Budget  gpu.Percent `json:"budgetPercent,omitempty"` // the sum of ceilings
	Tenants int         `json:"tenants,omitempty"`       // tasks on one card: k neighbours are k+1 tenants
}

// Shaped is a service with the memory to declare instead.
type Shaped struct {
	Service
	Declare gpu.MiB `json:"declareMiB"` // never below Memory
	Alone   int     `json:"alone"`      // so many of it fit on the largest card
	Fits    bool    `json:"fits"`       // on the smallest card
}

// Errors of Shape.
var (
	ErrShapeInput      = errors.New("these services cannot be shaped")
	ErrShapeImpossible = errors.New("no memory makes this safe")
)

// Shape finds for each service the memory to declare, so that no multiset of them
// that fits a card by memory breaks a limit: not on any of the cards, in any number,
// in any order. The answer is minimal: declaring 1 MiB less for any one service (of
// those above its own need) lets ECS break a limit.
//
// Two facts carry it. A smaller memory only adds packings, and a smaller card only
// takes some away: so safety is monotone in both, the largest card decides, and each
// service can be lowered by bisection. And memory in proportion to compute
// (compute/budget of the card) is always safe: it is where the search starts.
func Shape(services []Service, cards []gpu.MiB, l Limits) ([]Shaped, error) {
	if err := checkShape(services, cards, l); err != nil {
		return nil, err
	}
	total := slices.Max(cards)
	out := make([]Shaped, len(services))
	for i, s := range services {
		s.Compute = s.Compute.OrFull()
		declare, err := safeAlone(s, total, l)
		if err != nil {
			return nil, err
		}
		out[i] = Shaped{Service: s, Declare: declare}
	}
	order := make([]int, len(out))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { // where most is at stake, first
		x, y := out[a], out[b]
		return cmp.Or(cmp.Compare(y.Declare-y.Memory, x.Declare-x.Memory), cmp.Compare(x.Name, y.Name), cmp.Compare(a, b))
	})
	for _, i := range order {
		lower(out, i, total, l)
	}
	for i := range out {
		out[i].Alone = int(total / out[i].Declare)
		out[i].Fits = out[i].Declare <= slices.Min(cards)
	}
	return out, nil
}

// safeAlone is a memory that is safe whatever stands beside it.
func safeAlone(s Service, total gpu.MiB, l Limits) (gpu.MiB, error) {
	need := s.Memory
	if l.Budget > 0 {
		if s.Compute > l.Budget {
			return 0, fmt.Errorf("%w: one %s may use %s of a card and the budget is %s: set maxComputePercent to at most %s", ErrShapeImpossible, s.Name, s.Compute, l.Budget, l.Budget)
		}
		need = max(need, (gpu.MiB(s.Compute)*total+gpu.MiB(l.Budget)-1)/gpu.MiB(l.Budget))
	}
	if l.Tenants > 0 {
		need = max(need, total/gpu.MiB(l.Tenants+1)+1)
	}
	if need > total {
		return 0, fmt.Errorf("%w: %s needs %s and the largest card has %s", ErrShapeImpossible, s.Name, need, total)
	}
	return need, nil
}

// lower brings one service down to the least memory that is still safe.
func lower(all []Shaped, i int, total gpu.MiB, l Limits) {
	low, high := all[i].Memory, all[i].Declare // high is safe
	for low < high {
		mid := low + (high-low)/2
		all[i].Declare = mid
		if Safe(all, total, l) {
			high = mid
		} else {
			low = mid + 1
		}
	}
	all[i].Declare = high
}

// Safe reports whether no multiset of the services that fits into total breaks a
// limit. It asks for each sum of ceilings for the least memory that reaches it (an
// unbounded knapsack over percent), which covers every choice at once.
func Safe(all []Shaped, total gpu.MiB, l Limits) bool {
	if l.Tenants > 0 {
		for _, s := range all {
			if s.Declare*gpu.MiB(l.Tenants+1) <= total {
				return false // the smallest, k+1 times, is the packing that breaks k first
			}
		}
	}
	if l.Budget <= 0 {
		return true
	}
	// Any packing above the budget holds one that is above it by less than one share.
	most := int(l.Budget) + 100
	least := make([]gpu.MiB, most+1) // to reach a sum of exactly so many percent
	for c := 1; c <= most; c++ {
		least[c] = total + 1
		for _, s := range all {
			if n := int(s.Compute); n <= c && least[c-n]+s.Declare < least[c] {
				least[c] = least[c-n] + s.Declare
			}
		}
		if c > int(l.Budget) && least[c] <= total {
			return false
		}
	}
	return true
}

func checkShape(services []Service, cards []gpu.MiB, l Limits) error {
	bad := func(format string, a ...any) error {
		return fmt.Errorf("%w: %s", ErrShapeInput, fmt.Sprintf(format, a...))
	}
	switch {
	case len(services) == 0 || len(services) > MaxShapes:
		return bad("%d services, want 1 to %d", len(services), MaxShapes)
	case len(cards) == 0 || len(cards) > MaxShapes:
		return bad("%d cards, want 1 to %d", len(cards), MaxShapes)
	case l.Budget < 0 || l.Budget > MaxBudget || l.Tenants < 0 || l.Tenants > MaxTenants || l.Budget == 0 && l.Tenants == 0:
		return bad("a compute budget in 1%% to %s, or 1 to %d tenants, must be given", MaxBudget, MaxTenants)
	}
	for _, c := range cards {
		if c <= 0 || c > MaxPeak {
			return bad("a card of %s is not in 1 to %s", c, MaxPeak)
		}
	}
	for _, s := range services {
		if s.Memory <= 0 || s.Memory > MaxPeak || s.Compute < 0 || s.Compute > 100 {
			return bad("%q has %s and %s: memory is 1 MiB or more, compute 0%% to 100%%", s.Name, s.Memory, s.Compute)
		}
	}
	return nil
}

func badCount(w Wanted) error {
	return fmt.Errorf("%w: %s has %d tasks, want 1 to %d", ErrShapeInput, w.Name, w.Count, MaxWanted)
}
