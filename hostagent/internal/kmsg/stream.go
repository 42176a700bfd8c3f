package kmsg

import (
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
)

// Stream is Union and Gate in the order that counts right: every line meets its
// double first, and only then may a burst be folded. Otherwise the doubles of
// folded lines would come out as events of their own. The zero Stream is ready;
// it is pure and used by one goroutine.
type Stream struct {
	union    Union
	gate     Gate
	overflow int64
}

// Kernel takes one Xid line of the kernel. ok is false when it is counted for a
// later Tick.
func (s *Stream) Kernel(device gpu.UUID, l Line, now time.Time) (e Event, ok bool) {
	e = s.union.Kernel(device, l, 1, now)
	return e, s.gate.Pass(device, l, now)
}

// NVML takes one event of the driver.
func (s *Stream) NVML(device gpu.UUID, code int, now time.Time) { s.union.NVML(device, code, now) }

// Tick returns what is due: NVML's events that no line of the kernel met, and
// bursts, folded. Call it at Next, and each ten seconds at least.
func (s *Stream) Tick(now time.Time) []Event {
	var out []Event
	for _, e := range s.union.Due(now) {
		if s.gate.Pass(e.Device, e.Line, e.At) {
			out = append(out, e)
		}
	}
	held, over := s.gate.Take(now)
	s.overflow += over
	for _, f := range held {
		out = append(out, Event{Device: f.Device, Line: f.Line, First: f.First, At: f.Last, Count: f.Count})
	}
	return out
}

// Next is when Tick has an NVML event; zero when none waits.
func (s *Stream) Next() time.Time { return s.union.Next() }

// Overflow counts events of more subjects than are kept apart; they were not told.
func (s *Stream) Overflow() int64 { return s.overflow }
