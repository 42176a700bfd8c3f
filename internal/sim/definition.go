package sim

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
)

// AllGPUs as Whole asks for every card of the host, as the value ALL does.
const AllGPUs = -1

// Container asks for a share of a card (Memory), for whole cards (Whole), or for
// no GPU. Compute is maxComputePercent; zero sets none. CPU is in ECS's units,
// HostMemory its hard limit, Ports are host ports; zero asks for none.
type Container struct {
	Name       string
	Memory     gpu.MiB
	Compute    gpu.Percent
	Whole      int
	CPU        int
	HostMemory gpu.MiB
	Ports      []int

	// What it really does. Peak is what one of its processes comes to on the card, 70 %
	// of what was asked for when zero; Processes are how many, one when zero. One that
	// Bypasses is no MPS client; one that Survives a fault holds its card in it.
	Peak             gpu.MiB
	Processes        int
	Bypass, Survives bool
}

// Definition is a task definition; RegisterDefinition gives it revision and ARN. CPU
// and HostMemory are the task's own size, which counts instead of its containers'.
type Definition struct {
	ARN, Family string
	Revision    int
	Containers  []Container
	StopTimeout time.Duration // 30 s when zero, ECS's default
	Tags        map[string]string
	CPU         int
	HostMemory  gpu.MiB
	Constraints []Constraint // memberOf alone
	Network     string       // network mode; awsvpc has more states
	need        need
}

// need is what a task of a definition takes of a host.
type need struct {
	share gpu.MiB // on one card
	whole int
	cpu   int
	mem   gpu.MiB
	ports []int
	where []*Query
}

// Memory is what all MPS containers of a task need together, on one card.
func (d *Definition) Memory() gpu.MiB {
	var sum gpu.MiB
	for _, c := range d.Containers {
		sum = sum.Add(c.Memory)
	}
	return sum
}

// Whole is how many whole cards the task needs; AllGPUs for all.
func (d *Definition) Whole() int {
	n := 0
	for _, c := range d.Containers {
		if c.Whole == AllGPUs {
			return AllGPUs
		}
		n += c.Whole
	}
	return n
}

// RegisterDefinition keeps a definition as the family's next revision.
func (f *Fleet) RegisterDefinition(d Definition) (*Definition, error) {
	if d.Family == "" || len(d.Containers) == 0 {
		return nil, refuse("ClientException", "Family and container definitions must be given")
	}
	if err := d.check(); err != nil {
		return nil, err
	}
	where, distinct, err := compile(d.Constraints)
	if err != nil || distinct {
		return nil, refuse("ClientException", "Invalid placement constraint: %v", err)
	}
	if d.StopTimeout == 0 {
		d.StopTimeout = 30 * time.Second
	}
	d.need = need{share: d.Memory(), whole: d.Whole(), cpu: d.CPU, mem: d.HostMemory, where: where}
	for _, c := range d.Containers {
		if d.CPU == 0 {
			d.need.cpu += c.CPU
		}
		if d.HostMemory == 0 {
			d.need.mem = d.need.mem.Add(c.HostMemory)
		}
		d.need.ports = append(d.need.ports, c.Ports...)
	}
	f.revisions[d.Family]++
	d.Revision = f.revisions[d.Family]
	d.ARN = f.head() + fmt.Sprintf("task-definition/%s:%d", d.Family, d.Revision)
	f.definitions[d.ARN] = &d
	return &d, nil
}

func (d *Definition) check() error {
	names := map[string]bool{}
	asking := 0
	for _, c := range d.Containers {
		if c.Name == "" || names[c.Name] {
			return refuse("ClientException", "Container names must be given and unique within a task definition.")
		}
		names[c.Name] = true
		if c.Memory < 0 || c.Whole < AllGPUs || c.Compute < 0 || c.Compute > 100 || c.Memory > 0 && c.Whole != 0 || c.CPU < 0 || c.HostMemory < 0 {
			return refuse("ClientException", "Invalid GPU requirement of container %s", c.Name)
		}
		if c.Whole != 0 {
			asking++
		}
	}
	switch {
	case d.Memory() > 0 && d.Whole() != 0:
		return refuse("ClientException", "A task may not use shared and whole GPUs together")
	case d.Whole() == AllGPUs && asking > 1:
		return refuse("ClientException", "Only one container may ask for ALL GPUs")
	}
	return nil
}

// Definition finds one by ARN, by family and revision, or by family: the newest.
func (f *Fleet) Definition(name string) (*Definition, error) {
	arn := name
	if !strings.HasPrefix(arn, "arn:") {
		if !strings.Contains(name, ":") {
			arn += ":" + strconv.Itoa(f.revisions[name])
		}
		arn = f.head() + "task-definition/" + arn
	}
	if d, ok := f.definitions[arn]; ok {
		return d, nil
	}
	return nil, refuse("ClientException", "Unable to describe task definition.")
}
