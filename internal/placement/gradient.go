package placement

import (
	"cmp"
	"slices"
)

// Weighted is a shape and how often it is asked for.
type Weighted struct {
	Shape  Shape
	Weight float64
}

// Mix is the demand that is expected: the commonest shapes and their share of
// all demands. Fragmentation is measured against it.
type Mix struct {
	shapes []Weighted
}

// typicalShare is how much of the demand the typical shapes stand for; the rest
// are rare shapes that would cost time and tell little.
const typicalShare = 0.95

// NewMix keeps the commonest shapes that together make 95 % of the demands.
// Host memory does not enter: it filters, it does not score.
func NewMix(demands []Shape) Mix {
	count := map[Shape]int{}
	for _, s := range demands {
		s.Memory = 0
		count[s]++
	}
	all := make([]Weighted, 0, len(count))
	for s, n := range count {
		all = append(all, Weighted{Shape: s, Weight: float64(n) / float64(len(demands))})
	}
	slices.SortFunc(all, func(a, b Weighted) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), compareShapes(a.Shape, b.Shape))
	})
	sum, n := 0.0, 0
	for n < len(all) && sum < typicalShare {
		sum += all[n].Weight
		n++
	}
	return Mix{shapes: all[:n]}
}

func compareShapes(a, b Shape) int {
	return cmp.Or(cmp.Compare(a.CPU, b.CPU), cmp.Compare(a.Memory, b.Memory), cmp.Compare(a.Cards, b.Cards),
		cmp.Compare(a.Share, b.Share), cmp.Compare(a.Models, b.Models))
}

// Fragment is the part of the node's free cards that the expected demand cannot
// use, in thousandths of a card. The measure is the one of Weng and Yang,
// "Beware of Fragmentation" (USENIX ATC 2023).
func (m *Mix) Fragment(n *Node) float64 {
	if n.Total <= 0 {
		return 0
	}
	var total int32
	for _, f := range n.Free[:n.Cards] {
		total += f
	}
	lost := 0.0
	for i := range m.shapes {
		lost += m.shapes[i].Weight * float64(unusable(n, &m.shapes[i].Shape, total))
	}
	return lost * 1000 / float64(n.Total)
}

// unusable is what of the node's free total one shape cannot use.
func unusable(n *Node, s *Shape, total int32) int32 {
	if s.Cards <= 0 || s.CPU > n.CPU || s.Models != 0 && s.Models&n.Model == 0 {
		return total
	}
	var able, scraps int32
	for _, f := range n.Free[:n.Cards] {
		if f >= s.Share {
			able++
		} else {
			scraps += f
		}
	}
	if able < s.Cards {
		return total
	}
	return scraps
}

// Drop is how much fragmentation falls when the shape goes to the node (negative
// when it rises), and the card that makes it fall most; among equals the
// tightest, then the first. before is the node's fragmentation now.
func (m *Mix) Drop(n *Node, s *Shape, before float64) (drop float64, card int) {
	if s.Cards != 1 {
		after := *n
		after.take(s, 0)
		return before - m.Fragment(&after), 0
	}
	found := false
	for i, f := range n.Free[:n.Cards] {
		if f < s.Share || slices.Contains(n.Free[:i], f) {
			continue
		}
		after := *n
		after.take(s, i)
		d := before - m.Fragment(&after)
		if !found || d > drop || d == drop && f < n.Free[card] {
			found, drop, card = true, d, i
		}
	}
	return drop, card
}
