package sim

import (
	"fmt"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
)

// Container asks for a share of a card (Memory), for whole cards (Whole), or for
// no GPU. Compute is maxComputePercent; zero sets none.
type Container struct {
	Name    string
	Memory  gpu.MiB
	Compute gpu.Percent
	Whole   int
}

// Definition is a task definition; RegisterDefinition gives it revision and ARN.
type Definition struct {
	ARN, Family string
	Revision    int
	Containers  []Container
	StopTimeout time.Duration // 30 s when zero, ECS's default
	Tags        map[string]string
}

// Memory is what all MPS containers of a task need together, on one card.
func (d *Definition) Memory() gpu.MiB {
	var sum gpu.MiB
	for _, c := range d.Containers {
		sum = sum.Add(c.Memory)
	}
	return sum
}

// Whole is how many whole cards the task needs.
func (d *Definition) Whole() int {
	n := 0
	for _, c := range d.Containers {
		n += c.Whole
	}
	return n
}

// RegisterDefinition keeps a definition as the family's next revision.
func (f *Fleet) RegisterDefinition(d Definition) (*Definition, error) {
	if d.Family == "" || len(d.Containers) == 0 {
		return nil, refuse("ClientException", "Family and container definitions must be given")
	}
	for _, c := range d.Containers {
		if c.Memory < 0 || c.Whole < 0 || c.Compute < 0 || c.Compute > 100 || c.Memory > 0 && c.Whole > 0 {
			return nil, refuse("ClientException", "Invalid GPU requirement of container %s", c.Name)
		}
	}
	if d.Memory() > 0 && d.Whole() > 0 {
		return nil, refuse("ClientException", "A task may not use shared and whole GPUs together")
	}
	if d.StopTimeout == 0 {
		d.StopTimeout = 30 * time.Second
	}
	f.revisions[d.Family]++
	d.Revision = f.revisions[d.Family]
	d.ARN = f.head() + fmt.Sprintf("task-definition/%s:%d", d.Family, d.Revision)
	f.definitions[d.ARN] = &d
	return &d, nil
}

// Definition finds one by ARN.
func (f *Fleet) Definition(arn string) (*Definition, error) {
	if d, ok := f.definitions[arn]; ok {
		return d, nil
	}
	return nil, refuse("ClientException", "Unable to describe task definition.")
}
