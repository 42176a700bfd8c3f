package remedy

import (
	"time"

	"pgregory.net/rapid"

	"github.com/bulkhead-ecs/bulkhead/internal/health"
)

func (w *lawful) anyHost() *host {
	var live []*host
	for _, h := range w.hosts {
		if !h.gone && h.reg {
			live = append(live, h)
		}
	}
	if len(live) == 0 {
		return nil
	}
	return rapid.SampledFrom(live).Draw(w.t, "host")
}

// person does something.
func (w *lawful) person() {
	h := w.anyHost()
	if h == nil {
		return
	}
	word := Word{By: "ana", Reason: "because", At: w.now}
	switch rapid.IntRange(0, 8).Draw(w.t, "person") {
	case 0:
		if h.status == StatusActive {
			h.status, h.cordonBy = StatusDraining, "person"
		}
	case 1:
		h.status, h.cordonBy = StatusActive, ""
	case 2:
		h.optOut = !h.optOut
	case 3:
		w.assess(h, health.Signal{Kind: health.KindSetHealthy, Witness: health.WitnessPerson})
	case 4:
		for i, c := range w.cases {
			if c.Instance == h.id && !c.State.Final() {
				w.cases[i], _ = Cancel(c, word)
				w.dead[c.ID] = true
			}
		}
	case 5:
		if w.paused.By == "" {
			w.paused = word
		} else {
			w.paused = Word{}
		}
	case 6:
		for i, b := range w.breakers {
			w.breakers[i], _ = Reset(b, word)
		}
	case 7:
		if w.flips {
			w.policy.Mode = rapid.SampledFrom([]Mode{Observe, Recommend, Act, Act}).Draw(w.t, "mode")
		}
	case 8:
		w.holdOrRelease(h, word)
	}
}

func (w *lawful) holdOrRelease(h *host, word Word) {
	for i, c := range w.cases {
		if c.Instance != h.id || c.State.Final() {
			continue
		}
		if c.Held.By == "" {
			w.cases[i], _ = Hold(c, word)
		} else {
			w.cases[i], _ = Release(c, word)
		}
	}
}

// strike lets something happen.
func (w *lawful) strike() {
	h := w.anyHost()
	if h == nil {
		return
	}
	switch rapid.IntRange(0, 7).Draw(w.t, "strike") {
	case 0, 1:
		s := rapid.SampledFrom(worldFaults).Draw(w.t, "fault")
		w.loud[h.id] = true
		h.sick = append(h.sick, s)
		w.assess(h, s)
	case 2, 3:
		s := rapid.SampledFrom(worldSilences).Draw(w.t, "silence")
		if s.fate != "" {
			if w.fates[h.id] == nil {
				w.fates[h.id] = map[string]bool{}
			}
			w.fates[h.id][s.fate] = true
		}
		w.assess(h, s.signal)
	case 4:
		w.heal(h)
	case 5:
		w.person()
	case 6:
		w.group.exists = rapid.Bool().Draw(w.t, "group")
		w.group.badAMI = rapid.Bool().Draw(w.t, "bad ami")
	case 7:
		if rapid.IntRange(0, 3).Draw(w.t, "ended by others") == 0 {
			h.gone, h.reg, h.lifecycle, h.tasks = true, false, "", nil
		}
	}
}

// live lets the random world run for some ticks.
func (w *lawful) live() {
	for range rapid.IntRange(5, 40).Draw(w.t, "ticks") {
		if rapid.Bool().Draw(w.t, "happens") {
			w.strike()
		}
		w.now = w.now.Add(time.Duration(rapid.SampledFrom([]int{10, 30, 120, 1200}).Draw(w.t, "seconds")) * time.Second)
		w.nature()
		w.loop()
		w.checkAlways()
	}
}
