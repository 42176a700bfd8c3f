package signals

import (
	"fmt"
	"math/bits"
	"strings"
	"time"

	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/nvml"
	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/health"
)

// Windows and bounds of what is judged by rate.
const (
	throttleWindow = 2 * time.Minute
	throttleMost   = 64 // samples kept
	throttleUp     = 50 // percent of the window: it is held down
	throttleDown   = 25 // percent below which it is free again
	replaysPerMin  = 10.0
	busy           = gpu.Percent(10) // below it a link may be narrow to save power
)

const trouble = nvml.ThrottleHWSlowdown | nvml.ThrottleSWThermal | nvml.ThrottleHWThermal | nvml.ThrottlePowerBrake

// throttle judges the share of the window in which the hardware held the clocks
// down: single samples say little. A window is judged from three samples on.
func (l *look) throttle(now time.Time) {
	if l.d.Throttle == nil {
		l.state(health.KindThrottle, false, false, "throttle", "")
		l.state(health.KindPower, false, false, "throttle", "")
		return
	}
	why := *l.d.Throttle & trouble
	w := l.last.throttle[:0]
	for _, t := range l.last.throttle {
		if age := now.Sub(t.at); age >= 0 && age < throttleWindow {
			w = append(w, t)
		}
	}
	w = append(w, throttled{now, why != 0})
	w = w[max(0, len(w)-throttleMost):]
	l.last.throttle = w
	on := 0
	for _, t := range w {
		if t.on {
			on++
		}
	}
	share := 100 * on / len(w)
	switch {
	case len(w) >= 3 && share >= throttleUp:
		l.last.held = true
	case share < throttleDown:
		l.last.held = false
	}
	l.state(health.KindThrottle, true, l.last.held, "throttle", fmt.Sprintf("clocks held down in %d%% of the last %s: %s", share, throttleWindow, throttleWords(why)))
	l.state(health.KindPower, true, why&nvml.ThrottlePowerBrake != 0, "throttle", "power brake")
}

func throttleWords(why uint64) string {
	names := map[uint64]string{nvml.ThrottleHWSlowdown: "hardware slowdown", nvml.ThrottleSWThermal: "software thermal",
		nvml.ThrottleHWThermal: "hardware thermal", nvml.ThrottlePowerBrake: "power brake"}
	var words []string
	for ; why != 0; why &= why - 1 {
		words = append(words, names[1<<bits.TrailingZeros64(why)])
	}
	if words == nil {
		return "not at this moment"
	}
	return strings.Join(words, ", ")
}

// links: a link that was up and is down, or whose errors rose. One that was never
// up is one the board does not connect.
func (l *look) links() {
	if len(l.d.Links) == 0 {
		l.state(health.KindNVLink, false, false, "links", "")
		return
	}
	if l.last.links == nil {
		l.last.links = map[int]link{}
	}
	var what []string
	for _, n := range l.d.Links {
		was := l.last.links[n.ID]
		if was.wasUp && !n.Up {
			what = append(what, fmt.Sprintf("link %d is down", n.ID))
		}
		if was.errors != nil && n.Errors != nil && *n.Errors > *was.errors {
			what = append(what, fmt.Sprintf("link %d had %d errors more", n.ID, *n.Errors-*was.errors))
		}
		if n.Errors != nil {
			was.errors = n.Errors
		}
		was.wasUp = was.wasUp || n.Up
		l.last.links[n.ID] = was
	}
	l.state(health.KindNVLink, true, len(what) > 0, "links", strings.Join(what, ", "))
}

// pcie: replays beyond a rate, or a link narrower or slower than it can be while
// the card works. An idle card says nothing of its width.
func (l *look) pcie(now time.Time) {
	d := l.d
	var what []string
	known := false
	if d.Replays != nil {
		if was := l.last.replays; was != nil && now.After(l.last.replayAt) {
			known = true
			// A counter that went back was reset, not lowered.
			if rate := float64(*d.Replays-min(*was, *d.Replays)) / now.Sub(l.last.replayAt).Minutes(); rate > replaysPerMin {
				what = append(what, fmt.Sprintf("%.0f replays a minute", rate))
			}
		}
		l.last.replays, l.last.replayAt = d.Replays, now
	}
	if d.Utilization != nil && *d.Utilization >= busy {
		if d.Width != nil && d.MaxWidth != nil {
			known = true
			if *d.Width < *d.MaxWidth {
				what = append(what, fmt.Sprintf("x%d of x%d under load", *d.Width, *d.MaxWidth))
			}
		}
		if d.Gen != nil && d.MaxGen != nil {
			known = true
			if *d.Gen < *d.MaxGen {
				what = append(what, fmt.Sprintf("generation %d of %d under load", *d.Gen, *d.MaxGen))
			}
		}
	}
	if !known && d.Replays != nil {
		return // a first look: nothing to compare with yet
	}
	l.state(health.KindPCIe, known, len(what) > 0, "replays", strings.Join(what, ", "))
}
