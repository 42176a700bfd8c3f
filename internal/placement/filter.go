package placement

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
)

// refused is one filter's no: a stable token and a detail for people.
type refused struct{ reason, detail string }

// hostFilters run in this order; the first no counts.
var hostFilters = []struct {
	reason string
	keeps  func(*HostView) bool
}{
	{"ManagedInstances", func(h *HostView) bool { return !h.Managed }},
	{"HostNotActive", func(h *HostView) bool { return h.Active }},
	{"HostLeaving", func(h *HostView) bool { return !h.Leaving }},
	{"HostImpaired", func(h *HostView) bool { return !h.Impaired }},
	{"SharingNotCapable", func(h *HostView) bool { return h.Capable }},
	{"NoCards", func(h *HostView) bool { return len(h.Devices) > 0 }},
}

// byMemory is what ECS itself looks at. Sizes that are not known fail it.
func byMemory(c *Device, d Demand) bool {
	return c.Sized && c.Mode != gpu.ModeDedicated && c.Mode != gpu.ModeUnknown && d.Memory.Fits(c.Held, c.Total)
}

// byPolicy is what ECS does not look at; nil when the card keeps the policy.
func byPolicy(c *Device, d Demand, p Policy) *refused {
	if c.Clients >= gpu.MaxClients {
		return &refused{"ClientLimit", fmt.Sprintf("%d clients of %d", c.Clients, gpu.MaxClients)}
	}
	budget := p.Tiers[d.Tier].Budget.OrFull()
	for _, t := range c.Tiers {
		mine, theirs := p.Tiers[d.Tier].Neighbours, p.Tiers[t].Neighbours
		if mine == Exclusive || theirs == Exclusive || t != d.Tier && (mine == Same || theirs != Any) {
			return &refused{"TierConflict", "with " + string(t)}
		}
		budget = min(budget, p.Tiers[t].Budget.OrFull())
	}
	if sum := c.Compute.Add(d.Compute.OrFull()); sum > budget {
		return &refused{"ComputeBudgetExceeded", fmt.Sprintf("by %d %%", sum-budget)}
	}
	return nil
}

// weighed is the host's cards with all that waits counted on each: a hold with
// no card yet can come down on any of them.
func weighed(h *HostView) []Device {
	out := slices.Clone(h.Devices)
	for i := range out {
		c := &out[i]
		c.Tiers = slices.Clone(c.Tiers)
		for _, w := range h.Waiting {
			if w.Whole || w.Unsized {
				c.Sized = false
			}
			c.Held = c.Held.Add(w.Memory)
			c.Compute = c.Compute.Add(w.Compute)
			c.Clients++
			c.Tiers = append(c.Tiers, w.Tier)
		}
	}
	return out
}

// judge says whether the host takes the demand. A card is ECS's to pick when it
// fits by memory without what waits, since what waits may land elsewhere.
func judge(h *HostView, d Demand, p Policy) *refused {
	for _, f := range hostFilters {
		if !f.keeps(h) {
			return &refused{reason: f.reason}
		}
	}
	cards := weighed(h)
	var no *refused
	kept, fits := 0, 0
	for i := range cards {
		roomy := byMemory(&cards[i], d)
		if roomy {
			fits++
		} else if !byMemory(&h.Devices[i], d) {
			continue
		}
		switch r := byPolicy(&cards[i], d, p); {
		case r == nil && roomy:
			kept++
		case r != nil && no == nil:
			no = r
		}
	}
	switch {
	case fits == 0:
		return &refused{"MemoryShort", ""}
	case kept == 0 || no != nil && !p.Optimistic:
		return no
	}
	return nil
}

// HostReason is why one host was refused.
type HostReason struct{ Host, Reason, Detail string }

// Explanation counts the reasons and keeps every host's.
type Explanation struct {
	Hosts  int // looked at
	Fit    int // that would take the demand
	Reason []HostReason
}

// String is one line: "5/8 hosts: ComputeBudgetExceeded by 40 %; 3/8: TierConflict with critical".
func (e Explanation) String() string {
	count, detail := map[string]int{}, map[string]string{}
	var order []string
	for _, r := range e.Reason {
		if count[r.Reason] == 0 {
			order = append(order, r.Reason)
			detail[r.Reason] = r.Detail
		}
		count[r.Reason]++
	}
	slices.SortFunc(order, func(a, b string) int { return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b)) })
	var b strings.Builder
	for i, r := range order {
		if i > 0 {
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, "%d/%d hosts: %s", count[r], e.Hosts, strings.TrimSpace(r+" "+detail[r]))
	}
	return b.String()
}

// Placement is the host chosen for a demand.
type Placement struct{ Host string }

// Decide chooses the host with the least free memory on the tightest card that
// fits, ties by id. The explanation is kept whether one was found or not. A
// *Refusal is returned for a demand that is wrong in itself.
func Decide(v View, d Demand, p Policy) (Placement, Explanation, error) {
	if r := d.check(v, p); r != nil {
		return Placement{}, Explanation{}, r
	}
	e := Explanation{Hosts: len(v.Hosts)}
	best, room := "", gpu.MiB(0)
	for i := range v.Hosts {
		h := &v.Hosts[i]
		if no := judge(h, d, p); no != nil {
			e.Reason = append(e.Reason, HostReason{h.ID, no.reason, no.detail})
			continue
		}
		e.Fit++
		left := leftover(h, d)
		if best == "" || left < room || left == room && h.ID < best {
			best, room = h.ID, left
		}
	}
	return Placement{Host: best}, e, nil
}

// leftover is the least that a card of the host would have left.
func leftover(h *HostView, d Demand) gpu.MiB {
	least := gpu.MiB(-1)
	for _, c := range weighed(h) {
		if left := c.Total.Sub(c.Held).Sub(d.Memory); byMemory(&c, d) && (least < 0 || left < least) {
			least = left
		}
	}
	return least
}
