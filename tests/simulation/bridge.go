package simulation

import (
	"container/heap"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/sim"
)

// message is an event on its way.
type message struct {
	id   string
	due  time.Time
	body []byte
	seq  int
}

// bridge is EventBridge and the queue behind it: at least once, in no order, late.
type bridge struct {
	rng   *rand.Rand
	queue messages
	seq   int
	// late, doubled and lossy turn the faults on.
	late, doubled, lossy bool
	carried              int
}

// retention is for how long EventBridge tries to deliver.
const retention = 24 * time.Hour

// take puts an event on its way.
func (b *bridge) take(e sim.Emitted, id string, bestEffort bool) {
	if bestEffort && b.lossy && b.rng.IntN(40) == 0 {
		return
	}
	b.put(message{id: id, due: e.At.Add(b.delay()), body: e.Body})
	if b.doubled && b.rng.IntN(12) == 0 {
		b.put(message{id: id + " again", due: e.At.Add(b.delay()), body: e.Body})
	}
}

func (b *bridge) put(m message) {
	b.seq++
	m.seq = b.seq
	heap.Push(&b.queue, m)
}

func (b *bridge) delay() time.Duration {
	most := 2 * time.Second
	if b.late {
		switch r := b.rng.IntN(100); {
		case r < 2:
			most = retention
		case r < 10:
			most = 25 * time.Minute
		case r < 30:
			most = time.Minute
		}
	}
	return time.Duration(b.rng.Int64N(int64(most)))
}

// ready are the messages due by now, in no order.
func (b *bridge) ready(now time.Time) []message {
	var out []message
	for len(b.queue) > 0 && !b.queue[0].due.After(now) {
		out = append(out, heap.Pop(&b.queue).(message))
	}
	if b.late {
		b.rng.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	}
	b.carried += len(out)
	return out
}

// messages is a heap by due time, then by order of sending.
type messages []message

func (q messages) Len() int { return len(q) }
func (q messages) Less(i, j int) bool {
	if c := q[i].due.Compare(q[j].due); c != 0 {
		return c < 0
	}
	return q[i].seq < q[j].seq
}
func (q messages) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *messages) Push(x any)   { *q = append(*q, x.(message)) }
func (q *messages) Pop() any {
	old := *q
	x := old[len(old)-1]
	*q = slices.Delete(old, len(old)-1, len(old))
	return x
}
