package sim

import "github.com/bulkhead-ecs/bulkhead/internal/gpu"

// Shape is an instance type: its cards, one card's memory as the agent reports it,
// and what it has for containers otherwise.
type Shape struct {
	Name   string
	Cards  int
	Total  gpu.MiB
	CPU    int     // in ECS's units, 1024 a vCPU
	Memory gpu.MiB // of the host
}

// shapes of the instance types. 22563 MiB of an L4 is the agent's own figure; the
// other cards' totals, and what the system leaves of a host's memory, are chosen.
var shapes = []Shape{
	{"g5.xlarge", 1, 22731, 4 << 10, 15 << 10}, {"g5.12xlarge", 4, 22731, 48 << 10, 184 << 10},
	{"g6.xlarge", 1, 22563, 4 << 10, 15 << 10}, {"g6.12xlarge", 4, 22563, 48 << 10, 184 << 10},
	{"g6e.xlarge", 1, 45458, 4 << 10, 30 << 10}, {"g6e.12xlarge", 4, 45458, 48 << 10, 368 << 10},
	{"p4d.24xlarge", 8, 40536, 96 << 10, 1104 << 10}, {"p5.48xlarge", 8, 81116, 192 << 10, 1966 << 10},
}

// ShapeOf finds an instance type.
func ShapeOf(name string) (Shape, error) {
	for _, s := range shapes {
		if s.Name == name {
			return s, nil
		}
	}
	return Shape{}, refuse("InvalidInstanceType", "The following supplied instance types do not exist: [%s]", name)
}
