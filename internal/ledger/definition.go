package ledger

import (
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
)

// Definition is the part of a task definition revision that the ledger needs. A
// revision is immutable, so it may be kept for ever once read.
type Definition struct {
	ARN        string
	Family     string
	Containers []ContainerNeed // only those that ask for a GPU, in the definition's order
	// TierTag is the value of the tag or docker label bulkhead:tier, if any.
	TierTag string
	// StopTimeout is the longest stopTimeout of its containers.
	StopTimeout time.Duration
}

// ContainerNeed is the GPU requirement of one container.
type ContainerNeed struct {
	Name    string
	Need    Need
	Memory  gpu.MiB     // NeedShare: nvidiaMps.memory
	Compute gpu.Percent // NeedShare: nvidiaMps.maxComputePercent, zero when unset
	Count   int         // NeedWhole: number of cards
}

// AsksGPU reports whether any container wants a card or a share of one.
func (d Definition) AsksGPU() bool { return len(d.Containers) > 0 }

// Container finds the need of a container by name.
func (d Definition) Container(name string) (ContainerNeed, bool) {
	for _, c := range d.Containers {
		if c.Name == name {
			return c, true
		}
	}
	return ContainerNeed{}, false
}
