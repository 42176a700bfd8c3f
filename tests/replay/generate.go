package main

import (
	"math/rand"

	"github.com/bulkhead-ecs/bulkhead/internal/placement"
)

// generated is a fleet and a mix for when no trace is there: one in eight tasks
// without a card, half with one whole card, the rest with a share of 5 to 90 %.
func generated() cluster {
	r := rand.New(rand.NewSource(1))
	var c cluster
	for range 400 {
		n := placement.Node{CPU: 96000, Memory: 786432, Cards: []int32{1, 4, 8, 8}[r.Intn(4)], Model: 1, Total: wholeCard}
		for i := range n.Free[:n.Cards] {
			n.Free[i] = wholeCard
		}
		c.nodes = append(c.nodes, n)
		c.gpus += int64(n.Cards) * wholeCard
	}
	for asked := int64(0); asked < c.gpus; {
		s := placement.Shape{CPU: int64(1+r.Intn(12)) * 1000, Memory: int64(1+r.Intn(16)) * 4096}
		switch k := r.Intn(8); {
		case k == 0:
		case k < 5:
			s.Cards, s.Share = 1, wholeCard
		default:
			s.Cards, s.Share = 1, int32(1+r.Intn(18))*50
		}
		c.tasks = append(c.tasks, s)
		asked += asks(&s)
	}
	return c
}
