package sim

import (
	"fmt"
	"slices"
	"time"
)

// ProviderConfig is a capacity provider: of an Auto Scaling group (Group), or of
// Managed Instances (Managed), whose hosts AWS launches and repairs itself.
type ProviderConfig struct {
	Name  string
	Group string
	// Scaling lets the provider size its group to what is asked of it.
	Scaling bool
	// TerminationProtection protects hosts with tasks from scale-in; needs Scaling.
	TerminationProtection bool
	// Draining drains a host before its group ends it.
	Draining bool

	Managed   bool
	Shape     string // of Managed Instances
	NoRepairs bool   // autoRepairConfiguration DISABLED
}

// Provider is a capacity provider. Callers only read it.
type Provider struct {
	ProviderConfig
	ARN   string
	group *Group
}

// drainHook is ECS's own lifecycle hook of managed draining.
const drainHook = "ecs-managed-draining-termination-hook"

// CreateProvider makes a capacity provider. That of Managed Instances gets a group of
// its own, which Auto Scaling does not show.
func (f *Fleet) CreateProvider(c ProviderConfig) (*Provider, error) {
	if slices.ContainsFunc(f.providers, func(p *Provider) bool { return p.Name == c.Name }) || c.Name == "" {
		return nil, refuse("ClientException", "The specified capacity provider name is empty or taken: %q", c.Name)
	}
	if c.TerminationProtection && !c.Scaling {
		return nil, refuse("ClientException", "Managed termination protection needs managed scaling.")
	}
	p := &Provider{ProviderConfig: c, ARN: f.head() + "capacity-provider/" + c.Name}
	if c.Managed {
		if _, err := ShapeOf(c.Shape); err != nil {
			return nil, err
		}
		p.group = &Group{GroupConfig: GroupConfig{Name: "ecs-managed-" + c.Name, Shape: c.Shape, Max: 1000, Latency: 2 * time.Minute}, Created: f.now}
		p.Scaling, p.Draining = true, true
	} else {
		g, err := f.Group(c.Group)
		if err != nil {
			return nil, refuse("ClientException", "The specified Auto Scaling group ARN could not be found.")
		}
		p.group = g
	}
	p.group.provider = p
	if p.Draining {
		if err := p.group.put(Hook{Name: drainHook, Transition: Terminating, Heartbeat: 30 * time.Minute, Default: "CONTINUE"}); err != nil {
			return nil, err
		}
	}
	f.providers = append(f.providers, p)
	if p.Scaling {
		f.after(time.Minute, func() { f.size(p) })
	}
	return p, nil
}

// Providers are all capacity providers, oldest first; the slice is the caller's.
func (f *Fleet) Providers() []*Provider { return slices.Clone(f.providers) }

// Provider of a host, or nil.
func (h *Host) Provider() *Provider {
	if h.Group == nil {
		return nil
	}
	return h.Group.provider
}

// Managed reports whether a host is one of Managed Instances.
func (h *Host) Managed() bool { p := h.Provider(); return p != nil && p.Managed }

// size is one round of managed scaling: one more host while tasks find no place, one
// fewer once a host has been empty for a quarter of an hour. How ECS counts the demand
// of shared GPU tasks is not known.
func (f *Fleet) size(p *Provider) {
	g := p.group
	starved := slices.ContainsFunc(f.services, func(s *Service) bool { return s.starved })
	coming, idle := 0, 0
	for _, h := range g.members {
		if h.Status == "REGISTERING" {
			coming++
		}
		if len(h.tasks) > 0 {
			h.lastBusy = f.now
		} else if h.Status == "ACTIVE" && !h.leaving() && f.now.Sub(latest(h.lastBusy, h.Registered)) > 15*time.Minute {
			idle++
		}
		if p.TerminationProtection {
			h.ScaleInProtected = len(h.tasks) > 0
		}
	}
	switch {
	case starved && coming == 0 && g.Desired < g.Max:
		g.Desired++
		f.scaleSoon(g)
	case !starved && idle > 0 && g.Desired > g.Min:
		g.Desired--
		f.retire(g)
	}
	f.after(time.Minute, func() { f.size(p) })
}

// retire ends an empty host of a group whose desired count has just fallen.
func (f *Fleet) retire(g *Group) {
	for _, h := range g.members {
		if len(h.tasks) == 0 && h.Status == "ACTIVE" && !h.leaving() && !h.ScaleInProtected {
			f.leave(h)
			return
		}
	}
	f.scaleSoon(g)
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// drained is managed draining: a host that leaves is drained, and its hook completed
// once it is empty.
func (f *Fleet) drained(h *Host, w *wait) {
	if !slices.Contains(h.waits, w) {
		return
	}
	if h.Status == "ACTIVE" {
		_ = f.Drain(h.ARN, true) // it is registered
	}
	if len(h.tasks) == 0 || h.Status == "REGISTERING" {
		f.complete(h, w, "CONTINUE")
		return
	}
	f.after(15*time.Second, func() { f.drained(h, w) })
}

// repairs are the Xids for which Managed Instances replace a host. Source: the ECS
// developer guide, auto repair of GPU instances.
var repairs = []int{46, 48, 54, 62, 64, 74, 79, 95, 109, 110, 136, 140, 142, 143, 151, 155, 156, 158}

// repair is what Managed Instances do about an Xid: IMPAIRED two minutes later, then a
// replacement first, then the end; at most a fifth of a provider's hosts at a time.
func (f *Fleet) repair(h *Host, xid int) {
	if !h.Managed() || !slices.Contains(repairs, xid) {
		return
	}
	f.after(2*time.Minute, func() {
		if h.Status == "INACTIVE" {
			return
		}
		h.Health, h.HealthReason, h.HealthAt = "IMPAIRED", fmt.Sprintf("XID_%d", xid), f.now
		f.healthEvent(h)
		if !h.Provider().NoRepairs {
			f.replace(h)
		}
	})
}

func (f *Fleet) replace(h *Host) {
	if h.Group == nil || h.leaving() || h.repairing {
		return
	}
	g, busy := h.Group, 0
	for _, x := range g.members {
		if x.leaving() || x.repairing {
			busy++
		}
	}
	if busy >= max(1, len(g.members)/5) {
		f.after(time.Minute, func() { f.replace(h) })
		return
	}
	h.repairing = true
	_ = f.Drain(h.ARN, true) // it is registered
	f.scaleSoon(g)
	f.after(g.Latency+time.Minute, func() { f.leave(h) })
}

// GroupARN is the ARN of a provider's group.
func (p *Provider) GroupARN() string { return p.group.ARN }

// Hosts are the hosts of a provider, oldest first.
func (p *Provider) Hosts() []*Host { return p.group.Members() }
