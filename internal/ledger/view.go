package ledger

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
)

// State is where a share is in its life.
type State string

// Reserved, Bound and Releasing hold memory; the others do not.
const (
	StateReserved  State = "reserved"  // on the host, card not named yet: ours under a lease, or ECS's own
	StateBound     State = "bound"     // ECS named the card
	StateReleasing State = "releasing" // ECS calls it stopping, it still holds
	StateReleased  State = "released"  // STOPPED
	StateExpired   State = "expired"   // a reservation whose lease ran out
	StateLost      State = "lost"      // its host or card went without a word about the task
)

// Holds reports whether a share in this state takes memory from its card.
func (s State) Holds() bool {
	return s == StateReserved || s == StateBound || s == StateReleasing
}

// Share is one container's hold, as it follows from what was observed.
type Share struct {
	TaskARN     string // empty for a reservation
	Reservation string // empty for a task that is not ours
	Container   string
	Need        Need
	Sized       bool
	Memory      gpu.MiB // meaningless unless Sized; a whole card's is the card's total
	Compute     gpu.Percent
	Tier        gpu.Tier
	State       State
	Definition  string
	Group       string
	LastStatus  string
	StoppingAt  time.Time
	StopTimeout time.Duration
	LeaseUntil  time.Time // of a reservation
	GPUs        int       // number of cards the container holds
}

// Device is one card and what stands on it.
type Device struct {
	UUID gpu.UUID
	// Registered is false for a card that ECS named in a task but that the newest
	// registration does not list: vanished, or not seen yet.
	Registered bool
	Vanished   bool
	Mode       gpu.Mode
	Total      gpu.MiB // zero when never told
	Held       gpu.MiB
	Compute    gpu.Percent // sum of the ceilings of holding shares
	Clients    int         // holding containers, the least number of MPS clients
	Shares     []Share     // ordered by task, container
}

// Free is what the card has left, false when its total or one of its shares'
// size is not known. It is negative when more is held than there is.
func (d Device) Free() (gpu.MiB, bool) {
	if d.Total <= 0 {
		return 0, false
	}
	for _, s := range d.Shares {
		if s.State.Holds() && !s.Sized {
			return 0, false
		}
	}
	return d.Total.Sub(d.Held), true
}

// View is a host with what follows from it.
type View struct {
	Host     Host
	Devices  []Device // ordered by UUID
	Unplaced []Share  // on the host, on no card yet: they weigh on every card
}

// View computes cards, shares and states. It is the only place that does.
func (h Host) View(now time.Time) View {
	v := View{Host: h, Devices: make([]Device, 0, len(h.Devices))}
	for _, d := range h.Devices {
		v.Devices = append(v.Devices, Device{
			UUID: d.UUID, Total: d.Total, Mode: d.Mode,
			Registered: d.Registered > 0 && d.Registered == h.Listed,
			Vanished:   h.vanished(d),
		})
	}
	for _, t := range h.Tasks {
		v.addTask(h, t)
	}
	for _, r := range h.Reservations {
		for _, c := range r.Containers {
			s := Share{Reservation: r.ID, Container: c.Name, Need: c.Need, Sized: true, Memory: c.Memory, Compute: c.Compute.OrFull(),
				Tier: r.Tier, State: StateReserved, Definition: r.Definition, LeaseUntil: r.LeaseUntil, GPUs: max(1, c.Count)}
			if r.Expired(now) {
				s.State = StateExpired
			}
			v.Unplaced = append(v.Unplaced, s)
		}
	}
	for i := range v.Devices {
		v.Devices[i].settle()
	}
	slices.SortStableFunc(v.Unplaced, func(a, b Share) int {
		return cmp.Or(strings.Compare(a.TaskARN, b.TaskARN), strings.Compare(a.Reservation, b.Reservation), strings.Compare(a.Container, b.Container))
	})
	return v
}

func (v *View) addTask(h Host, t Task) {
	for _, ts := range t.Shares {
		s := Share{TaskARN: t.ARN, Container: ts.Container, Need: ts.Need, Sized: ts.Sized, Memory: ts.Memory,
			Compute: ts.Compute.OrFull(), Tier: t.Tier, State: taskState(h, t, ts), Definition: t.Definition, Group: t.Group,
			LastStatus: t.LastStatus, StoppingAt: t.StoppingAt, StopTimeout: t.StopTimeout, GPUs: len(ts.GPUs)}
		if len(ts.GPUs) == 0 {
			v.Unplaced = append(v.Unplaced, s)
			continue
		}
		for _, u := range ts.GPUs {
			d := v.device(u)
			own := s
			if d.Vanished && own.State.Holds() {
				own.State = StateLost
			}
			d.Shares = append(d.Shares, own)
		}
	}
}

// device finds a card, adding one that only a task named.
func (v *View) device(u gpu.UUID) *Device {
	i, ok := slices.BinarySearchFunc(v.Devices, u, func(d Device, u gpu.UUID) int { return strings.Compare(string(d.UUID), string(u)) })
	if !ok {
		v.Devices = slices.Insert(v.Devices, i, Device{UUID: u, Mode: gpu.ModeUnknown})
	}
	return &v.Devices[i]
}

func taskState(h Host, t Task, s TaskShare) State {
	switch {
	case t.Phase == PhaseStopped:
		return StateReleased
	case h.Gone():
		return StateLost
	case t.Phase == PhaseStopping:
		return StateReleasing
	case len(s.GPUs) == 0:
		return StateReserved
	}
	return StateBound
}

// settle sums what the card's shares hold and derives its mode from them.
func (d *Device) settle() {
	slices.SortStableFunc(d.Shares, func(a, b Share) int {
		return cmp.Or(strings.Compare(a.TaskARN, b.TaskARN), strings.Compare(a.Container, b.Container))
	})
	var shared, whole, unknown bool
	for i := range d.Shares {
		s := &d.Shares[i]
		if s.whole() {
			s.Memory, s.Sized, s.Compute = d.Total, d.Total > 0, gpu.FullCompute
		}
		if !s.State.Holds() {
			continue
		}
		switch {
		case s.whole():
			whole = true
		case s.Need == NeedShare:
			shared = true
		default:
			unknown = true
		}
		if s.Sized {
			d.Held = d.Held.Add(max(0, s.Memory)) // a share below zero frees nothing for its neighbours
		}
		d.Compute = d.Compute.Add(s.Compute)
		d.Clients++
	}
	switch {
	case whole:
		d.Mode = gpu.ModeDedicated
	case shared:
		d.Mode = gpu.ModeShared
	case !unknown:
		d.Mode = gpu.ModeIdle
	}
}

// whole reports whether the share takes cards, not parts of one. Without a
// definition, two cards for one container can only be whole ones.
func (s Share) whole() bool {
	return s.Need == NeedWhole || s.Need == NeedAll || s.Need == NeedUnknown && s.GPUs > 1
}
