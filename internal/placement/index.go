package placement

import "math"

// orderPull is what the whole order of nodes weighs against fragmentation, in
// thousandths of a card: the last node must lower fragmentation by this much
// more than the first to be taken. It keeps demand on few nodes, so that whole
// cards and hosts stay free; between 360 and 12 000 the choice hardly matters.
const orderPull = 3640

// Index ranks nodes for demands without scanning them.
//
// For each shape it has seen it keeps a tournament over all nodes. Booking a
// node writes its number to a log; a shape plays only the nodes logged since it
// was last asked. So the answer is that of a full scan at any moment, and the
// work depends on how much changed, not on how many nodes there are. Memory is
// 16 bytes a node and shape; MaxShapes bounds it.
//
// An Index is not safe for use by several goroutines at once.
type Index struct {
	mix    Mix
	nodes  []Node
	lost   []float64 // fragmentation of each node
	pull   float64   // per place in the order
	width  int       // leaves of a tournament, a power of two
	log    []int32   // ring of changed nodes
	logged int64     // number of changes ever
	latest []int64   // the last change of each node
	ranks  map[Shape]*rank
	oldest []*rank // every rank, to reuse the one longest unasked
}

// MaxShapes bounds the rankings kept; the one longest unasked gives way.
const MaxShapes = 1024

type rank struct {
	shape Shape
	seen  int64 // changes already played
	used  int64 // last asked
	score []float64
	card  []uint8
	tree  []int32 // tree[1] is the winner; -1 for nobody
}

// NewIndex takes the nodes in the order that breaks ties. The slice is copied.
func NewIndex(mix Mix, nodes []Node) *Index {
	x := &Index{mix: mix, nodes: append([]Node(nil), nodes...), ranks: map[Shape]*rank{}, width: 1}
	for x.width < len(nodes) {
		x.width *= 2
	}
	x.pull = orderPull / float64(max(1, len(nodes)))
	x.log = make([]int32, max(1, len(nodes)))
	x.lost = make([]float64, len(nodes))
	x.latest = make([]int64, len(nodes))
	for i := range x.nodes {
		x.lost[i] = mix.Fragment(&x.nodes[i])
	}
	return x
}

// Node is the state of one node now.
func (x *Index) Node(i int) Node { return x.nodes[i] }

// Best is the best node for the shape and the card on it, false when none fits.
func (x *Index) Best(s Shape) (node, card int, ok bool) {
	r := x.ranks[s]
	if r == nil {
		r = x.adopt(s)
	}
	x.catchUp(r)
	r.used = x.logged
	w := r.tree[1]
	if w < 0 {
		return 0, 0, false
	}
	return int(w), int(r.card[w]), true
}

// Scan gives the same answer as Best by looking at every node. It is the oracle
// that Best is tested against.
func (x *Index) Scan(s Shape) (node, card int, ok bool) {
	best := math.Inf(-1)
	for i := range x.nodes {
		if v, c := x.rate(&s, i); v > best {
			best, node, card, ok = v, i, int(c), true
		}
	}
	return node, card, ok
}

// Take books the shape on the node, on the card that Best named, and returns the
// set of cards used, as Give wants it.
func (x *Index) Take(s Shape, node, card int) uint32 {
	used := x.nodes[node].take(&s, card)
	x.changed(node)
	return used
}

// Give takes back what Take booked.
func (x *Index) Give(s Shape, node int, used uint32) {
	x.nodes[node].give(&s, used)
	x.changed(node)
}

func (x *Index) changed(node int) {
	x.lost[node] = x.mix.Fragment(&x.nodes[node])
	x.log[x.logged%int64(len(x.log))] = int32(node)
	x.latest[node] = x.logged
	x.logged++
}

// rate is the score of a node for a shape: minus infinity when it does not fit.
func (x *Index) rate(s *Shape, i int) (float64, uint8) {
	n := &x.nodes[i]
	if !n.Fits(s) {
		return math.Inf(-1), 0
	}
	drop, card := x.mix.Drop(n, s, x.lost[i])
	return drop - x.pull*float64(i), uint8(card)
}

func (x *Index) adopt(s Shape) *rank {
	var r *rank
	if len(x.oldest) < MaxShapes {
		r = &rank{score: make([]float64, len(x.nodes)), card: make([]uint8, len(x.nodes)), tree: make([]int32, 2*x.width)}
		x.oldest = append(x.oldest, r)
	} else {
		r = x.oldest[0]
		for _, o := range x.oldest {
			if o.used < r.used {
				r = o
			}
		}
		delete(x.ranks, r.shape)
	}
	r.shape = s
	x.ranks[s] = r
	x.playAll(r)
	return r
}

func (x *Index) playAll(r *rank) {
	for i := range r.tree {
		r.tree[i] = -1
	}
	for i := range x.nodes {
		r.score[i], r.card[i] = x.rate(&r.shape, i)
		if !math.IsInf(r.score[i], -1) {
			r.tree[x.width+i] = int32(i)
		}
	}
	for i := x.width - 1; i >= 1; i-- {
		r.tree[i] = r.win(r.tree[2*i], r.tree[2*i+1])
	}
	r.seen = x.logged
}

func (x *Index) catchUp(r *rank) {
	if x.logged-r.seen > int64(len(x.log)) {
		x.playAll(r)
		return
	}
	size := int64(len(x.log))
	for ; r.seen < x.logged; r.seen++ {
		if n := x.log[r.seen%size]; x.latest[n] == r.seen { // a node booked again later is played then
			x.play(r, n)
		}
	}
}

func (x *Index) play(r *rank, n int32) {
	score, card := x.rate(&r.shape, int(n))
	if score == r.score[n] && card == r.card[n] {
		return
	}
	r.score[n], r.card[n] = score, card
	at := x.width + int(n)
	r.tree[at] = n
	if math.IsInf(score, -1) {
		r.tree[at] = -1
	}
	for at >>= 1; at >= 1; at >>= 1 {
		r.tree[at] = r.win(r.tree[2*at], r.tree[2*at+1])
	}
}

// win is the better of two nodes; a is before b in the order.
func (r *rank) win(a, b int32) int32 {
	if a < 0 || b >= 0 && r.score[b] > r.score[a] {
		return b
	}
	return a
}
