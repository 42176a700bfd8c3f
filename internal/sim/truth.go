package sim

import (
	"cmp"
	"maps"
	"slices"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
)

// Capability is the attribute of a host that can share GPUs.
const Capability = "ecs.capability.gpu-sharing-mps"

// AgentVersion is what a container instance says its agent is unless its group says
// otherwise, and the first that can share GPUs.
const AgentVersion = "1.107.0"

// Attribute is a name and a value of a container instance.
type Attribute struct {
	Name  string `json:"name"`
	Value string `json:"value,omitempty"`
}

// AllAttributes are the built-in attributes, then the custom ones by name.
func (h *Host) AllAttributes() []Attribute {
	out := []Attribute{{"ecs.instance-type", h.Shape.Name}, {"ecs.availability-zone", h.Zone}, {"ecs.ami-id", h.AMI}}
	if ordered(h.AgentVersion, AgentVersion) >= 0 {
		out = append(out, Attribute{Name: Capability})
	}
	for _, k := range slices.Sorted(maps.Keys(h.Attributes)) {
		out = append(out, Attribute{k, h.Attributes[k]})
	}
	return out
}

// UUIDs are the ids of a host's cards.
func (h *Host) UUIDs() []string {
	out := []string{}
	for _, c := range h.Cards {
		out = append(out, string(c.UUID))
	}
	return out
}

// GPUs are the cards of one container of a task.
func (t *Task) GPUs(container string) []string {
	out := []string{}
	for _, c := range t.cardsOf(container) {
		out = append(out, string(c.UUID))
	}
	return out
}

func (t *Task) cardsOf(container string) []*Card {
	next := 0
	for _, c := range t.Definition.Containers {
		n := min(c.Whole, len(t.Cards)-next)
		if c.Whole == AllGPUs {
			n = len(t.Cards)
		}
		if c.Name == container {
			if c.Memory > 0 {
				return t.Cards[:1]
			}
			return t.Cards[next : next+n]
		}
		next += n
	}
	return nil
}

// Containers are how many containers ECS counts on a card.
func (h *Host) Containers(c *Card) int {
	n := 0
	for _, t := range h.tasks {
		if t.Desired == "STOPPED" || !slices.Contains(t.Cards, c) {
			continue
		}
		for _, k := range t.Definition.Containers {
			if k.Memory > 0 || k.Whole != 0 {
				n++
			}
		}
	}
	return n
}

// Hosts are all hosts in the order of their launch; the slice is the caller's.
func (f *Fleet) Hosts() []*Host { return slices.Clone(f.hosts) }

// Tasks are all tasks not STOPPED, oldest first.
func (f *Fleet) Tasks() []*Task {
	out := make([]*Task, 0, len(f.tasks))
	for _, t := range f.tasks {
		if t.Last != "STOPPED" {
			out = append(out, t)
		}
	}
	return out
}

// Stopped are the tasks that stopped within the last hour, by ARN.
func (f *Fleet) Stopped() []*Task {
	var out []*Task
	for _, t := range f.byARN {
		if t.Last == "STOPPED" {
			out = append(out, t)
		}
	}
	slices.SortFunc(out, func(a, b *Task) int { return cmp.Compare(a.ARN, b.ARN) })
	return out
}

// Task finds a task that ECS still tells of.
func (f *Fleet) Task(arn string) (*Task, bool) { t, ok := f.byARN[arn]; return t, ok }

// Holding is a container that a card is given to and not yet free of. Waiting is
// true while the agent has not taken it.
type Holding struct {
	Host, Task, Container string
	Card                  gpu.UUID
	Memory                gpu.MiB // zero of a whole card
	Waiting               bool
}

// Truth is who is given what, on every card.
func (f *Fleet) Truth() []Holding {
	var out []Holding
	for _, t := range f.Tasks() {
		for _, c := range t.Definition.Containers {
			for _, u := range t.GPUs(c.Name) {
				out = append(out, Holding{t.Host.ARN, t.ARN, c.Name, gpu.UUID(u), c.Memory, !t.held})
			}
		}
	}
	return out
}
