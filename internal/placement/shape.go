package placement

// MaxCards bounds the cards of one node; EC2's largest instances have 16.
const MaxCards = 16

// Shape is what scoring knows of a demand. Shapes are compared by value: equal
// ones share their ranking in an Index.
type Shape struct {
	CPU    int64 // host CPU, in the unit of Node.CPU
	Memory int64 // host memory, in the unit of Node.Memory
	Cards  int32 // number of cards, zero for none
	Share  int32 // part of each card, in the unit of Node.Free
	// Models is a set of bits, one a card model; zero allows every model.
	Models uint64
}

// Node is what scoring knows of a host: what is free on it.
type Node struct {
	CPU    int64
	Memory int64
	Model  uint64 // one bit
	Total  int32  // of each card; unit of Free (MiB, or thousandths of a card)
	Cards  int32
	Free   [MaxCards]int32
}

// Fits reports whether the shape fits the node now, by CPU, host memory, model
// and cards.
func (n *Node) Fits(s *Shape) bool {
	if s.CPU > n.CPU || s.Memory > n.Memory {
		return false
	}
	if s.Cards <= 0 {
		return true
	}
	if s.Models != 0 && s.Models&n.Model == 0 {
		return false
	}
	var able int32
	for _, f := range n.Free[:n.Cards] {
		if f >= s.Share {
			able++
		}
	}
	return able >= s.Cards
}

// take books the shape. A demand for one card takes card; one for several takes
// the first that have room. The caller knows that it fits.
func (n *Node) take(s *Shape, card int) (used uint32) {
	n.CPU -= s.CPU
	n.Memory -= s.Memory
	if s.Cards == 1 {
		n.Free[card] -= s.Share
		return 1 << card
	}
	left := s.Cards
	for i := 0; left > 0 && i < int(n.Cards); i++ {
		if n.Free[i] >= s.Share {
			n.Free[i] -= s.Share
			used |= 1 << i
			left--
		}
	}
	return used
}

// give undoes take; used is what take returned.
func (n *Node) give(s *Shape, used uint32) {
	n.CPU += s.CPU
	n.Memory += s.Memory
	for i := range n.Free[:n.Cards] {
		if used&(1<<i) != 0 {
			n.Free[i] += s.Share
		}
	}
}
