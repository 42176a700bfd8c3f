package sim

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

// choose finds a host and cards for a task in ECS's books: one card for all shares
// of a task, or as many idle ones as it wants whole.
func (f *Fleet) choose(d *Definition, among []*Host) (*Host, []*Card, bool) {
	var bestHost *Host
	var best []*Card
	var bestScore int64
	for _, h := range among {
		if h.Status != "ACTIVE" || !h.Connected {
			continue
		}
		if d.Whole() == 0 && d.Memory() == 0 {
			return h, nil, true
		}
		for _, cards := range fitting(h, d) {
			score := f.score(cards[0], d)
			if best == nil || score > bestScore {
				bestHost, best, bestScore = h, cards, score
			}
			if f.cfg.Choice == FirstFit {
				return bestHost, best, true
			}
		}
	}
	return bestHost, best, best != nil
}

// fitting are the sets of cards of a host that a task could get.
func fitting(h *Host, d *Definition) [][]*Card {
	var out [][]*Card
	var idle []*Card
	for _, c := range h.Cards {
		if !c.fits(d, c.booked) {
			continue
		}
		if d.Whole() == 0 {
			out = append(out, []*Card{c})
		} else if idle = append(idle, c); len(idle) == d.Whole() {
			return [][]*Card{idle}
		}
	}
	return out
}

// score is higher for the better card.
func (f *Fleet) score(c *Card, d *Definition) int64 {
	n, mem, _ := c.Booked()
	left := int64(c.Total.Sub(mem).Sub(d.Memory()))
	switch f.cfg.Choice {
	case BestFit:
		return -left
	case WorstFit:
		return left
	case Random:
		return f.rng.Int64()
	case PreferShared:
		return int64(min(n, 1))
	case PreferIdle:
		return -int64(min(n, 1))
	default:
		return 0
	}
}
