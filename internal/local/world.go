package local

import (
	"math/rand/v2"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/sim"
	"github.com/bulkhead-ecs/bulkhead/internal/sim/wire"
)

// ClusterName is the name of the simulated cluster.
const ClusterName = "gpu-local"

const (
	worldAccount = "111122223333"
	worldRegion  = "us-east-1"
)

// mix is the order in which instance types are launched, over and over.
var mix = []string{"g6e.xlarge", "g6.xlarge", "g6.12xlarge", "g5.xlarge", "g6.xlarge", "g6e.xlarge", "g6.12xlarge", "p5.48xlarge"}

// settle is how much fleet time passes before anyone looks, so that there is
// something to see.
const settle = 12 * time.Minute

// world is the fleet with those who run it: an Auto Scaling group that replaces
// what ends, and the teams that own the services.
type world struct {
	face     *wire.Server
	rng      *rand.Rand
	wanted   []string // instance types, in the order of launch
	alive    map[*sim.Host]string
	services []*service
	next     map[string]time.Time // of what happens now and then
	mended   []mend
}

// mend ends a failure that ends by itself.
type mend struct {
	at time.Time
	do func(*sim.Fleet)
}

// newWorld launches the hosts and creates the services. The same seed gives the
// same day.
func newWorld(seed uint64, hosts int, start time.Time) (*world, error) {
	w := &world{rng: rand.New(rand.NewPCG(seed, 0x6c6f63616c)), alive: map[*sim.Host]string{}, next: map[string]time.Time{}}
	fleet := sim.New(sim.Config{Seed: seed, Start: start, Cluster: ClusterName, Choice: sim.BestFit, Flaps: true})
	w.face = wire.New(fleet)
	w.face.Unmetered = true // one client in virtual time: ECS's budget is of real time
	for i := range hosts {
		w.wanted = append(w.wanted, mix[i%len(mix)])
	}
	if err := w.scaleOut(fleet); err != nil {
		return nil, err
	}
	return w, w.open(fleet)
}

// scaleOut launches what is missing, as a group with a desired capacity does.
func (w *world) scaleOut(f *sim.Fleet) error {
	there := map[string]int{}
	for _, h := range f.Hosts() {
		if h.EC2State != "terminated" {
			there[h.Shape.Name]++
		}
	}
	for _, shape := range w.wanted {
		if there[shape]--; there[shape] >= 0 {
			continue
		}
		latency := time.Duration(10+w.rng.IntN(50)) * time.Second
		if f.Now().Sub(w.started()) > settle {
			latency += 90 * time.Second
		}
		if _, err := f.Launch(shape, latency); err != nil {
			return err
		}
	}
	return nil
}

// started is when the day began.
func (w *world) started() time.Time { return w.next["start"] }

// advance lets fleet time pass and returns the events that EventBridge delivered.
func (w *world) advance(until time.Time) (out []sim.Emitted, err error) {
	w.face.Do(func(f *sim.Fleet) {
		if w.started().IsZero() {
			w.next["start"] = f.Now()
		}
		out = f.Advance(until)
		if err = w.scaleOut(f); err != nil {
			return
		}
		err = w.live(f)
	})
	return out, err
}
