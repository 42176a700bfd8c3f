package main

import (
	"math"
	"math/rand"

	"github.com/bulkhead-ecs/bulkhead/internal/placement"
)

// scorer rates a node that fits and names the card; the greatest score wins and
// the first node among equals.
type scorer func(n *placement.Node, s *placement.Shape) (score float64, card int)

// builder makes a policy for one fleet; tasks are the whole mix, for the
// policies that learn from it.
type builder func(nodes []placement.Node, tasks []placement.Shape, seed int64) placer

// scan is a policy that looks at every node for every task.
type scan struct {
	fleet []placement.Node
	score scorer
	first bool // stop at the first node that fits
	noted func(node int, s *placement.Shape)
	at    int // the node being scored
}

func (p *scan) nodes() func(int) placement.Node {
	return func(i int) placement.Node { return p.fleet[i] }
}

func (p *scan) place(s *placement.Shape) bool {
	best, node, card := math.Inf(-1), -1, 0
	for i := range p.fleet {
		n := &p.fleet[i]
		if !n.Fits(s) {
			continue
		}
		p.at = i
		if v, c := p.score(n, s); v > best {
			best, node, card = v, i, c
		}
		if p.first {
			break
		}
	}
	if node < 0 {
		return false
	}
	book(&p.fleet[node], s, card)
	if p.noted != nil {
		p.noted(node, s)
	}
	return true
}

func book(n *placement.Node, s *placement.Shape, card int) {
	n.CPU -= s.CPU
	n.Memory -= s.Memory
	if s.Cards == 1 {
		n.Free[card] -= s.Share
		return
	}
	for d, left := 0, s.Cards; left > 0; d++ {
		if n.Free[d] >= s.Share {
			n.Free[d] -= s.Share
			left--
		}
	}
}

func firstCard(n *placement.Node, s *placement.Shape) int {
	for d := range int(n.Cards) {
		if n.Free[d] >= s.Share {
			return d
		}
	}
	return 0
}

// tightest is the card with the least room that is enough.
func tightest(n *placement.Node, s *placement.Shape) int {
	best := -1
	for d := range int(n.Cards) {
		if n.Free[d] >= s.Share && (best < 0 || n.Free[d] < n.Free[best]) {
			best = d
		}
	}
	return max(best, 0)
}

// The greatest CPU and GPU of a node, by which the paper's vectors are made comparable.
const (
	mostCPU = 128000
	mostGPU = 8 * wholeCard
)

func freeGPU(n *placement.Node) float64 {
	sum := 0.0
	for d := range n.Cards {
		sum += float64(n.Free[d])
	}
	return sum
}

func bestFit(n *placement.Node, s *placement.Shape) (float64, int) {
	cpu := float64(n.CPU-s.CPU) / mostCPU
	gpu := (freeGPU(n) - float64(asks(s))) / mostGPU
	return -(cpu + gpu) / 2, tightest(n, s)
}

func bestFitGPU(n *placement.Node, s *placement.Shape) (float64, int) {
	return -freeGPU(n), tightest(n, s)
}

func worstFit(n *placement.Node, s *placement.Shape) (float64, int) {
	return freeGPU(n), tightest(n, s)
}

func dotProduct(n *placement.Node, s *placement.Shape) (float64, int) {
	return -(float64(n.CPU)/mostCPU*float64(s.CPU)/mostCPU) - (freeGPU(n)/mostGPU*float64(asks(s))/wholeCard), tightest(n, s)
}

// packing fills cards in use first, then idle cards of nodes in use, then idle nodes.
func packing(n *placement.Node, s *placement.Shape) (float64, int) {
	card := tightest(n, s)
	idle := 0.0
	for d := range n.Cards {
		if n.Free[d] == wholeCard {
			idle++
		}
	}
	switch {
	case idle == float64(n.Cards):
		return 33 - (33*idle/8), card
	case s.Cards == 1 && n.Free[card] < wholeCard:
		return 100 - (33*float64(n.Free[card])/wholeCard), card
	}
	return 66 - (33*idle/8), card
}

func random(seed int64) scorer {
	r := rand.New(rand.NewSource(seed + 1<<32))
	return func(n *placement.Node, s *placement.Shape) (float64, int) {
		return r.Float64(), tightest(n, s)
	}
}

// clustering puts tasks beside tasks that ask for the same part of a card.
func clustering(fleet []placement.Node) *scan {
	kinds := make([]map[int64]int, len(fleet))
	p := &scan{fleet: fleet}
	p.score = func(n *placement.Node, s *placement.Shape) (float64, int) {
		same, all := 0, 0
		for k, c := range kinds[p.at] {
			if k == asks(s) {
				same += c
			}
			all += c
		}
		free := freeGPU(n) / mostGPU
		switch {
		case same > 0:
			return 66 + (33*float64(same)/float64(all)), tightest(n, s)
		case all > 0:
			return 33 + (33*(1-free)), tightest(n, s)
		}
		return math.Floor(33 * (1 - free)), tightest(n, s)
	}
	p.noted = func(node int, s *placement.Shape) {
		if kinds[node] == nil {
			kinds[node] = map[int64]int{}
		}
		if s.Cards > 0 {
			kinds[node][asks(s)]++
		}
	}
	return p
}
