package placement

import (
	"fmt"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
)

// Demand is one share that is looking for a card.
type Demand struct {
	Memory  gpu.MiB
	Compute gpu.Percent // the ceiling; zero is unset and counts 100
	Tier    gpu.Tier
}

// Refusal says why a demand is not considered at all.
type Refusal struct {
	Reason string // stable token
	Field  string
	Text   string
}

// Error is the sentence with its token and field.
func (r *Refusal) Error() string { return fmt.Sprintf("%s: %s: %s", r.Reason, r.Field, r.Text) }

// check refuses a demand that no host could ever take, whatever is free.
func (d Demand) check(v View, p Policy) *Refusal {
	if d.Memory <= 0 {
		return &Refusal{"MemoryNotPositive", "memory", "a share needs a memory of at least 1 MiB, not " + d.Memory.String()}
	}
	if d.Compute < 0 || d.Compute > gpu.FullCompute {
		return &Refusal{"ComputeOutOfRange", "maxComputePercent", "a ceiling is 1 to 100, or unset, not " + d.Compute.String()}
	}
	if _, ok := p.Tiers[d.Tier]; !ok {
		return &Refusal{"TierUnknown", "tier", fmt.Sprintf("no policy names the tier %q", d.Tier)}
	}
	var largest gpu.MiB
	for _, h := range v.Hosts {
		for _, c := range h.Devices {
			largest = max(largest, c.Total)
		}
	}
	if largest > 0 && d.Memory > largest {
		return &Refusal{"LargerThanAnyCard", "memory", fmt.Sprintf("asks for %s, the largest card has %s", d.Memory, largest)}
	}
	return nil
}
