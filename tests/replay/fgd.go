package main

import (
	"math"
	"sort"

	"github.com/bulkhead-ecs/bulkhead/internal/placement"
)

// This file is fragmentation gradient descent as Weng and Yang published it,
// written anew and kept apart from the engine, so that neither hides a mistake
// of the other.

type often struct {
	shape placement.Shape
	freq  float64
}

// typical are the commonest tasks, up to 95 % of all.
func typical(tasks []placement.Shape) []often {
	count := map[placement.Shape]int{}
	var order []placement.Shape
	for _, t := range tasks {
		t.Memory = 0
		if count[t] == 0 {
			order = append(order, t)
		}
		count[t]++
	}
	sort.SliceStable(order, func(i, j int) bool { return count[order[i]] > count[order[j]] })
	var out []often
	sum := 0.0
	for _, s := range order {
		if sum >= 0.95 {
			break
		}
		f := float64(count[s]) / float64(len(tasks))
		out = append(out, often{s, f})
		sum += f
	}
	return out
}

// fragment is the expected free share of a node that the typical tasks cannot use.
func fragment(mix []often, n *placement.Node) float64 {
	free := 0.0
	for i := range n.Cards {
		free += float64(n.Free[i])
	}
	out := 0.0
	for i := range mix {
		m := &mix[i].shape
		if m.Cards == 0 || m.CPU > n.CPU || (m.Models != 0 && m.Models&n.Model == 0) {
			out += mix[i].freq * free
			continue
		}
		able, small := int32(0), 0.0
		for d := range n.Cards {
			if n.Free[d] < m.Share {
				small += float64(n.Free[d])
				continue
			}
			able++
		}
		if able < m.Cards {
			small = free
		}
		out += mix[i].freq * small
	}
	return out
}

// fgd scores by the published formula: the sigmoid of the drop in cards, times
// 100, cut to an integer; equal scores go to the first node.
func fgd(mix []often) scorer {
	return func(n *placement.Node, s *placement.Shape) (float64, int) {
		before := fragment(mix, n)
		score := func(card int) float64 {
			after := *n
			book(&after, s, card)
			drop := (before - fragment(mix, &after)) / wholeCard
			return math.Floor(100 / (1 + math.Exp(-drop)))
		}
		if s.Cards != 1 || s.Share >= wholeCard {
			return score(firstCard(n, s)), firstCard(n, s)
		}
		best, card := -1.0, 0
		for d := range int(n.Cards) {
			if n.Free[d] < s.Share {
				continue
			}
			if v := score(d); v > best {
				best, card = v, d
			}
		}
		return best, card
	}
}
