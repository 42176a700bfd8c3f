package local

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/awsops"
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

// world is the fleet with those who run it: Auto Scaling groups that replace what
// ends, and the teams that own the services.
type world struct {
	face     *wire.Server
	rng      *rand.Rand
	wanted   []string // instance types, in the order of launch
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
	w := &world{rng: rand.New(rand.NewPCG(seed, 0x6c6f63616c)), next: map[string]time.Time{}}
	fleet := sim.New(sim.Config{Seed: seed, Start: start, Cluster: ClusterName, Choice: sim.BestFit, Flaps: true})
	w.face = wire.New(fleet)
	w.face.Unmetered = true // one client in virtual time: ECS's budget is of real time
	for i := range hosts {
		w.wanted = append(w.wanted, mix[i%len(mix)])
	}
	if err := w.groups(fleet); err != nil {
		return nil, err
	}
	documents(fleet)
	return w, w.open(fleet)
}

// groups makes an Auto Scaling group of each instance type: it launches what is
// desired, and again what was lost. Its newcomers wait in a lifecycle hook when they
// go, so that remedies can hold them until their cards are free.
func (w *world) groups(f *sim.Fleet) error {
	count := map[string]int{}
	for _, shape := range w.wanted {
		count[shape]++
	}
	for _, shape := range slices.Sorted(maps.Keys(count)) {
		if _, err := f.CreateGroup(sim.GroupConfig{Name: "gpu-" + strings.ReplaceAll(shape, ".", "-"), Shape: shape, Max: 2*count[shape] + 1, Desired: count[shape], Latency: 90 * time.Second,
			Hooks: []sim.Hook{{Name: awsops.DefaultHook, Transition: "autoscaling:EC2_INSTANCE_TERMINATING", Default: "CONTINUE", Heartbeat: 15 * time.Minute}}}); err != nil {
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
		err = w.live(f)
	})
	return out, err
}
