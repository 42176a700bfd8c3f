package fleet

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/health"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/sizing"
	"github.com/bulkhead-ecs/bulkhead/internal/vitals"
)

// Query answers questions about the ledger. It only reads.
type Query struct {
	Store  ledger.Store
	Usage  sizing.Store // optional: without, there are no peaks to advise from
	Vitals vitals.Store // optional: without, nothing is known of what hosts report
	// Verdicts judges again when asked, so that a host which fell silent does not
	// look as it did when it spoke last; nil shows the verdict of the last report.
	Verdicts func() (health.Policy, error)
	Policy   ledger.Policy
	Clock    Clock
}

// Health is what an instance's own agent says of it. ledger.ErrNotFound while no
// report came.
func (q *Query) Health(ctx context.Context, ec2 string) (vitals.Record, error) {
	if q.Vitals == nil || ec2 == "" {
		return vitals.Record{}, ledger.ErrNotFound
	}
	rec, err := q.Vitals.Health(ctx, ec2)
	if err != nil || q.Verdicts == nil {
		return rec, err
	}
	policy, err := q.Verdicts()
	if err == nil {
		rec.State, rec.Verdict, _ = health.Assess(rec.State, nil, policy, q.Clock())
	}
	return rec, err
}

// Clusters lists the clusters that have a host.
func (q *Query) Clusters(ctx context.Context) ([]string, error) {
	cs, err := q.Store.Clusters(ctx)
	cs = slices.DeleteFunc(slices.Clone(cs), IsOrphanage)
	slices.Sort(cs)
	return cs, err
}

// Hosts lists a page of a cluster's hosts that have, or hold, anything of a GPU.
func (q *Query) Hosts(ctx context.Context, cluster string, after ledger.Cursor, limit int) ([]ledger.View, ledger.Cursor, error) {
	hosts, next, err := q.Store.Hosts(ctx, cluster, after, limit)
	now := q.Clock()
	var out []ledger.View
	for _, h := range hosts {
		if Visible(h) {
			out = append(out, h.View(now))
		}
	}
	return out, next, err
}

// Visible reports whether a host concerns GPUs at all. Hosts without one are kept
// in the ledger, since a card may still be told of, but shown to nobody.
func Visible(h ledger.Host) bool {
	if len(h.Devices) > 0 || len(h.Reservations) > 0 {
		return true
	}
	return slices.ContainsFunc(h.Tasks, func(t ledger.Task) bool { return len(t.Shares) > 0 })
}

// Host finds one host by its container instance ARN, or by EC2 instance id.
func (q *Query) Host(ctx context.Context, id ledger.HostID) (ledger.View, error) {
	h, err := q.Store.Host(ctx, id)
	if err != nil {
		return ledger.View{}, err
	}
	return h.View(q.Clock()), nil
}

// HostOfInstance finds a host by its EC2 instance id.
func (q *Query) HostOfInstance(ctx context.Context, ec2 string) (ledger.View, error) {
	id, err := q.Store.HostOfInstance(ctx, ec2)
	if err != nil {
		return ledger.View{}, err
	}
	return q.Host(ctx, id)
}

// Card finds a card by UUID, with its host. Its shares are the tenants: the blast
// radius of a fault on it.
func (q *Query) Card(ctx context.Context, u gpu.UUID) (ledger.View, ledger.Device, error) {
	id, err := q.Store.HostOfCard(ctx, u)
	if err != nil {
		return ledger.View{}, ledger.Device{}, err
	}
	v, err := q.Host(ctx, id)
	if err != nil {
		return v, ledger.Device{}, err
	}
	for _, d := range v.Devices {
		if d.UUID == u {
			return v, d, nil
		}
	}
	return v, ledger.Device{}, ledger.ErrNotFound
}

// Task finds a task's host by walking its cluster's hosts: no index is kept for
// it, since that would cost every task life another write.
func (q *Query) Task(ctx context.Context, cluster, arn string) (ledger.View, ledger.Task, error) {
	var found ledger.Host
	stop := errors.New("found")
	err := EachHost(ctx, q.Store, cluster, func(h ledger.Host) error {
		if _, ok := h.Task(arn); ok {
			found = h
			return stop
		}
		return nil
	})
	switch {
	case errors.Is(err, stop):
		t, _ := found.Task(arn)
		return found.View(q.Clock()), t, nil
	case err != nil:
		return ledger.View{}, ledger.Task{}, err
	}
	return ledger.View{}, ledger.Task{}, ledger.ErrNotFound
}

// Findings judges every host of a cluster now, and compares it with what its own
// agent reported.
func (q *Query) Findings(ctx context.Context, cluster string) ([]ledger.Finding, error) {
	now := q.Clock()
	var out []ledger.Finding
	var views []ledger.View
	var holds Holders
	err := EachHost(ctx, q.Store, cluster, func(h ledger.Host) error {
		v := h.View(now)
		views = append(views, v)
		out = append(out, ledger.Check(v, q.Policy, now)...)
		holds.Add(v)
		return nil
	})
	if err != nil {
		return nil, err
	}
	gaps, err := gapsOf(ctx, q.Vitals, views, q.Clock)
	out = append(append(out, holds.Findings()...), gaps...)
	ledger.SortFindings(out)
	return out, err
}

// At answers what stood on a host at a time: the newest journal entry not after it.
func (q *Query) At(ctx context.Context, id ledger.HostID, at time.Time) (ledger.View, time.Time, error) {
	var last *ledger.Entry
	var after ledger.Cursor
	for {
		entries, next, err := q.Store.Journal(ctx, id, time.Time{}, at.Add(time.Millisecond), after)
		if err != nil {
			return ledger.View{}, time.Time{}, err
		}
		if len(entries) > 0 {
			last = &entries[len(entries)-1]
		}
		if next == "" {
			break
		}
		after = next
	}
	if last == nil {
		return ledger.View{}, time.Time{}, ledger.ErrNotFound
	}
	return last.Image.View(at), last.At, nil
}

// Summary adds up a cluster.
type Summary struct {
	Cluster                       string
	Hosts, GPUs                   int
	Idle, Shared, Dedicated       int
	Total, Held                   gpu.MiB
	Compute                       gpu.Percent // promised, over all cards
	Tasks                         int         // tasks that hold anything
	Errors, Warnings              int
	SharedTasks, WholeGPUsIfAlone int // tasks on shared cards; GPUs they would take one each
}

// Summary adds up the cluster's cards, shares and findings.
func (q *Query) Summary(ctx context.Context, cluster string) (Summary, error) {
	s := Summary{Cluster: cluster}
	now := q.Clock()
	err := EachHost(ctx, q.Store, cluster, func(h ledger.Host) error {
		if !Visible(h) || h.Gone() {
			return nil
		}
		v := h.View(now)
		s.add(v)
		for _, f := range ledger.Check(v, q.Policy, now) {
			switch f.Severity {
			case ledger.Error:
				s.Errors++
			case ledger.Warning:
				s.Warnings++
			}
		}
		return nil
	})
	return s, err
}

func (s *Summary) add(v ledger.View) {
	s.Hosts++
	tasks, sharing := map[string]bool{}, map[string]bool{}
	for _, d := range v.Devices {
		if d.Vanished {
			continue
		}
		s.GPUs++
		switch d.Mode {
		case gpu.ModeIdle:
			s.Idle++
		case gpu.ModeShared:
			s.Shared++
		case gpu.ModeDedicated:
			s.Dedicated++
		}
		s.Total = s.Total.Add(d.Total)
		s.Held = s.Held.Add(d.Held)
		s.Compute = s.Compute.Add(d.Compute)
		for _, sh := range d.Shares {
			if sh.State.Holds() && sh.TaskARN != "" {
				tasks[sh.TaskARN] = true
				sharing[sh.TaskARN] = sharing[sh.TaskARN] || d.Mode == gpu.ModeShared
			}
		}
	}
	s.Tasks += len(tasks)
	for _, shared := range sharing {
		if shared {
			s.SharedTasks++
		}
	}
	s.WholeGPUsIfAlone = s.SharedTasks
}

// Tenant is one share with the card and host it stands on, for listings of tasks.
type Tenant struct {
	Host   ledger.HostID
	EC2    string
	Device gpu.UUID // empty while ECS named none
	Share  ledger.Share
}

// Tenants lists every share of a host in one order.
func Tenants(v ledger.View) []Tenant {
	var out []Tenant
	add := func(u gpu.UUID, s ledger.Share) {
		out = append(out, Tenant{Host: v.Host.ID, EC2: v.Host.Fixed.EC2InstanceID, Device: u, Share: s})
	}
	for _, d := range v.Devices {
		for _, s := range d.Shares {
			add(d.UUID, s)
		}
	}
	for _, s := range v.Unplaced {
		add("", s)
	}
	slices.SortStableFunc(out, func(a, b Tenant) int {
		return cmp.Or(cmp.Compare(a.Share.TaskARN, b.Share.TaskARN), cmp.Compare(a.Share.Container, b.Share.Container), cmp.Compare(a.Device, b.Device))
	})
	return out
}
