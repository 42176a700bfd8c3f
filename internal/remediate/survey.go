package remediate

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/bulkhead-ecs/bulkhead/internal/health"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/remedy"
	"github.com/bulkhead-ecs/bulkhead/internal/vitals"
)

// ground is what a pass found when it came: the hosts with their verdicts and the
// cases. Cases and control are read again before each act.
type ground struct {
	cluster string
	hosts   map[string]*host // by EC2 id
	records []Record
	control Control
	unknown int
}

// host is one living GPU host of the ledger with its health.
type host struct {
	h   ledger.Host
	rec vitals.Record
	ok  bool // its health could be read
}

func (h *host) ec2() string { return h.h.Fixed.EC2InstanceID }

// survey reads the hosts of a cluster, judges each, and reads its cases.
func (p *Pass) survey(ctx context.Context, cluster string) (*ground, error) {
	g := &ground{cluster: cluster, hosts: map[string]*host{}}
	var after ledger.Cursor
	for {
		hosts, next, err := p.Ledger.Hosts(ctx, cluster, after, 0)
		if err != nil {
			return g, fmt.Errorf("list hosts: %w", err)
		}
		for _, h := range hosts {
			if !h.Gone() && h.Fixed.EC2InstanceID != "" && len(h.Devices) > 0 {
				g.add(h)
			}
		}
		if after = next; next == "" {
			break
		}
	}
	if err := p.assess(ctx, g); err != nil {
		return g, err
	}
	var err error
	g.records, err = p.Store.Cases(ctx, cluster)
	return g, err
}

// add keeps the newest registration of an instance.
func (g *ground) add(h ledger.Host) {
	old, ok := g.hosts[h.Fixed.EC2InstanceID]
	if !ok || h.Rank() > old.h.Rank() {
		g.hosts[h.Fixed.EC2InstanceID] = &host{h: h}
	}
}

// sorted are the hosts by instance, so that nothing hangs on the order of a map.
func (g *ground) sorted() []*host {
	out := make([]*host, 0, len(g.hosts))
	for _, h := range g.hosts {
		out = append(out, h)
	}
	slices.SortFunc(out, func(a, b *host) int { return cmp.Compare(a.ec2(), b.ec2()) })
	return out
}

// assess judges each host as of now. One whose health cannot be read is unknown:
// it asks for nothing and does not count as serving.
func (p *Pass) assess(ctx context.Context, g *ground) error {
	hosts := g.sorted()
	checks := map[string][]health.Signal{}
	if p.Checks != nil && len(hosts) > 0 {
		ids := make([]string, len(hosts))
		for i, h := range hosts {
			ids[i] = h.ec2()
		}
		var err error
		if checks, err = p.Checks.StatusChecks(ctx, ids); err != nil {
			p.Log.WarnContext(ctx, "status checks not read, health is judged without", "cluster", g.cluster, "error", err.Error())
		}
	}
	each(ctx, len(hosts), p.Parallel, func(ctx context.Context, i int) {
		rec, err := p.Vitals.Assess(ctx, hosts[i].h, checks[hosts[i].ec2()])
		if err != nil {
			p.Log.WarnContext(ctx, "health not read", "instance", hosts[i].ec2(), "error", err.Error())
			return
		}
		hosts[i].rec, hosts[i].ok = rec, true
	})
	for _, h := range hosts {
		if !h.ok {
			g.unknown++
		}
	}
	return ctx.Err()
}

// scope is what budgets and breakers count by.
func (h *host) scope() remedy.Scope {
	f := h.h.Fixed
	return remedy.Scope{Cluster: h.h.ID.Cluster, CapacityProvider: f.CapacityProvider, Zone: f.Zone, InstanceType: f.InstanceType,
		AMI: f.AMI, Driver: h.rec.Report.Driver}
}

// view is the host as the ledger and its health tell it, without AWS.
func (h *host) view(v health.Verdict) remedy.HostView {
	boot := h.rec.BootID
	if boot == "" {
		boot = h.h.BootID
	}
	return remedy.HostView{ARN: h.h.ID.Instance, Instance: h.ec2(), BootID: boot, Gone: h.h.Gone(), Registered: !h.h.Gone(),
		Status: h.h.Registration.Status, Managed: h.h.Fixed.CapacityType == ledger.CapacityManaged, Verdict: v, Scope: h.scope()}
}

// serving reports whether the host counts for min-healthy. One whose health could
// not be read does not: then less is done, not more.
func (h *host) serving() bool {
	return h.ok && !h.h.Gone() && h.h.Registration.Status == remedy.StatusActive && h.rec.Verdict.Host.Level < health.Failed
}

// casesOf are the cases of an instance, open and final.
func (g *ground) casesOf(ec2 string) []remedy.Case {
	var out []remedy.Case
	for _, r := range g.records {
		if r.Case.Instance == ec2 {
			out = append(out, r.Case)
		}
	}
	return out
}

// put replaces a record by what is stored now.
func (g *ground) put(r Record) {
	i := slices.IndexFunc(g.records, func(o Record) bool { return o.Case.ID == r.Case.ID })
	if i >= 0 {
		g.records[i] = r
	}
}

func casesIn(records []Record) []remedy.Case {
	out := make([]remedy.Case, len(records))
	for i, r := range records {
		out[i] = r.Case
	}
	return out
}
