package ledger

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// A task's cards are named once and do not change while it lives, so a later
// saying that names none (a sparse event, a description cut short) takes nothing
// back: the cards of the newest saying that named any stay. Kept is what that
// needs to stay a join: the winning saying's own shares, and the newest naming.
type Kept struct {
	Own    []TaskShare // shares as the winning saying had them, without a card
	Naming Naming
}

// Naming is the newest saying that named a card, as far as order needs it.
type Naming struct {
	Phase   Phase
	Version int64
	At      time.Time
	Shares  []TaskShare
}

// own are the shares as the task's own saying had them.
func (a Task) own() []TaskShare {
	if a.Kept != nil {
		return a.Kept.Own
	}
	return a.Shares
}

// naming is the newest that named a card; false when nothing did yet.
func (a Task) naming() (Naming, bool) {
	if a.Kept != nil {
		return a.Kept.Naming, true
	}
	return Naming{Phase: a.Phase, Version: a.Version, At: a.At, Shares: a.Shares}, namesCard(a.Shares)
}

func namesCard(shares []TaskShare) bool {
	return slices.ContainsFunc(shares, func(s TaskShare) bool { return len(s.GPUs) > 0 || len(s.Bad) > 0 })
}

// compare orders namings as a prefix of Task.compare does: so a task whose own
// saying names cards is its own newest naming.
func (n Naming) compare(o Naming) int {
	return cmp.Or(
		cmp.Compare(boolRank(n.Phase == PhaseStopped), boolRank(o.Phase == PhaseStopped)),
		cmp.Compare(n.Version, o.Version),
		n.At.Compare(o.At),
		cmp.Compare(n.Phase, o.Phase),
		compareShares(n.Shares, o.Shares),
	)
}

// keepCards gives the winner of a join the newest naming of both.
func keepCards(winner, a, b Task) Task {
	own := winner.own()
	winner.Shares, winner.Kept = own, nil
	if namesCard(own) {
		return winner
	}
	na, okA := a.naming()
	nb, okB := b.naming()
	switch {
	case !okA && !okB:
		return winner
	case !okA || okB && nb.compare(na) > 0:
		na = nb
	}
	winner.Kept = &Kept{Own: own, Naming: na}
	winner.Shares = winner.Kept.Shares()
	return winner
}

// Shares are the winning saying's shares on the cards that were named.
func (k Kept) Shares() []TaskShare {
	out := slices.Clone(k.Own)
	for _, n := range k.Naming.Shares {
		i := slices.IndexFunc(out, func(s TaskShare) bool { return s.Container == n.Container })
		switch {
		case i < 0:
			out = append(out, n)
		case out[i].Need == NeedUnknown:
			out[i] = n
		default:
			out[i].GPUs, out[i].Bad = n.GPUs, n.Bad
		}
	}
	slices.SortStableFunc(out, func(a, b TaskShare) int { return strings.Compare(a.Container, b.Container) })
	return out
}
