package attribution

import (
	"cmp"
	"slices"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
)

// PeakWindow is the span whose highest figure is reported for sizing.
const PeakWindow = 5 * time.Minute

const maxPeaks = 2048

// Share names what a peak is of.
type Share struct {
	Container string
	Device    gpu.UUID
}

// Window is the highest memory of one share in one span.
type Window struct {
	Share
	Task    string
	Family  string
	From    time.Time
	To      time.Time
	Peak    gpu.MiB // highest sum of its processes
	Largest gpu.MiB // highest single process
	Samples int
}

// Peaks keeps the open window of each share. The zero Peaks is ready; it is pure.
type Peaks struct{ open map[Share]Window }

// Observe takes the usages of one sample and returns the windows that ended, each
// share's when its span is over or it is gone. A usage with a figure unknown
// gives no sample: a peak too low would size a task too small.
func (p *Peaks) Observe(usages []Usage, now time.Time) []Window {
	if p.open == nil {
		p.open = map[Share]Window{}
	}
	here := map[Share]bool{}
	var done []Window
	for _, u := range usages {
		k := Share{u.Container.ID, u.Device}
		here[k] = true
		if u.Unknown > 0 {
			continue
		}
		w, ok := p.open[k]
		if ok && (now.Sub(w.From) >= PeakWindow || now.Before(w.From)) {
			done, ok = append(done, w), false
		}
		if !ok {
			if len(p.open) >= maxPeaks {
				continue
			}
			w = Window{Share: k, Task: u.Container.Task, Family: u.Container.Family, From: now}
		}
		w.Peak, w.Largest, w.To, w.Samples = max(w.Peak, u.Memory), max(w.Largest, u.Largest), now, w.Samples+1
		p.open[k] = w
	}
	for k, w := range p.open {
		if !here[k] {
			done = append(done, w)
			delete(p.open, k)
		}
	}
	slices.SortFunc(done, func(a, b Window) int {
		return cmp.Or(cmp.Compare(a.Container, b.Container), cmp.Compare(a.Device, b.Device), a.From.Compare(b.From))
	})
	return done
}

// Now returns the open window of a share.
func (p *Peaks) Now(s Share) (Window, bool) {
	w, ok := p.open[s]
	return w, ok
}
