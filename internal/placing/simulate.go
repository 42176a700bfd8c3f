package placing

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/placement"
)

// Simulation says how many copies of a demand fit now.
type Simulation struct {
	// Fits is the number of copies that fit whichever way ECS chooses cards: the lower
	// of the two runs below. It stops at the count that was asked for.
	Fits int
	// AtMost is the number that fits when ECS chooses as luckily as it may.
	AtMost int
	Where  []HostCopies // of the run that Fits comes from, most copies first
	// Why says why no more: empty when all that were asked for fit.
	Why string
	// Changes are what would make them fit, the cheapest first.
	Changes []Change
}

// HostCopies is how many copies a host takes.
type HostCopies struct {
	Host   string
	Copies int
}

// Change is one change that makes every copy fit.
type Change struct {
	Kind  string // mode, tier, compute, memory, host
	Value string
	Text  string
}

// cardChoice is a way in which ECS may choose among the cards that fit by memory: it is
// not documented, so the tightest and the emptiest both count.
type cardChoice func(a, b gpu.MiB) bool

func tightest(a, b gpu.MiB) bool { return a < b }
func emptiest(a, b gpu.MiB) bool { return a > b }

// Simulate places count copies in memory, one after another, and says what would make
// those fit that do not. A *placement.Refusal is a demand that is wrong in itself.
func Simulate(v placement.View, d placement.Demand, p placement.Policy, count int) (Simulation, error) {
	low, err := fill(v, d, p, count, emptiest)
	if err != nil {
		return Simulation{}, err
	}
	high, err := fill(v, d, p, count, tightest)
	if err != nil {
		return Simulation{}, err
	}
	if high.Fits < low.Fits {
		low, high = high, low
	}
	low.AtMost = high.Fits
	if low.Fits < count {
		low.Changes = changes(v, d, p, count)
	}
	return low, nil
}

// fill places copies until one does not fit, binding each to the card that the choice
// takes.
func fill(v placement.View, d placement.Demand, p placement.Policy, count int, choice cardChoice) (Simulation, error) {
	w := placement.View{Hosts: slices.Clone(v.Hosts)}
	owned := map[int]bool{}
	copies := map[string]int{}
	var s Simulation
	for s.Fits < count {
		pl, why, err := placement.Decide(w, d, p)
		if err != nil {
			return s, err
		}
		if pl.Host == "" {
			s.Why = why.String()
			break
		}
		i := slices.IndexFunc(w.Hosts, func(h placement.HostView) bool { return h.ID == pl.Host })
		if !owned[i] {
			w.Hosts[i].Devices = slices.Clone(w.Hosts[i].Devices)
			owned[i] = true
		}
		if !bindOne(&w.Hosts[i], d, choice) {
			s.Why = why.String()
			break
		}
		copies[pl.Host]++
		s.Fits++
	}
	for h, n := range copies {
		s.Where = append(s.Where, HostCopies{h, n})
	}
	slices.SortFunc(s.Where, func(a, b HostCopies) int { return cmp.Or(cmp.Compare(b.Copies, a.Copies), cmp.Compare(a.Host, b.Host)) })
	return s, nil
}

// bindOne puts a copy on the card that ECS chooses by memory.
func bindOne(h *placement.HostView, d placement.Demand, choice cardChoice) bool {
	best := -1
	for i, c := range h.Devices {
		if !c.Sized || c.Mode == gpu.ModeDedicated || c.Mode == gpu.ModeUnknown || !d.Memory.Fits(c.Held, c.Total) {
			continue
		}
		if best < 0 || choice(c.Total.Sub(c.Held), h.Devices[best].Total.Sub(h.Devices[best].Held)) {
			best = i
		}
	}
	if best < 0 {
		return false
	}
	c := &h.Devices[best]
	c.Held, c.Compute, c.Mode = c.Held.Add(d.Memory), c.Compute.Add(d.Compute.OrFull()), gpu.ModeShared
	c.Clients++
	c.Tiers = append(slices.Clone(c.Tiers), d.Tier)
	return true
}

// changes looks for what would make count copies fit, the cheapest first: what changes
// nothing of the task, then less compute, less memory, and at last more hardware.
func changes(v placement.View, d placement.Demand, p placement.Policy, count int) []Change {
	fits := func(v placement.View, d placement.Demand, p placement.Policy) bool {
		for _, choice := range []cardChoice{emptiest, tightest} {
			if s, err := fill(v, d, p, count, choice); err != nil || s.Fits < count {
				return false
			}
		}
		return true
	}
	var out []Change
	if o := p; !p.Optimistic {
		o.Optimistic = true
		if fits(v, d, o) {
			out = append(out, Change{"mode", string(Optimistic), "place optimistically: one card of a host must keep the policy instead of every one, and a breach is dealt with afterwards"})
		}
	}
	for _, t := range sortedTiers(p) {
		if o := d; t != d.Tier {
			if o.Tier = t; fits(v, o, p) {
				out = append(out, Change{"tier", string(t), fmt.Sprintf("run them in the tier %s", t)})
			}
		}
	}
	if c := most(1, int(d.Compute.OrFull())-1, func(n int) bool { o := d; o.Compute = gpu.Percent(n); return fits(v, o, p) }); c > 0 {
		out = append(out, Change{"compute", fmt.Sprint(c), fmt.Sprintf("lower the ceiling from %d to %d percent", d.Compute.OrFull(), c)})
	}
	if m := most(1, int(d.Memory)-1, func(n int) bool { o := d; o.Memory = gpu.MiB(n); return fits(v, o, p) }); m > 0 {
		out = append(out, Change{"memory", fmt.Sprint(m), fmt.Sprintf("lower the memory from %s to %d MiB", d.Memory, m)})
	}
	return append(out, moreHosts(v, count, func(v placement.View) bool { return fits(v, d, p) })...)
}

func sortedTiers(p placement.Policy) []gpu.Tier {
	var out []gpu.Tier
	for t := range p.Tiers {
		out = append(out, t)
	}
	slices.Sort(out)
	return out
}

// most is the largest n from low to high for which ok holds, zero when none. ok must
// hold below any n for which it holds.
func most(low, high int, ok func(int) bool) int {
	best := 0
	for low <= high {
		mid := low + (high-low)/2
		if ok(mid) {
			best, low = mid, mid+1
		} else {
			high = mid - 1
		}
	}
	return best
}

// maxNewHosts bounds how many new hosts are tried.
const maxNewHosts = 8

// moreHosts finds, for each instance type of the fleet, the fewest new hosts that do.
func moreHosts(v placement.View, count int, fits func(placement.View) bool) []Change {
	fresh := map[string]placement.HostView{}
	for _, h := range v.Hosts {
		if _, ok := fresh[h.InstanceType]; !ok && h.InstanceType != "" && h.Capable && !h.Managed && len(h.Devices) > 0 {
			fresh[h.InstanceType] = empty(h)
		}
	}
	var types []string
	for t := range fresh {
		types = append(types, t)
	}
	slices.Sort(types)
	var out []Change
	for _, t := range types {
		w := placement.View{Hosts: slices.Clone(v.Hosts)}
		for n := 1; n <= min(count, maxNewHosts); n++ {
			h := fresh[t]
			h.ID = fmt.Sprintf("new %s %d", t, n)
			w.Hosts = append(w.Hosts, h)
			if fits(w) {
				out = append(out, Change{"host", fmt.Sprintf("%d %s", n, t), fmt.Sprintf("add %d host(s) of type %s", n, t)})
				break
			}
		}
	}
	return out
}

// empty is a host as a new one of its kind would be.
func empty(h placement.HostView) placement.HostView {
	h.Active, h.Leaving, h.Impaired, h.Waiting = true, false, false, nil
	var cards []placement.Device
	for _, c := range h.Devices {
		cards = append(cards, placement.Device{UUID: c.UUID, Total: c.Total, Sized: c.Total > 0, Mode: gpu.ModeIdle})
	}
	h.Devices = cards
	return h
}
