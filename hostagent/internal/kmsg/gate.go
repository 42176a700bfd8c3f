package kmsg

import (
	"cmp"
	"slices"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
)

// Limits of Gate. A broken card can log thousands of lines a second; each is
// counted, few are told.
const (
	gateBurst  = 5                // lines of one subject told at once
	gateEvery  = 10 * time.Second // then one each
	gateMost   = 256              // subjects kept
	gateForget = 10 * time.Minute // a subject silent so long is forgotten
)

// Subject is what a burst is about.
type Subject struct {
	Kind    Kind
	Device  gpu.UUID
	Address string // of lines whose card is not known
	Code    int
}

// Folded counts lines that were not told one by one.
type Folded struct {
	Subject
	Count       int64
	First, Last time.Time
	Line        Line // the last of them
}

// Gate limits how often the same subject is told. The zero Gate is ready. It is
// pure: time is an argument.
type Gate struct {
	subjects map[Subject]*bucket
	overflow int64
}

type bucket struct {
	tokens int
	at     time.Time // when a token was added last
	seen   time.Time
	held   Folded
}

// Pass reports whether l, of device, is told now. What it holds back is kept and counted
// until Take.
func (g *Gate) Pass(device gpu.UUID, l Line, now time.Time) bool {
	k := Subject{l.Kind, device, "", l.Code}
	if device == "" {
		k.Address = l.Address
	}
	b := g.subjects[k]
	if b == nil {
		if g.subjects == nil {
			g.subjects = map[Subject]*bucket{}
		}
		g.forget(now)
		if len(g.subjects) >= gateMost {
			g.overflow++
			return false
		}
		b = &bucket{tokens: gateBurst, at: now}
		g.subjects[k] = b
	}
	b.seen = now
	if n := int64(now.Sub(b.at) / gateEvery); n > 0 {
		b.tokens, b.at = int(min(int64(b.tokens)+n, gateBurst)), b.at.Add(time.Duration(n)*gateEvery)
	}
	if b.tokens > 0 {
		b.tokens--
		return true
	}
	if b.held.Count == 0 {
		b.held = Folded{Subject: k, First: now, Last: now}
	}
	// Witnesses may tell out of order: the span covers all that it counts.
	if now.Before(b.held.First) {
		b.held.First = now
	}
	if now.After(b.held.Last) {
		b.held.Last = now
	}
	b.held.Count, b.held.Line = b.held.Count+1, l
	return false
}

// Take returns what was held back since the last Take, in a stable order, and how
// many lines were of more subjects than are kept.
func (g *Gate) Take(now time.Time) (held []Folded, overflow int64) {
	for _, b := range g.subjects {
		if b.held.Count > 0 {
			held = append(held, b.held)
			b.held = Folded{}
		}
	}
	slices.SortFunc(held, func(a, b Folded) int {
		return cmp.Or(a.First.Compare(b.First), cmp.Compare(a.Device, b.Device), cmp.Compare(a.Address, b.Address), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Kind, b.Kind))
	})
	overflow, g.overflow = g.overflow, 0
	g.forget(now)
	return held, overflow
}

func (g *Gate) forget(now time.Time) {
	for k, b := range g.subjects {
		if b.held.Count == 0 && now.Sub(b.seen) > gateForget {
			delete(g.subjects, k)
		}
	}
}
