package sim

import (
	"slices"
	"strings"
	"time"
)

// leaving reports whether an instance is on its way out of its group.
func (h *Host) leaving() bool {
	return strings.HasPrefix(h.Lifecycle, "Terminat") || strings.HasPrefix(h.Lifecycle, "Detach")
}

func (f *Fleet) scaleSoon(g *Group) {
	if g.due {
		return
	}
	g.due = true
	f.after(f.between(time.Second, 15*time.Second), func() {
		g.due = false
		f.scale(g)
	})
}

// scale launches what a group misses, and ends what it has too many of: from the
// zone with the most, the oldest first, never a protected one.
func (f *Fleet) scale(g *Group) {
	var live []*Host
	for _, h := range g.members {
		if !h.leaving() && !h.repairing {
			live = append(live, h)
		}
	}
	for n := len(live); n < g.Desired && !slices.Contains(g.Suspended, "Launch"); n++ {
		f.launchInto(g)
	}
	for len(live) > g.Desired && !slices.Contains(g.Suspended, "Terminate") {
		i := surplus(live)
		if i < 0 {
			return
		}
		f.leave(live[i])
		live = slices.Delete(live, i, i+1)
	}
}

// surplus is the place of the instance that a scale-in takes, or -1.
func surplus(live []*Host) int {
	zones := map[string]int{}
	for _, h := range live {
		if !h.ScaleInProtected {
			zones[h.Zone]++
		}
	}
	best := -1
	for i, h := range live {
		if !h.ScaleInProtected && (best < 0 || zones[h.Zone] > zones[live[best].Zone]) {
			best = i
		}
	}
	return best
}

func (f *Fleet) launchInto(g *Group) {
	s, err := ShapeOf(g.Shape)
	if err != nil {
		return // checked when the group was made
	}
	h := f.newHost(s)
	h.Group, h.Lifecycle, h.ScaleInProtected, h.Spot = g, "Pending", g.Protect, g.Spot
	if g.AMI != "" {
		h.AMI = g.AMI
	}
	if g.AgentVersion != "" {
		h.AgentVersion = g.AgentVersion
	}
	for k, v := range g.Tags {
		h.Tags[k] = v
	}
	h.Tags["aws:autoscaling:groupName"] = g.Name
	g.members = append(g.members, h)
	f.after(g.Latency, func() {
		if f.up(h) && h.Group == g && h.Lifecycle == "Pending" {
			f.hold(h, Launching)
		}
	})
}

// leave ends an instance of a group, hooks first.
func (f *Fleet) leave(h *Host) {
	if h.Group == nil || h.leaving() {
		return
	}
	h.waits = nil
	h.Lifecycle = "Terminating"
	f.scaleSoon(h.Group)
	f.hold(h, Terminating)
}

// part takes an instance out of its group's list.
func (f *Fleet) part(h *Host) {
	g := h.Group
	if g == nil {
		return
	}
	g.members = slices.DeleteFunc(g.members, func(x *Host) bool { return x == h })
	h.Group, h.Lifecycle, h.ScaleInProtected, h.waits = nil, "", false, nil
	f.scaleSoon(g)
}
