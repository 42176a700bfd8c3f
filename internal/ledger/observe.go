package ledger

import (
	"slices"
	"strings"
	"time"
)

// Result says what an observation did.
type Result uint8

// Stale and Duplicate change nothing that anyone can see.
const (
	Applied Result = iota
	Duplicate
	Stale
)

// Weight says how much a change matters to others: whether it may wait for the
// next write of the host or must be committed now.
type Weight uint8

const (
	// WeightNone: nothing changed.
	WeightNone Weight = iota
	// WeightTrivial changes are a version that moved on: worth keeping with the
	// next write, never a write of their own where writes are counted.
	WeightTrivial
	// WeightMinor changes are seen but free nothing and forbid nothing (a task runs
	// now, or began to stop and still holds; the agent's connection flapped). Where
	// writes are counted they wait for another change of the host, or for the sweep.
	WeightMinor
	// WeightMajor changes move capacity, or who may be placed.
	WeightMajor
)

// Outcome is what one observation did to a host.
type Outcome struct {
	Result Result
	Weight Weight
}

// ObserveTask merges what was said of a task. Its shares' memory may be unknown;
// its cards may be unknown. Facts that break a law are recorded all the same.
func ObserveTask(h Host, t Task) (Host, Outcome) {
	t.Revived, t.Kept = 0, nil // conclusions of ours, never said by anyone
	t.Heard = laterOf(t.Heard, t.At)
	if t.Version != 0 {
		t.At = time.Time{} // see Task.At: with a version, time must not decide
	}
	t = t.toMillis()
	h, learned := learnCapacity(h, t.Capacity)
	i, known := slices.BinarySearchFunc(h.Tasks, t.ARN, func(x Task, a string) int { return strings.Compare(x.ARN, a) })
	if !known {
		tasks := make([]Task, 0, len(h.Tasks)+4) // one copy, with room for the next
		h.Tasks = append(append(append(tasks, h.Tasks[:i]...), t), h.Tasks[i:]...)
		h.Reservations = dropReservation(h.Reservations, t.StartedBy)
		return h, Outcome{Result: Applied, Weight: WeightMajor}
	}
	next, out := joinTask(h.Tasks[i], t)
	if out.Weight > WeightNone {
		h.Tasks = slices.Clone(h.Tasks)
		h.Tasks[i] = next
	}
	out.Weight = max(out.Weight, learned)
	return h, out
}

// joinTask merges what was said of a task into what is known of it.
func joinTask(old, t Task) (Task, Outcome) {
	revived := max(old.Revived, revivedBy(old, t), revivedBy(t, old))
	heard := laterOf(old.Heard, t.Heard)
	out, next := Outcome{}, t
	c := t.compare(old)
	if c <= 0 {
		next = old
	}
	next = keepCards(next, old, t)
	switch {
	case c > 0:
		out = Outcome{Result: Applied, Weight: max(WeightTrivial, taskWeight(old, next))}
	case !sameHolding(old.Shares, next.Shares):
		out = Outcome{Result: Applied, Weight: WeightMajor} // late, and the first to name the card
	case c == 0:
		out.Result = Duplicate
	default:
		out.Result = Stale
	}
	if kept := next.Kept; kept != nil && (old.Kept == nil || kept.Naming.compare(old.Kept.Naming) != 0) {
		out.Weight = max(out.Weight, WeightTrivial)
	}
	if !heard.Equal(old.Heard) {
		out.Weight = max(out.Weight, WeightTrivial)
	}
	if revived != old.Revived {
		out.Weight = max(out.Weight, WeightMinor)
	}
	next.Revived, next.Heard = revived, heard
	return next, out
}

// revivedBy is the version of b if b claims life for a task that a says stopped.
func revivedBy(a, b Task) int64 {
	if a.Phase == PhaseStopped && b.Phase != PhaseStopped {
		return b.Version
	}
	return 0
}

func taskWeight(old, now Task) Weight {
	if (old.Phase == PhaseStopped) != (now.Phase == PhaseStopped) ||
		old.Tier != now.Tier || !sameHolding(old.Shares, now.Shares) {
		return WeightMajor
	}
	if old.Phase != now.Phase || old.LastStatus != now.LastStatus {
		return WeightMinor
	}
	return WeightTrivial
}

func sameHolding(a, b []TaskShare) bool {
	return slices.EqualFunc(a, b, func(x, y TaskShare) bool {
		return x.Container == y.Container && x.Need == y.Need && x.Sized == y.Sized &&
			x.Memory == y.Memory && x.Compute == y.Compute &&
			slices.Equal(x.GPUs, y.GPUs) && slices.Equal(x.Bad, y.Bad)
	})
}

// learnCapacity notes who owns the instance, which events tell only through a
// task's launch type. It is a fact for ever, so it needs no version.
func learnCapacity(h Host, c CapacityType) (Host, Weight) {
	if c <= h.Fixed.CapacityType {
		return h, WeightNone
	}
	h.Fixed.CapacityType = c
	return h, WeightMinor
}
