package ledger

import (
	"cmp"
	"slices"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
)

// HostSeen is what was said of a container instance at one version of it.
type HostSeen struct {
	Fixed        Fixed
	Registration Registration
	// GPUs are the registered cards; nil when the source did not tell (then the
	// known ones stay), empty when it told that there are none.
	GPUs []gpu.UUID
	// Described are totals and modes, told only by DescribeContainerInstances.
	Described []DeviceTotal
}

// DeviceTotal is one element of gpuDevices.
type DeviceTotal struct {
	UUID  gpu.UUID
	Total gpu.MiB
	Mode  gpu.Mode
}

// ObserveHost merges what ECS said of the container instance itself.
func ObserveHost(h Host, s HostSeen) (Host, Outcome) {
	s.Registration.At, s.Fixed.RegisteredAt = ms(s.Registration.At), ms(s.Fixed.RegisteredAt)
	if s.Registration.Version != 0 {
		s.Registration.At = time.Time{}
	}
	before := h
	newer := s.Registration.compare(h.Registration)
	if newer > 0 {
		h.Registration = s.Registration
	}
	h.Fixed = h.Fixed.join(s.Fixed)
	h.Devices = mergeDevices(h.Devices, s)
	if s.GPUs != nil || len(s.Described) > 0 {
		h.Listed = max(h.Listed, s.Registration.Version+1)
	}
	return h, hostOutcome(before, h, newer)
}

func hostOutcome(before, after Host, newer int) Outcome {
	a, b := before.Registration, after.Registration
	switch {
	case before.Fixed.EC2InstanceID != after.Fixed.EC2InstanceID, !sameCards(before.Devices, after.Devices),
		a.Status != b.Status, a.SharingCapable != b.SharingCapable, before.Fixed != after.Fixed,
		!sameCapacity(before, after):
		return Outcome{Result: Applied, Weight: WeightMajor}
	case a.AgentConnected != b.AgentConnected, a.AgentVersion != b.AgentVersion:
		return Outcome{Result: Applied, Weight: WeightMinor} // it flaps several times an hour by design
	case a != b, before.Listed != after.Listed, !slices.Equal(before.Devices, after.Devices):
		return Outcome{Result: Applied, Weight: WeightTrivial}
	case newer < 0:
		return Outcome{Result: Stale}
	}
	return Outcome{Result: Duplicate}
}

// compare orders what was said of one registration. Like Task.compare it is a
// total order, so that two sayings at one version still merge the same way.
func (r Registration) compare(o Registration) int {
	return cmp.Or(
		cmp.Compare(r.Version, o.Version),
		r.At.Compare(o.At),
		cmp.Compare(r.Status, o.Status),
		cmp.Compare(boolRank(r.AgentConnected), boolRank(o.AgentConnected)),
		cmp.Compare(r.AgentVersion, o.AgentVersion),
		cmp.Compare(boolRank(r.SharingCapable), boolRank(o.SharingCapable)),
	)
}

func (f Fixed) join(o Fixed) Fixed {
	return Fixed{
		EC2InstanceID:    max(f.EC2InstanceID, o.EC2InstanceID),
		InstanceType:     max(f.InstanceType, o.InstanceType),
		Zone:             max(f.Zone, o.Zone),
		AMI:              max(f.AMI, o.AMI),
		CapacityProvider: max(f.CapacityProvider, o.CapacityProvider),
		CapacityType:     max(f.CapacityType, o.CapacityType),
		RegisteredAt:     laterOf(f.RegisteredAt, o.RegisteredAt),
	}
}

func laterOf(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// mergeDevices joins the cards of one saying into the known ones: per card the
// newest registration that listed it, and the total of the newest description.
func mergeDevices(known []DeviceFacts, s HostSeen) []DeviceFacts {
	out := known
	put := func(d DeviceFacts) {
		i, ok := slices.BinarySearchFunc(out, d.UUID, compareDevice)
		if !ok {
			out = slices.Insert(slices.Clone(out), i, d)
			return
		}
		if j := out[i].join(d); j != out[i] {
			out = slices.Clone(out)
			out[i] = j
		}
	}
	v := s.Registration.Version + 1
	for _, u := range s.GPUs {
		put(DeviceFacts{UUID: u, Registered: v, Mode: gpu.ModeUnknown})
	}
	for _, d := range s.Described {
		put(DeviceFacts{UUID: d.UUID, Registered: v, Total: d.Total, Described: v, Mode: d.Mode})
	}
	return out
}

func (d DeviceFacts) join(o DeviceFacts) DeviceFacts {
	r := d
	r.Registered = max(d.Registered, o.Registered)
	if c := cmp.Or(cmp.Compare(o.Described, d.Described), cmp.Compare(boolRank(o.Total != 0), boolRank(d.Total != 0)),
		cmp.Compare(d.Total, o.Total), cmp.Compare(o.Mode, d.Mode)); c > 0 {
		// Two totals at one version: the smaller is the safer to promise from.
		r.Total, r.Described, r.Mode = o.Total, o.Described, o.Mode
	}
	return r
}

func sameCards(a, b []DeviceFacts) bool {
	return slices.EqualFunc(a, b, func(x, y DeviceFacts) bool { return x.UUID == y.UUID })
}

func sameCapacity(a, b Host) bool {
	return slices.EqualFunc(a.Devices, b.Devices, func(x, y DeviceFacts) bool {
		return x.UUID == y.UUID && x.Total == y.Total && a.vanished(x) == b.vanished(y)
	})
}

// vanished reports whether a card that was registered is not any more.
func (h Host) vanished(d DeviceFacts) bool { return d.Registered > 0 && d.Registered < h.Listed }

// ObserveEC2 merges an EC2 state-change notice. Terminated is final for an
// instance; otherwise the later event wins.
func ObserveEC2(h Host, s EC2State) (Host, Outcome) {
	s.At = ms(s.At)
	c := cmp.Or(
		cmp.Compare(boolRank(s.State == "terminated"), boolRank(h.EC2.State == "terminated")),
		s.At.Compare(h.EC2.At),
		cmp.Compare(s.State, h.EC2.State),
	)
	switch {
	case c == 0:
		return h, Outcome{Result: Duplicate}
	case c < 0:
		return h, Outcome{Result: Stale}
	}
	w := WeightMinor
	if h.EC2.State != s.State {
		w = WeightMajor
	}
	h.EC2 = s
	return h, Outcome{Result: Applied, Weight: w}
}

// ObserveHealth merges the checks of a health-change event, each by its own
// change time.
func ObserveHealth(h Host, checks []HealthCheck) (Host, Outcome) {
	out := Outcome{Result: Duplicate}
	for _, c := range checks {
		c.Changed = ms(c.Changed)
		i, ok := slices.BinarySearchFunc(h.Health, c.Type, func(x HealthCheck, t string) int { return cmp.Compare(x.Type, t) })
		if !ok {
			h.Health = slices.Insert(slices.Clone(h.Health), i, c)
			out = Outcome{Result: Applied, Weight: WeightMajor}
			continue
		}
		switch r := c.compare(h.Health[i]); {
		case r > 0:
			h.Health = slices.Clone(h.Health)
			h.Health[i] = c
			out = Outcome{Result: Applied, Weight: WeightMajor}
		case r < 0 && out.Result == Duplicate:
			out.Result = Stale
		}
	}
	return h, out
}

func (c HealthCheck) compare(o HealthCheck) int {
	return cmp.Or(c.Changed.Compare(o.Changed), cmp.Compare(c.Status, o.Status), cmp.Compare(c.Reason, o.Reason))
}

// ObserveLeaving notes that the instance will go. The earliest notice of a cause
// stays: it is the one whose clock runs.
func ObserveLeaving(h Host, l Leaving) (Host, Outcome) {
	l.At = ms(l.At)
	i, ok := slices.BinarySearchFunc(h.Leaving, l.Cause, func(x Leaving, c string) int { return cmp.Compare(x.Cause, c) })
	if !ok {
		h.Leaving = slices.Insert(slices.Clone(h.Leaving), i, l)
		return h, Outcome{Result: Applied, Weight: WeightMajor}
	}
	if !l.At.Before(h.Leaving[i].At) {
		return h, Outcome{Result: Duplicate}
	}
	h.Leaving = slices.Clone(h.Leaving)
	h.Leaving[i] = l
	return h, Outcome{Result: Applied, Weight: WeightMinor}
}
