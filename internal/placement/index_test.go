package placement

import (
	"testing"

	"pgregory.net/rapid"
)

func drawShape(t *rapid.T) Shape {
	s := Shape{CPU: rapid.Int64Range(0, 8).Draw(t, "cpu"), Memory: rapid.Int64Range(0, 4).Draw(t, "memory"), Cards: rapid.Int32Range(0, 2).Draw(t, "cards")}
	switch s.Cards {
	case 1:
		s.Share = rapid.SampledFrom([]int32{200, 300, 500, 1000}).Draw(t, "share")
	case 2:
		s.Share = 1000
	}
	return s
}

func TestIndexGivesTheAnswerOfAFullScanWhateverIsTakenAndGivenBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := make([]Node, rapid.IntRange(1, 7).Draw(t, "nodes"))
		for i := range nodes {
			nodes[i] = Node{CPU: 20, Memory: 12, Model: 1, Total: 1000, Cards: rapid.Int32Range(0, 4).Draw(t, "n")}
			for c := range nodes[i].Free[:nodes[i].Cards] {
				nodes[i].Free[c] = 1000
			}
		}
		var shapes []Shape
		for range 5 {
			shapes = append(shapes, drawShape(t))
		}
		x := NewIndex(NewMix(shapes), nodes)
		type held struct {
			s    Shape
			node int
			used uint32
		}
		var holds []held
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			if len(holds) > 0 && rapid.IntRange(0, 3).Draw(t, "give") == 0 {
				h := holds[0]
				holds = holds[1:]
				x.Give(h.s, h.node, h.used)
				continue
			}
			s := rapid.SampledFrom(shapes).Draw(t, "shape")
			n, c, ok := x.Best(s)
			wn, wc, wok := x.Scan(s)
			if n != wn || c != wc || ok != wok {
				t.Fatalf("index says %d/%d/%v, scan says %d/%d/%v", n, c, ok, wn, wc, wok)
			}
			if ok {
				holds = append(holds, held{s, n, x.Take(s, n, c)})
			}
		}
	})
}

func TestADecisionOnAKnownShapeAllocatesNothing(t *testing.T) {
	nodes := make([]Node, 100)
	for i := range nodes {
		nodes[i] = Node{CPU: 100, Memory: 100, Model: 1, Total: 1000, Cards: 2, Free: [MaxCards]int32{1000, 1000}}
	}
	s := Shape{CPU: 1, Cards: 1, Share: 300}
	x := NewIndex(NewMix([]Shape{s}), nodes)
	x.Best(s)
	if n := testing.AllocsPerRun(100, func() {
		node, card, _ := x.Best(s)
		x.Give(s, node, x.Take(s, node, card))
	}); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}
