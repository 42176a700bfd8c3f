package main

import "github.com/bulkhead-ecs/bulkhead/internal/placement"

// engine is the project's own scorer behind its own index.
type engine struct{ x *placement.Index }

func (e engine) nodes() func(int) placement.Node { return e.x.Node }

func (e engine) place(s *placement.Shape) bool {
	node, card, ok := e.x.Best(*s)
	if ok {
		e.x.Take(*s, node, card)
	}
	return ok
}

type policy struct {
	name  string
	build builder
}

func scoring(s scorer) builder {
	return func(nodes []placement.Node, _ []placement.Shape, _ int64) placer {
		return &scan{fleet: nodes, score: s}
	}
}

// policies are all there are, in the order they are printed.
func policies() []policy {
	return []policy{
		{"random", func(n []placement.Node, _ []placement.Shape, seed int64) placer {
			return &scan{fleet: n, score: random(seed)}
		}},
		{"first-fit", func(n []placement.Node, _ []placement.Shape, _ int64) placer {
			return &scan{fleet: n, first: true, score: func(n *placement.Node, s *placement.Shape) (float64, int) { return 0, firstCard(n, s) }}
		}},
		{"worst-fit", scoring(worstFit)},
		{"best-fit-gpu", scoring(bestFitGPU)},
		{"best-fit", scoring(bestFit)},
		{"packing", scoring(packing)},
		{"clustering", func(n []placement.Node, _ []placement.Shape, _ int64) placer { return clustering(n) }},
		{"dot-product", scoring(dotProduct)},
		{"fgd", func(n []placement.Node, tasks []placement.Shape, _ int64) placer {
			return &scan{fleet: n, score: fgd(typical(tasks))}
		}},
		{"bulkhead", func(n []placement.Node, tasks []placement.Shape, _ int64) placer {
			return engine{placement.NewIndex(placement.NewMix(tasks), n)}
		}},
	}
}
