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

// dotProduct is Tetris's rule turned to tight fits: the node whose free vector
// (CPU and its tightest card) has the smallest product with what is asked, cut to hundredths as published.
func dotProduct(n *placement.Node, s *placement.Shape) (float64, int) {
	cpu := float64(n.CPU) / mostCPU * float64(s.CPU) / mostCPU
	gpu := float64(n.Free[tightest(n, s)]) / wholeCard * float64(s.Share) / wholeCard
	return math.Floor(100 * (1 - (cpu+gpu)/2)), tightest(n, s)
}

// packing fills cards in use first, then idle cards of nodes in use, then idle
// nodes; the published score is coarse, and the first node of equals is taken.
func packing(n *placement.Node, s *placement.Shape) (float64, int) {
	card := tightest(n, s)
	idle := int32(0)
	for d := range n.Cards {
		if n.Free[d] == wholeCard {
			idle++
		}
	}
	switch {
	case s.Cards == 0:
		return 0, card
	case idle == n.Cards:
		return float64(max(33-idle, idle)), card
	case s.Cards > 1 || n.Free[card] == wholeCard:
		return float64(max(50-s.Cards, 33)), card
	}
	return float64(100 - n.Free[card]*100/wholeCard/10), card
}

// random draws among all the nodes that fit, and among the cards that fit there.
func random(seed int64) scorer {
	r := rand.New(rand.NewSource(seed + 1<<32))
	return func(n *placement.Node, s *placement.Shape) (float64, int) {
		card, able := 0, 0
		for d := range int(n.Cards) {
			if n.Free[d] < s.Share {
				continue
			}
			if able++; r.Intn(able) == 0 {
				card = d
			}
		}
		return r.Float64(), card
	}
}

// clustering puts tasks beside tasks that ask for the same part of a card.
func clustering(fleet []placement.Node) *scan {
	kinds := make([]map[int64]int, len(fleet))
	p := &scan{fleet: fleet}
	p.score = func(n *placement.Node, s *placement.Shape) (float64, int) {
		if s.Cards == 0 {
			return 0, 0
		}
		full := math.Floor(25 * (1 - freeGPU(n)/mostGPU))
		switch near := kinds[p.at]; {
		case near[kind(s)] > 0 && len(near) == 1:
			return 75 + full, tightest(n, s)
		case near[kind(s)] > 0:
			return 50 + full, tightest(n, s)
		case len(near) == 0:
			return 25 + full, tightest(n, s)
		}
		return full, tightest(n, s)
	}
	p.noted = func(node int, s *placement.Shape) {
		if kinds[node] == nil {
			kinds[node] = map[int64]int{}
		}
		if s.Cards > 0 {
			kinds[node][kind(s)]++
		}
	}
	return p
}

// kind is what clustering calls the same: shares are one kind, and so is each
// number of whole cards.
func kind(s *placement.Shape) int64 {
	if s.Share < wholeCard {
		return 0
	}
	return int64(s.Cards)
}
