package sim

import (
	"slices"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
)

// Choice is how ECS chooses among the cards that fit: not documented, so every test
// runs under each.
type Choice int

// The choices.
const (
	FirstFit Choice = iota
	BestFit
	WorstFit
	Random
	PreferShared
	PreferIdle
)

// Choices are all of them.
var Choices = []Choice{FirstFit, BestFit, WorstFit, Random, PreferShared, PreferIdle}

// load is what some tasks take of a host or of a card.
type load struct {
	tasks int
	share gpu.MiB
	whole int // tasks that have whole cards
	cpu   int
	mem   gpu.MiB
	ports []int
}

func (l *load) add(n *need) {
	l.tasks++
	l.share, l.mem = l.share.Add(n.share), l.mem.Add(n.mem)
	l.cpu += n.cpu
	if n.whole != 0 {
		l.whole++
	}
	l.ports = append(l.ports, n.ports...)
}

func (l *load) drop(n *need) {
	l.tasks--
	l.share, l.mem = l.share.Sub(n.share), l.mem.Sub(n.mem)
	l.cpu -= n.cpu
	if n.whole != 0 {
		l.whole--
	}
	for _, p := range n.ports {
		if i := slices.Index(l.ports, p); i >= 0 {
			l.ports = slices.Delete(l.ports, i, i+1)
		}
	}
}

// short names what a host lacks for a task besides cards, given what is taken, or
// is empty.
func (h *Host) short(n *need, taken *load) string {
	switch {
	case taken.cpu+n.cpu > h.Shape.CPU:
		return "RESOURCE:CPU"
	case n.mem > 0 && !n.mem.Fits(taken.mem, h.Shape.Memory):
		return "RESOURCE:MEMORY"
	case slices.ContainsFunc(n.ports, func(p int) bool { return slices.Contains(taken.ports, p) }):
		return "RESOURCE:PORTS"
	}
	return ""
}

// wish is a task to be placed.
type wish struct {
	d                *Definition
	group, startedBy string
	service          *Service
	where            []*Query
	distinct         bool
}

// admits reports whether a host meets the constraints.
func (w *wish) admits(h *Host) bool {
	no := func(q *Query) bool { return !q.Matches(h) }
	if slices.ContainsFunc(w.where, no) || slices.ContainsFunc(w.d.need.where, no) {
		return false
	}
	return !w.distinct || !slices.ContainsFunc(h.tasks, func(t *Task) bool { return t.Group == w.group && t.Desired != "STOPPED" })
}

// choose finds a host and cards for a task in ECS's books: one card for all shares
// of a task, or as many idle ones as it wants whole. Else it says what was missing:
// the last thing that stood in the way anywhere.
func (f *Fleet) choose(w *wish, among []*Host) (*Host, []*Card, string) {
	n := &w.d.need
	var bestHost *Host
	var best []*Card
	var bestScore int64
	why, rank := "RESOURCE:GPU", -1
	missing := func(r int, reason string) {
		if r > rank {
			why, rank = reason, r
		}
	}
	for _, h := range among {
		if h.Status != "ACTIVE" || !h.Connected {
			missing(0, "AGENT")
			continue
		}
		if lack := h.short(n, &h.booked); lack != "" {
			missing(1, lack)
			continue
		}
		sets := f.fitting(h, n)
		if len(sets) == 0 {
			missing(2, "RESOURCE:GPU")
			continue
		}
		if !w.admits(h) {
			missing(3, Unsatisfied)
			continue
		}
		for _, cards := range sets {
			var score int64
			if len(cards) > 0 {
				score = f.score(cards[0], n)
			}
			if bestHost == nil || score > bestScore {
				bestHost, best, bestScore = h, cards, score
			}
			if f.cfg.Choice == FirstFit || len(cards) == 0 {
				return h, cards, ""
			}
		}
	}
	if bestHost == nil {
		return nil, nil, why
	}
	return bestHost, best, ""
}

// Unsatisfied is ECS's reason when constraints leave no host.
const Unsatisfied = "MemberOf placement constraint unsatisfied."

// fitting are the sets of cards of a host that a task could get; the set of none for
// a task without a GPU.
func (f *Fleet) fitting(h *Host, n *need) [][]*Card {
	if n.whole == 0 && n.share == 0 {
		return [][]*Card{nil}
	}
	want := n.whole
	if want == AllGPUs {
		want = len(h.Cards)
	}
	f.sets = f.sets[:0]
	idle := 0
	for i, c := range h.Cards {
		if !c.fits(n, &c.booked) {
			continue
		}
		if n.whole == 0 {
			f.sets = append(f.sets, h.Cards[i:i+1:i+1])
		} else if idle++; idle == want {
			return [][]*Card{idleOf(h, n, want)}
		}
	}
	return f.sets
}

// idleOf are the first idle cards of a host.
func idleOf(h *Host, n *need, want int) []*Card {
	var out []*Card
	for _, c := range h.Cards {
		if len(out) < want && c.fits(n, &c.booked) {
			out = append(out, c)
		}
	}
	return out
}

// score is higher for the better card.
func (f *Fleet) score(c *Card, n *need) int64 {
	left := int64(c.Total.Sub(c.booked.share).Sub(n.share))
	switch f.cfg.Choice {
	case BestFit:
		return -left
	case WorstFit:
		return left
	case Random:
		return f.rng.Int64()
	case PreferShared:
		return int64(min(c.booked.tasks, 1))
	case PreferIdle:
		return -int64(min(c.booked.tasks, 1))
	default:
		return 0
	}
}
