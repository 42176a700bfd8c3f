package readiness

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

// seen gathers a service over its hosts.
type seen struct {
	name      string
	capacity  map[string]bool
	tiers     map[string]bool
	tasks     map[string]bool
	unwatched map[string]bool
	watched   bool // on EC2, by our agent
}

func serviceName(group string) string {
	name, ok := strings.CutPrefix(group, "service:")
	if ok {
		return name
	}
	return cmp.Or(group, "(none)")
}

func addServices(all map[string]*seen, v ledger.View, in Input, now time.Time) {
	h := v.Host
	heard := in.Heard[h.Fixed.EC2InstanceID]
	awake := !heard.At.IsZero() && now.Sub(heard.At) <= in.Silence && heard.MPS != "" && heard.MPS != "unknown"
	each(v, func(s ledger.Share) {
		name := serviceName(s.Group)
		x, ok := all[name]
		if !ok {
			x = &seen{name: name, capacity: map[string]bool{}, tiers: map[string]bool{}, tasks: map[string]bool{}, unwatched: map[string]bool{}}
			all[name] = x
		}
		x.capacity[capacity(h)], x.tasks[s.TaskARN] = true, true
		if s.Tier != "" {
			x.tiers[string(s.Tier)] = true
		}
		switch {
		case h.Fixed.CapacityType == ledger.CapacityManaged:
		case awake:
			x.watched = true
		default:
			x.unwatched[cmp.Or(h.Fixed.EC2InstanceID, h.ID.Instance)] = true
		}
	})
}

// each calls f for every holding share of a task.
func each(v ledger.View, f func(ledger.Share)) {
	for _, d := range v.Devices {
		for _, s := range d.Shares {
			if s.State.Holds() && s.TaskARN != "" {
				f(s)
			}
		}
	}
	for _, s := range v.Unplaced {
		if s.State.Holds() && s.TaskARN != "" {
			f(s)
		}
	}
}

func (s *seen) judge() Service {
	out := Service{Name: s.name, Capacity: sorted(s.capacity), Tiers: sorted(s.tiers), Tasks: len(s.tasks), Unwatched: sorted(s.unwatched), Verdict: Pass}
	var who []string
	if s.capacity[string(ledger.CapacityManaged)] {
		who = append(who, "Amazon ECS (Managed Instances)")
	}
	if s.watched {
		who = append(who, "the Bulkhead agent")
	}
	if n := len(s.unwatched); n > 0 {
		who = append(who, "nobody on "+strconv.Itoa(n)+" host(s)")
		out.Verdict = Fail
	}
	out.Watcher = strings.Join(who, ", ")
	return out
}

// coTenant describes a card that more than one task holds.
func coTenant(v ledger.View, d ledger.Device) (CoTenant, bool) {
	services, tiers, tasks := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, s := range d.Shares {
		if s.State.Holds() && s.TaskARN != "" {
			services[serviceName(s.Group)], tasks[s.TaskARN] = true, true
			if s.Tier != "" {
				tiers[string(s.Tier)] = true
			}
		}
	}
	c := CoTenant{GPU: d.UUID, EC2: v.Host.Fixed.EC2InstanceID, Services: sorted(services), Tiers: sorted(tiers), Tasks: len(tasks), Mixed: len(tiers) > 1}
	return c, len(tasks) > 1
}

func sorted(m map[string]bool) []string {
	out := slices.Sorted(maps.Keys(m))
	if out == nil {
		out = []string{}
	}
	return out
}
