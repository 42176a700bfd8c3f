package local

import (
	"math"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/sim"
)

// service is a service of some team: what its tasks ask for, and how many there
// are for each card of the fleet at full load.
type service struct {
	name, tier string
	perCard    float64
	peak       float64 // hour of its highest load
	stop       time.Duration
	containers []sim.Container
	definition string
}

// teams are the services of the day. Two of them declare what many do: no compute
// ceiling at all, or a stop that takes minutes.
func teams() []*service {
	return []*service{
		{name: "chat", tier: "critical", perCard: 1.3, peak: 14, stop: 90 * time.Second, containers: []sim.Container{{Name: "app", Memory: 8192, Compute: 40}}},
		{name: "embed", tier: "standard", perCard: 1.6, peak: 3, stop: 30 * time.Second, containers: []sim.Container{{Name: "app", Memory: 4096, Compute: 25}, {Name: "tokenizer", Memory: 1024, Compute: 5}}},
		{name: "rank", tier: "standard", perCard: 1.2, peak: 19, stop: 30 * time.Second, containers: []sim.Container{{Name: "app", Memory: 2048}}},
		{name: "vision", tier: "critical", perCard: 0.8, peak: 11, stop: 120 * time.Second, containers: []sim.Container{{Name: "app", Memory: 6144, Compute: 30}}},
		{name: "train", tier: "batch", perCard: 0.15, peak: 23, stop: 60 * time.Second, containers: []sim.Container{{Name: "app", Whole: 1}}},
	}
}

// open creates the services at the load of the hour.
func (w *world) open(f *sim.Fleet) error {
	w.services = teams()
	for _, s := range w.services {
		if err := s.register(f); err != nil {
			return err
		}
		if _, err := f.CreateService(s.name, s.definition, w.load(s, f.Now())); err != nil {
			return err
		}
	}
	return nil
}

// register makes a new revision of the service's task definition.
func (s *service) register(f *sim.Fleet) error {
	d, err := f.RegisterDefinition(sim.Definition{Family: s.name, Containers: s.containers, StopTimeout: s.stop, Tags: map[string]string{"bulkhead:tier": s.tier}})
	if err == nil {
		s.definition = d.ARN
	}
	return err
}

// load is how many tasks a service wants now: a wave over the day.
func (w *world) load(s *service, now time.Time) int {
	cards := 0
	for _, name := range w.wanted {
		if shape, err := sim.ShapeOf(name); err == nil {
			cards += shape.Cards
		}
	}
	hour := float64(now.Hour()) + float64(now.Minute())/60
	wave := 0.65 + 0.35*math.Cos(2*math.Pi*(hour-s.peak)/24)
	return max(1, int(math.Round(s.perCard*wave*float64(cards)))+w.rng.IntN(2))
}

// due reports whether something that happens about every period happens now.
func (w *world) due(what string, now time.Time, period time.Duration) bool {
	at, planned := w.next[what]
	if planned && now.Before(at) {
		return false
	}
	w.next[what] = now.Add(period/2 + time.Duration(w.rng.Int64N(int64(period))))
	return planned
}

// live does what people and chance do in the course of a day.
func (w *world) live(f *sim.Fleet) error {
	now := f.Now()
	for len(w.mended) > 0 && !now.Before(w.mended[0].at) {
		w.mended[0].do(f)
		w.mended = w.mended[1:]
	}
	for _, s := range w.services {
		if !w.due("scale "+s.name, now, 10*time.Minute) {
			continue
		}
		if err := f.UpdateService(s.name, "", w.load(s, now)); err != nil {
			return err
		}
	}
	if w.due("deploy", now, 90*time.Minute) {
		s := w.services[w.rng.IntN(len(w.services))]
		if err := s.register(f); err != nil {
			return err
		}
		if err := f.UpdateService(s.name, s.definition, w.load(s, now)); err != nil {
			return err
		}
	}
	return w.fail(f, now)
}

// fail makes something break, about once in some hours each.
func (w *world) fail(f *sim.Fleet, now time.Time) error {
	for _, x := range []struct {
		every time.Duration
		fault sim.Fault
		mends time.Duration
	}{
		{5 * time.Hour, sim.Fault{Kind: "spot"}, 0},
		{4 * time.Hour, sim.Fault{Kind: "xid", Xid: 31}, 0},
		{7 * time.Hour, sim.Fault{Kind: "mps-fault"}, 0},
		{9 * time.Hour, sim.Fault{Kind: "mps-dead"}, 15 * time.Minute},
	} {
		if !w.due("fail "+x.fault.Kind, now, x.every) {
			continue
		}
		h := w.victim(f)
		if h == nil {
			continue
		}
		fault := x.fault
		fault.Host, fault.Card = h.ARN, w.rng.IntN(len(h.Cards))
		if err := f.Inject(fault); err != nil {
			return err
		}
		if x.mends > 0 {
			w.mended = append(w.mended, mend{now.Add(x.mends), func(f *sim.Fleet) {
				if h.EC2State == "running" {
					_ = f.Inject(sim.Fault{Kind: "mps-recover", Host: h.ARN}) // a host that went meanwhile needs none
				}
			}})
		}
	}
	return nil
}

// victim is a host that runs, not one of the large ones: they are few.
func (w *world) victim(f *sim.Fleet) *sim.Host {
	var able []*sim.Host
	for _, h := range f.Hosts() {
		if h.Status == "ACTIVE" && h.MPS == sim.DaemonServing && len(h.Cards) < 8 {
			able = append(able, h)
		}
	}
	if len(able) < 2 {
		return nil
	}
	return able[w.rng.IntN(len(able))]
}

// used is how much of its share a container really takes: most ask for more than
// they use, and a few use more than they ask for.
func used(h sim.Holding) gpu.MiB {
	n := uint32(2166136261)
	for _, b := range []byte(h.Task + h.Container) {
		n = (n ^ uint32(b)) * 16777619
	}
	percent := gpu.MiB(55 + n%42)
	if n%29 == 0 {
		percent = 108
	}
	return h.Memory * percent / 100
}
