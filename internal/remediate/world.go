package remediate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/bulkhead-ecs/bulkhead/events"
	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/health"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/remedy"
	"github.com/bulkhead-ecs/bulkhead/internal/vitals"
)

// world is what one case needs to know. A second look reads everything anew; the
// first may use what the pass found. It also returns the record as stored (at the
// second look), with the group that was learnt.
func (p *Pass) world(ctx context.Context, g *ground, r Record, again bool) (remedy.World, Record, error) {
	if again {
		if err := p.reread(ctx, g); err != nil {
			return remedy.World{}, r, err
		}
		var err error
		if r, err = p.Store.Case(ctx, g.cluster, r.Case.ID); err != nil {
			return remedy.World{}, r, err
		}
	}
	c := r.Case
	w := remedy.World{Case: remedy.CaseMark{ID: c.ID, State: c.State, Decision: c.Decision, Held: c.Held.By != ""},
		Paused: g.control.Paused, Breakers: g.control.Breakers}
	h, err := p.hostOf(ctx, g, c, again)
	if err != nil {
		return w, r, err
	}
	if err := p.look(ctx, h, &r, &w); err != nil {
		return w, r, err
	}
	p.fill(h, r, &w)
	now := p.Clock()
	cases := casesIn(g.records)
	w.Fleet = remedy.Count(c, g.fleet(), cases, now)
	w.Fixes = remedy.Fixes(c.Instance, cases, time.Duration(p.Policy.Repeat.Within), now)
	return w, r, p.newcomer(ctx, g, r, &w)
}

// reread brings the cases and the control up to date: a pause, a breaker or the
// place that another pass took since must be seen before acting.
func (p *Pass) reread(ctx context.Context, g *ground) error {
	records, err := p.Store.Cases(ctx, g.cluster)
	if err != nil {
		return fmt.Errorf("read the cases: %w", err)
	}
	control, err := p.Store.Control(ctx, g.cluster)
	if err != nil {
		return fmt.Errorf("read the control: %w", err)
	}
	g.records, g.control = records, control
	return nil
}

// hostOf is the case's host in the ledger; nil when the ledger has it no more.
func (p *Pass) hostOf(ctx context.Context, g *ground, c remedy.Case, again bool) (*host, error) {
	h := g.hosts[c.Instance]
	if h == nil || !again {
		return h, nil
	}
	fresh, err := p.Ledger.Host(ctx, h.h.ID)
	if errors.Is(err, ledger.ErrNotFound) || err == nil && fresh.Gone() {
		delete(g.hosts, c.Instance)
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read host %s: %w", h.h.ID.Instance, err)
	}
	rec, err := p.Vitals.Assess(ctx, fresh, nil)
	if err != nil {
		return nil, fmt.Errorf("judge %s: %w", c.Instance, err)
	}
	out := &host{h: fresh, rec: rec, ok: true}
	g.hosts[c.Instance] = out
	return out, nil
}

// look asks AWS about the host. While nothing may be done and nothing was, the
// ledger's word is enough: in observe mode no call is made.
func (p *Pass) look(ctx context.Context, h *host, r *Record, w *remedy.World) error {
	if p.Policy.Mode == remedy.Observe && !r.Case.Repair {
		if h == nil {
			w.Host = remedy.HostView{ARN: r.Case.Host, Instance: r.Case.Instance, Gone: true}
			return nil
		}
		w.Host = h.view(h.rec.Verdict)
		return nil
	}
	seen, err := p.Eyes.Look(ctx, Subject{Cluster: r.Cluster, Host: r.Case.Host, Instance: r.Case.Instance, Group: r.Group,
		OptOut: p.Policy.OptOutTag, Evidence: EvidencePrefix(r.Cluster, r.Case.ID)})
	if err != nil {
		return fmt.Errorf("look at %s: %w", r.Case.Instance, err)
	}
	w.Host, w.Group = seen.Host, seen.Group
	w.Host.ARN, w.Host.Instance = r.Case.Host, r.Case.Instance
	if seen.Group.Name != "" {
		r.Group = seen.Group.Name
	}
	return nil
}

// fill adds what the ledger and the host's own report know.
func (p *Pass) fill(h *host, r Record, w *remedy.World) {
	v := &w.Host
	v.MPSClients = -1
	v.Scope, v.BootID = r.Case.Scope, r.Case.BootID
	if h == nil {
		return
	}
	v.Verdict, v.Scope = h.rec.Verdict, h.scope()
	v.Managed = h.h.Fixed.CapacityType == ledger.CapacityManaged
	if h.rec.BootID != "" {
		v.BootID = h.rec.BootID
	}
	for _, l := range h.h.Leaving {
		if l.Cause == "lifecycle-terminating" {
			v.HookSince = l.At
		}
	}
	view := h.h.View(p.Clock())
	for _, d := range view.Devices {
		for _, s := range d.Shares {
			if s.State.Holds() {
				v.LedgerShares++
			}
		}
	}
	for _, s := range view.Unplaced {
		if s.State.Holds() && s.TaskARN != "" {
			v.LedgerShares++
		}
	}
	v.MPSClients = clients(h.rec, p.Clock())
	for i := range v.Tasks {
		t := &v.Tasks[i]
		t.OnFaultedCard = onCard(h.h, t.ARN, r.Case.Cause.Device)
		t.PIDs = owned(h.rec.Report, t.ARN)
	}
}

// clients are the MPS clients that a restart of MPS would break, by the newest
// report; -1 when there is none that is new enough to be believed.
func clients(rec vitals.Record, now time.Time) int {
	lease := time.Duration(rec.Report.LeaseSeconds) * time.Second
	if rec.Sequence == 0 || now.Sub(rec.ReceivedAt) > 2*lease+30*time.Second {
		return -1
	}
	listed, seen := rec.Report.MPS.Unmapped, 0
	for _, s := range rec.Report.MPS.Servers {
		listed += len(s.Clients)
	}
	for _, s := range rec.Report.Shares { // a daemon that does not answer lists none; its clients are still there
		if s.MPS {
			seen += s.Processes
		}
	}
	return max(listed, seen)
}

// onCard reports whether a task holds the card, or any when the host is meant.
func onCard(h ledger.Host, arn string, device gpu.UUID) bool {
	t, ok := h.Task(arn)
	if !ok {
		return false
	}
	for _, s := range t.Shares {
		if device == "" && len(s.GPUs) > 0 || slices.Contains(s.GPUs, device) {
			return true
		}
	}
	return false
}

// owned are the clients that keep a fault alive and that the host's agent proved to
// be the task's.
func owned(rep events.HostReport, arn string) []int {
	var out []int
	for _, c := range rep.MPS.Holders {
		if c.TaskArn == arn && c.PID > 0 {
			out = append(out, c.PID)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// fleet is the cluster as budgets count it.
func (g *ground) fleet() []remedy.FleetHost {
	var out []remedy.FleetHost
	for _, h := range g.sorted() {
		out = append(out, remedy.FleetHost{Instance: h.ec2(), Scope: h.scope(), Serving: h.serving()})
	}
	return out
}

// newcomer finds the instance that came in the place of the case's own.
func (p *Pass) newcomer(ctx context.Context, g *ground, r Record, w *remedy.World) error {
	c := r.Case
	if r.Group == "" || !c.Detached && !c.Ended || !w.Group.Exists {
		return nil
	}
	launched, err := p.Eyes.Launched(ctx, r.Group)
	if err != nil {
		return fmt.Errorf("list instances of group %s: %w", r.Group, err)
	}
	var ofGroup []remedy.Case
	for _, o := range g.records {
		if o.Group == r.Group {
			ofGroup = append(ofGroup, o.Case)
		}
	}
	id, ok := remedy.Newcomer(c, launched, ofGroup)
	if !ok {
		return nil
	}
	n := remedy.NewcomerView{Instance: id}
	hid, err := p.Ledger.HostOfInstance(ctx, id)
	if errors.Is(err, ledger.ErrNotFound) {
		w.Newcomer = &n
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for the newcomer %s: %w", id, err)
	}
	h, err := p.Ledger.Host(ctx, hid)
	if err != nil && !errors.Is(err, ledger.ErrNotFound) {
		return fmt.Errorf("read the newcomer %s: %w", id, err)
	}
	if err == nil {
		if err := p.welcome(ctx, &n, h, r); err != nil {
			return err
		}
	}
	w.Newcomer = &n
	return nil
}

// welcome says what is known of a newcomer that the ledger has.
func (p *Pass) welcome(ctx context.Context, n *remedy.NewcomerView, h ledger.Host, r Record) error {
	n.Registered = !h.Gone() && h.Registration.Status == remedy.StatusActive && h.Registration.AgentConnected
	n.Capability, n.GPUs = h.Registration.SharingCapable, len(h.Cards())
	if h.Fixed.InstanceType == r.Case.Scope.InstanceType {
		n.ExpectedGPUs = r.Cards
	}
	rec, err := p.Vitals.Assess(ctx, h, nil)
	if err != nil {
		return fmt.Errorf("judge the newcomer %s: %w", n.Instance, err)
	}
	n.Preflight = preflight(rec, r.Agent)
	return nil
}

// preflight judges a newcomer's first reports: by what its agent's own checks say, or by
// the rest of the report where the agent is older than that word. Where the host that it replaces had
// no agent of ours either, what ECS checked at registration must do.
func preflight(rec vitals.Record, agent bool) remedy.Preflight {
	level := rec.Verdict.Host.Level
	switch {
	case level == health.Failed, level == health.Degraded:
		return remedy.PreflightFailed
	case rec.Sequence == 0 && !agent && rec.Verdict.Host.AcceptsTasks:
		return remedy.PreflightPassed
	case rec.Sequence == 0:
		return remedy.PreflightPending
	case rec.Report.Preflight != nil && rec.Report.Preflight.State == events.PreflightFailed:
		return remedy.PreflightFailed
	case rec.Report.Preflight != nil && (rec.Report.Preflight.State != events.PreflightPassed || !rec.Verdict.Host.AcceptsTasks):
		return remedy.PreflightPending
	case rec.Report.Preflight != nil:
		return remedy.PreflightPassed
	case rec.Report.NVML == "no-driver", rec.Report.NVML == "mismatch":
		return remedy.PreflightFailed
	case rec.Report.NVML == "ok" && rec.Verdict.Host.AcceptsTasks && (rec.Report.MPS.State == "ready" || rec.Report.MPS.State == "serving"):
		return remedy.PreflightPassed
	}
	return remedy.PreflightPending
}

// EvidencePrefix is where a case's bundle goes.
func EvidencePrefix(cluster, id string) string {
	return path.Join("evidence", tail(cluster), strings.Map(func(r rune) rune {
		if r == '|' || r == '/' {
			return '_'
		}
		return r
	}, id))
}

// slice keeps what the ledger knew of the host beside the host's own bundle.
func (p *Pass) slice(ctx context.Context, g *ground, r Record) error {
	h := g.hosts[r.Case.Instance]
	if h == nil {
		return nil
	}
	body, err := json.MarshalIndent(map[string]any{"case": r.Case, "host": h.h, "verdict": h.rec.Verdict, "report": h.rec.Report}, "", " ")
	if err != nil {
		return err
	}
	return p.Hands.Keep(ctx, EvidencePrefix(r.Cluster, r.Case.ID)+"/ledger.json", body)
}

// sameCase compares what would be stored of two cases.
func sameCase(a, b remedy.Case) bool {
	x, errA := json.Marshal(a)
	y, errB := json.Marshal(b)
	return errA == nil && errB == nil && bytes.Equal(x, y)
}

func tail(arn string) string { return arn[strings.LastIndexByte(arn, '/')+1:] }
