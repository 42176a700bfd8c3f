package placing

import (
	"context"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/placement"
)

// WhatIf is a demand that somebody wonders about: a task definition's, or one in
// figures.
type WhatIf struct {
	Cluster    string
	Definition string // empty: the figures count
	Memory     gpu.MiB
	Compute    gpu.Percent
	Tier       gpu.Tier
	Mode       Mode
	Count      int
}

// WhatIf simulates a demand on the cluster as it stands. Nothing is kept or started.
func (d *Desk) WhatIf(ctx context.Context, q WhatIf) (Simulation, placement.Demand, error) {
	demand := placement.Demand{Memory: q.Memory, Compute: q.Compute, Tier: q.Tier}
	if demand.Tier == "" {
		demand.Tier = gpu.DefaultTier
	}
	if q.Definition != "" && (q.Memory != 0 || q.Compute != 0) {
		return Simulation{}, demand, bad("DemandTwice", "taskDefinition", "give a task definition or figures, not both")
	}
	r := Request{Cluster: q.Cluster, ClientToken: "what-if", Definition: q.Definition, Count: q.Count, Tier: q.Tier, Mode: q.Mode}
	if q.Definition != "" {
		w, err := d.want(ctx, &r)
		if err != nil {
			return Simulation{}, demand, err
		}
		demand = w.demand
	} else {
		r.Definition = "figures"
		if err := r.check(); err != nil {
			return Simulation{}, demand, err
		}
	}
	b, err := newBoard(ctx, d.Ledger, q.Cluster, d.Policy, d.Laws, d.Clock())
	if err != nil {
		return Simulation{}, demand, err
	}
	p := d.Policy
	if q.Mode != ModePolicy {
		p.Optimistic = q.Mode == Optimistic
	}
	s, err := Simulate(b.view, demand, p, q.Count)
	return s, demand, err
}
