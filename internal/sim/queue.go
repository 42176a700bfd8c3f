package sim

import (
	"cmp"
	"container/heap"
	"time"
)

// action is something that happens at a time; seq keeps the order of equals.
type action struct {
	at  time.Time
	seq uint64
	do  func()
}

type actions []action

func (a actions) Len() int { return len(a) }
func (a actions) Less(i, j int) bool {
	return cmp.Or(a[i].at.Compare(a[j].at), cmp.Compare(a[i].seq, a[j].seq)) < 0
}
func (a actions) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a *actions) Push(x any)   { *a = append(*a, x.(action)) }
func (a *actions) Pop() any {
	old := *a
	x := old[len(old)-1]
	old[len(old)-1] = action{}
	*a = old[:len(old)-1]
	return x
}

// after schedules something.
func (f *Fleet) after(d time.Duration, do func()) {
	f.seq++
	heap.Push(&f.queue, action{f.now.Add(d), f.seq, do})
}

func (f *Fleet) between(lo, hi time.Duration) time.Duration {
	if hi <= lo {
		return lo
	}
	return lo + time.Duration(f.rng.Int64N(int64(hi-lo)))
}

// Advance plays everything due until a time, which becomes now, and returns the
// events that were delivered, oldest first. A time in the past plays nothing.
func (f *Fleet) Advance(until time.Time) []Emitted {
	for len(f.queue) > 0 && !f.queue[0].at.After(until) {
		a := heap.Pop(&f.queue).(action)
		f.now = a.at
		a.do()
	}
	if until.After(f.now) {
		f.now = until
	}
	out := f.out
	f.out = nil
	return out
}
