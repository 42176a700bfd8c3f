package kmsg

import (
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
)

// Windows of Union.
const (
	// unionHold is how long an NVML event waits for the kernel's line of the same
	// Xid, which names the process and comes first as a rule.
	unionHold = 500 * time.Millisecond
	// unionWindow is how far apart the two may be and still be one.
	unionWindow = 5 * time.Second
	unionMost   = 1024
)

// Event is one Xid, by whichever witness told it.
type Event struct {
	Device   gpu.UUID // empty: the address is not known as a card
	Line     Line
	First    time.Time // of those it counts; At for one
	At       time.Time
	FromNVML bool  // only NVML told it
	Both     bool  // the kernel told it and NVML's event was already here
	Count    int64 // at least 1; more for a burst that was folded
}

// Union joins the kernel's Xids and NVML's. One event of a witness matches at
// most one of the other, so five of each are five, not one and not ten. A
// kernel line is never delayed. The zero Union is ready.
type Union struct {
	kernel []pending // told, not yet matched by NVML
	nvml   []pending // waiting for the kernel
}

type pending struct {
	device gpu.UUID
	code   int
	left   int64
	at     time.Time
}

// Kernel takes count lines of one Xid and returns the event to tell.
func (u *Union) Kernel(device gpu.UUID, l Line, count int64, now time.Time) Event {
	count = max(count, 1)
	e := Event{Device: device, Line: l, First: now, At: now, Count: count}
	left := count
	left, u.nvml = match(u.nvml, device, l.Code, left, now)
	e.Both = left < count
	if left > 0 && device != "" {
		u.kernel = keep(u.kernel, pending{device, l.Code, left, now})
	}
	return e
}

// NVML takes one event of the driver; what is not matched comes out of Due.
func (u *Union) NVML(device gpu.UUID, code int, now time.Time) {
	left, rest := match(u.kernel, device, code, 1, now)
	u.kernel = rest
	if left > 0 {
		u.nvml = keep(u.nvml, pending{device, code, 1, now})
	}
}

// Due returns the NVML events that waited long enough for the kernel, in order.
func (u *Union) Due(now time.Time) []Event {
	var out []Event
	rest := u.nvml[:0]
	for _, p := range u.nvml {
		if now.Sub(p.at) < unionHold && !now.Before(p.at) {
			rest = append(rest, p)
			continue
		}
		out = append(out, Event{Device: p.device, Line: Line{Kind: Xid, Code: p.code, Link: -1, Recovery: -1}, First: p.at, At: p.at, FromNVML: true, Count: 1})
	}
	u.nvml = rest
	return out
}

// Next is when Due has something; zero when nothing waits.
func (u *Union) Next() time.Time {
	if len(u.nvml) == 0 {
		return time.Time{}
	}
	return u.nvml[0].at.Add(unionHold)
}

// match takes up to want occurrences from list, oldest first, and drops what is
// out of the window.
func match(list []pending, device gpu.UUID, code int, want int64, now time.Time) (left int64, rest []pending) {
	rest = list[:0]
	for _, p := range list {
		if d := now.Sub(p.at); d > unionWindow || d < -unionWindow {
			continue
		}
		if want > 0 && p.device == device && p.code == code {
			n := min(want, p.left)
			want, p.left = want-n, p.left-n
		}
		if p.left > 0 {
			rest = append(rest, p)
		}
	}
	return want, rest
}

func keep(list []pending, p pending) []pending {
	if len(list) >= unionMost {
		list = append(list[:0], list[1:]...)
	}
	return append(list, p)
}
