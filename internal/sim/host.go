package sim

import (
	"slices"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
)

// Host is a container instance and its EC2 instance. Callers only read it.
type Host struct {
	ARN, EC2, Zone string
	Shape          Shape
	Version        int64
	Status         string // ACTIVE, DRAINING, INACTIVE
	Connected      bool
	Registered     time.Time
	Cards          []*Card
	Attributes     map[string]string // custom ones, at most 10
	EC2State       string
	EC2Impaired    bool
	Health         string // of ACCELERATED_COMPUTE
	HealthAt       time.Time
	HealthReason   string
	MPS            Daemon
	Server         Server
	Silent         bool // the host's own agent reports nothing
	NVMLHang       bool

	Boot, AMI, AgentVersion string
	Launched, Ended         time.Time
	Tags                    map[string]string
	Spot                    bool
	TerminationProtected    bool   // EC2's disableApiTermination
	SSMOffline              bool   // the SSM agent answers nothing
	Group                   *Group // nil outside any
	Lifecycle               string // in its group, in Auto Scaling's words
	ScaleInProtected        bool
	Unhealthy               bool // its group is about to replace it
	waits                   []*wait
	tasks                   []*Task // not STOPPED, oldest first
	booked, held            load
	strikes                 int
	restart, rebooting      bool
	repairing, agentLost    bool
	lastBusy                time.Time
}

// Daemon is the state of the MPS control daemon.
type Daemon string

// The states that the agent's probe tells apart.
const (
	DaemonServing Daemon = "serving"
	DaemonDead    Daemon = "dead"
	DaemonWedged  Daemon = "wedged"
	DaemonSlow    Daemon = "slow" // answers too late for the gate, in time for the probe
)

// Card is one GPU. What ECS booked and what the agent holds are two things.
type Card struct {
	UUID  gpu.UUID
	Total gpu.MiB
	Xids  []int
	// Fault is true from an MPS fault until the last affected client is gone; new
	// clients are refused meanwhile.
	Fault bool
	// Lost is a card that no CUDA call finds any more, until other hardware.
	Lost     bool
	used     gpu.MiB
	clients  int
	affected []*Task
	booked   load
	held     load
}

// Booked is what ECS's books say: tasks and the memory of the shared ones.
func (c *Card) Booked() (tasks int, mem gpu.MiB, whole bool) {
	return c.booked.tasks, c.booked.share, c.booked.whole > 0
}

// fits reports whether a task may join what is taken of a card.
func (c *Card) fits(n *need, taken *load) bool {
	if n.whole != 0 {
		return taken.tasks == 0
	}
	return taken.whole == 0 && n.share.Fits(taken.share, c.Total)
}

// Launch starts an instance outside any group, which registers after latency.
func (f *Fleet) Launch(shape string, latency time.Duration) (*Host, error) {
	s, err := ShapeOf(shape)
	if err != nil {
		return nil, err
	}
	h := f.newHost(s)
	f.after(latency, func() { f.up(h) })
	return h, nil
}

// deal gives a host new cards.
func (f *Fleet) deal(h *Host) {
	h.Cards = nil
	for range h.Shape.Cards {
		h.Cards = append(h.Cards, &Card{UUID: f.uuid(), Total: h.Shape.Total})
	}
}

func (f *Fleet) flap(h *Host) {
	if h.Status == "INACTIVE" {
		return
	}
	if boot := h.Boot; h.Connected && h.EC2State == "running" {
		f.disconnect(h)
		f.after(f.between(time.Second, 20*time.Second), func() {
			if h.EC2State == "running" && h.Boot == boot && !h.Connected && !h.rebooting && !h.agentLost {
				h.Connected = true
				f.hostEvent(h)
			}
		})
	}
	f.after(f.between(15*time.Minute, 2*time.Hour), func() { f.flap(h) })
}

// probeReasons are the agent's words for a daemon's failure, in its own sense: texts are
// chosen.
var probeReasons = map[Daemon]string{DaemonDead: "cannot find the MPS control daemon", DaemonWedged: "MPS control daemon probe timed out"}

// probe is the agent's doctor looking at the daemon: IMPAIRED after three failures
// in a row, OK after one success. It is only asked again while something is wrong;
// a fault starts it again.
func (f *Fleet) probe(h *Host) {
	if h.Status == "INACTIVE" {
		return
	}
	was := h.Health
	switch {
	case h.repairing:
	case h.MPS == DaemonServing || h.MPS == DaemonSlow:
		h.strikes, h.Health, h.HealthReason = 0, "OK", ""
	default:
		if h.strikes++; h.strikes >= 3 {
			h.Health, h.HealthReason = "IMPAIRED", probeReasons[h.MPS]
		}
	}
	if h.Health != was {
		h.HealthAt = f.now
		f.healthEvent(h)
	}
	if h.MPS == DaemonDead || h.MPS == DaemonWedged {
		f.after(20*time.Second, func() { f.probe(h) })
	}
}

// Drain sets a container instance to DRAINING, or to ACTIVE again.
func (f *Fleet) Drain(arn string, draining bool) error {
	h, err := f.Host(arn)
	if err != nil {
		return err
	}
	if h.Status == "REGISTERING" || h.Status == "INACTIVE" {
		return refuse("InvalidParameterException", "The container instance is not registered.")
	}
	if !draining {
		h.Status = "ACTIVE"
		f.hostEvent(h)
		return nil
	}
	h.Status = "DRAINING"
	f.hostEvent(h)
	for _, t := range slices.Clone(h.tasks) {
		if t.service != nil {
			f.stop(t, "ServiceSchedulerInitiated", "Service scheduler drains the container instance")
		}
	}
	return nil
}

// Deregister takes a container instance out of the cluster; its EC2 instance goes on.
// With tasks on it force is needed, and they are lost to ECS.
func (f *Fleet) Deregister(name string, force bool) (*Host, error) {
	h, err := f.ContainerInstance(name)
	if err != nil {
		return nil, err
	}
	if len(h.tasks) > 0 && !force {
		return nil, refuse("InvalidParameterException", "Found running tasks on the instance.")
	}
	h.Status, h.Connected = "INACTIVE", false
	f.fell(h, "Container instance was deregistered")
	delete(f.byInstance, h.ARN)
	f.hostEvent(h)
	return h, nil
}
