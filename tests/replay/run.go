package main

import (
	"context"
	"math/rand"
	"slices"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/placement"
)

// placer is a policy at work on one fleet. place chooses a node and books it.
type placer interface {
	place(s *placement.Shape) bool
	nodes() func(i int) placement.Node
}

// outcome is what one policy reached on one seed.
type outcome struct {
	at100, at130, frag float64
	took               []time.Duration
}

// arrivals is the paper's protocol: nodes and tasks shuffled by the seed, tasks
// drawn again, with replacement, until they ask for 130 % of the cards.
func arrivals(c cluster, seed int64) (nodes []placement.Node, tasks []placement.Shape) {
	r := rand.New(rand.NewSource(seed))
	nodes = slices.Clone(c.nodes)
	r.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
	tasks = slices.Clone(c.tasks)
	asked := int64(0)
	for _, t := range tasks {
		asked += asks(&t)
	}
	for asked*10 < c.gpus*13 {
		t := c.tasks[r.Intn(len(c.tasks))]
		tasks = append(tasks, t)
		asked += asks(&t)
	}
	r.Shuffle(len(tasks), func(i, j int) { tasks[i], tasks[j] = tasks[j], tasks[i] })
	return nodes, tasks
}

func asks(s *placement.Shape) int64 { return int64(s.Cards) * int64(s.Share) }

func play(ctx context.Context, c cluster, seed int64, build builder) (outcome, error) {
	nodes, tasks := arrivals(c, seed)
	p := build(nodes, c.tasks, seed)
	var out outcome
	out.took = make([]time.Duration, 0, len(tasks))
	var arrived, placed int64
	for i := range tasks {
		if i%256 == 0 && ctx.Err() != nil {
			return out, ctx.Err()
		}
		begin := time.Now()
		ok := p.place(&tasks[i])
		out.took = append(out.took, time.Since(begin))
		before := arrived
		arrived += asks(&tasks[i])
		if ok {
			placed += asks(&tasks[i])
		}
		if before < c.gpus && arrived >= c.gpus {
			out.at100 = 100 * float64(placed) / float64(c.gpus)
		}
	}
	out.at130 = 100 * float64(placed) / float64(c.gpus)
	mix := typical(c.tasks)
	at := p.nodes()
	for i := range nodes {
		n := at(i)
		out.frag += fragment(mix, &n)
	}
	out.frag *= 100 / float64(c.gpus)
	return out, nil
}
