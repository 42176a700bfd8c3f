package sim

import "github.com/bulkhead-ecs/bulkhead/internal/gpu"

// Shape is an instance type: its cards, and one card's memory as the agent reports it.
type Shape struct {
	Name  string
	Cards int
	Total gpu.MiB
}

// shapes of the instance types. 22563 MiB of an L4 is the agent's own figure; the
// others are what NVML reports for these cards, less ECC where it is on.
var shapes = []Shape{
	{"g5.xlarge", 1, 22731}, {"g5.12xlarge", 4, 22731},
	{"g6.xlarge", 1, 22563}, {"g6.12xlarge", 4, 22563},
	{"g6e.xlarge", 1, 45458}, {"g6e.12xlarge", 4, 45458},
	{"p4d.24xlarge", 8, 40536}, {"p5.48xlarge", 8, 81116},
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
