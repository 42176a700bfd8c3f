package signals

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/health"
)

// How readings are folded.
const (
	oneByOne  = 4               // readings after a turn, told as they come
	badEvery  = time.Minute     // then, while bad
	wellEvery = 5 * time.Minute // and while well: a truth that outranks a later Xid must be fresh
)

// reading is one look at one state.
type reading struct {
	kind    health.Kind
	device  gpu.UUID
	witness health.Witness
	is      health.Reading
	value   float64
	valued  bool
	text    string
}

type subject struct {
	kind    health.Kind
	device  gpu.UUID
	witness health.Witness
}

// track is how a subject was told so far.
type track struct {
	is    health.Reading
	run   int       // readings since the turn
	told  time.Time // last signal
	held  int64     // readings since that signal
	first time.Time // of those held
}

// Evaluate returns the next state and the signals to report now, in a stable
// order. prev is not changed. A new boot forgets all that was before it.
func Evaluate(prev State, in Input, now time.Time) (State, []health.Signal) {
	st := prev.clone()
	if st.bootID != in.BootID {
		st = State{bootID: in.BootID}.clone()
	}
	readings := st.host(in, now)
	for _, id := range in.OffBus {
		c := st.cards[id]
		c.offBus = true
		st.cards[id] = c
	}
	for _, id := range slices.Sorted(maps.Keys(st.cards)) {
		if st.cards[id].offBus {
			readings = append(readings, reading{kind: health.KindGPULost, device: id, witness: health.WitnessKernelLog, text: "the kernel says that the GPU fell off the bus"})
		}
	}
	if in.Fresh {
		for i := range in.Sample.Devices {
			readings = append(readings, st.device(&in.Sample.Devices[i], now)...)
		}
	}
	var out []health.Signal
	for _, r := range readings {
		if s, ok := st.fold(r, now); ok {
			out = append(out, s)
		}
	}
	slices.SortStableFunc(out, func(a, b health.Signal) int {
		return cmp.Or(cmp.Compare(a.Device, b.Device), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Witness, b.Witness))
	})
	return st, out
}

func (st State) clone() State {
	clone := func(c card) card {
		c.links = maps.Clone(c.links)
		c.throttle = slices.Clone(c.throttle)
		return c
	}
	cards := make(map[gpu.UUID]card, len(st.cards))
	for id, c := range st.cards {
		cards[id] = clone(c)
	}
	st.cards = cards
	tracks, byIndex := make(map[subject]track, len(st.tracks)), make(map[int]gpu.UUID, len(st.byIndex))
	maps.Copy(tracks, st.tracks)
	maps.Copy(byIndex, st.byIndex)
	st.tracks, st.byIndex = tracks, byIndex
	return st
}

// fold decides whether r is told now, and as how many.
func (st *State) fold(r reading, now time.Time) (health.Signal, bool) {
	k := subject{r.kind, r.device, r.witness}
	t, known := st.tracks[k]
	if !known || t.is != r.is {
		t = track{is: r.is}
	}
	if t.held == 0 {
		t.first = now
	}
	t.run, t.held = min(t.run+1, oneByOne+1), t.held+1
	every := wellEvery
	if r.is == health.Seen {
		every = badEvery
	}
	if t.run > oneByOne && now.Sub(t.told) < every && !now.Before(t.told) {
		st.tracks[k] = t
		return health.Signal{}, false
	}
	s := health.Signal{Kind: r.kind, Device: r.device, Witness: r.witness, BootID: st.bootID, Reading: r.is, Text: r.text,
		Value: r.value, HasValue: r.valued, Count: t.held, FirstSeen: t.first, LastSeen: now}
	t.told, t.held = now, 0
	st.tracks[k] = t
	return s, true
}
