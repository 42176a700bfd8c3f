package remediate_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/bulkhead-ecs/bulkhead/events"
	"github.com/bulkhead-ecs/bulkhead/internal/fleet"
	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/health"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/memstore"
	"github.com/bulkhead-ecs/bulkhead/internal/remediate"
	"github.com/bulkhead-ecs/bulkhead/internal/remedy"
	"github.com/bulkhead-ecs/bulkhead/internal/vitals"
)

const cluster = "arn:aws:ecs:us-east-1:111122223333:cluster/gpu"

var start = time.Date(2026, 12, 1, 3, 0, 0, 0, time.UTC)

// fakeFleet is AWS as the ports show it, with the ledger and the agents' records kept
// in step: a group that launches, services that leave a draining host, instances that
// come up and report.
type fakeFleet struct {
	t       testing.TB
	now     time.Time
	ledger  *memstore.Store
	cases   *memstore.Cases
	policy  remedy.Policy
	judge   health.Policy
	hosts   []*fakeHost
	desired int
	made    int
	dies    bool // newcomers come without their cards
	told    []remediate.Notice
	taken   []remedy.Step
	sent    map[string]time.Time // commands by key
	onTake  func(s remedy.Step, h *fakeHost)
	cure    func(s remedy.Step, h *fakeHost)

	// fault decides what becomes of a call by its name: errCrash before or after its
	// effect, errThrottle, errTimeout after the effect.
	fault func(call string, after bool) error
}

type fakeHost struct {
	id, arn     string
	status      string
	mark        string
	optOut      bool
	protect     bool
	lifecycle   string
	gone        bool
	registered  bool
	born        time.Time
	draining    time.Time
	tasks       []*fakeTask
	clients     int
	quiet       bool // its agent reports no more
	bad         []events.ReportSignal
	boot        int
	seq         uint64
	personsWord bool // a person set DRAINING
	evidence    bool
}

type fakeTask struct {
	arn, service string
	protected    bool
	stoppedAt    time.Time
}

var (
	errCrash    = errors.New("the process died")
	errThrottle = errors.New("throttled")
	errTimeout  = errors.New("timed out")
)

func newFleet(t testing.TB, n int, change func(*remedy.Policy)) *fakeFleet {
	t.Helper()
	policy, err := remedy.DefaultPolicy()
	if err != nil {
		t.Fatal(err)
	}
	policy.Mode = remedy.Act
	if change != nil {
		change(&policy)
	}
	judge, err := health.Default()
	if err != nil {
		t.Fatal(err)
	}
	f := &fakeFleet{t: t, now: start, ledger: memstore.New(), cases: memstore.NewCases(), policy: policy, judge: judge, desired: n, sent: map[string]time.Time{}}
	for range n {
		h := f.launch()
		h.born = start.Add(-time.Hour)
		f.register(h)
		f.report(h)
	}
	return f
}

func (f *fakeFleet) launch() *fakeHost {
	f.made++
	h := &fakeHost{id: fmt.Sprintf("i-%02d", f.made), arn: fmt.Sprintf("arn:aws:ecs:us-east-1:111122223333:container-instance/gpu/%02d", f.made),
		status: "ACTIVE", lifecycle: "InService", born: f.now, boot: 1}
	f.hosts = append(f.hosts, h)
	return h
}

func (f *fakeFleet) host(id string) *fakeHost {
	i := slices.IndexFunc(f.hosts, func(h *fakeHost) bool { return h.id == id || h.arn == id })
	if i < 0 {
		return nil
	}
	return f.hosts[i]
}

func card(h *fakeHost) gpu.UUID { return gpu.UUID("GPU-00000000-0000-0000-0000-0000000000" + h.id[2:]) }

// register brings the ledger's host up to what the fleet is.
func (f *fakeFleet) register(h *fakeHost) {
	h.registered = true
	ctx := context.Background()
	id := ledger.HostID{Cluster: cluster, Instance: h.arn}
	old, err := f.ledger.Host(ctx, id)
	if err != nil && !errors.Is(err, ledger.ErrNotFound) {
		f.t.Fatal(err)
	}
	l := ledger.Host{ID: id, Revision: old.Revision, Listed: 1,
		Fixed:        ledger.Fixed{EC2InstanceID: h.id, InstanceType: "g6.xlarge", Zone: "us-east-1a", AMI: "ami-1", CapacityProvider: "cp", CapacityType: ledger.CapacityEC2, RegisteredAt: h.born},
		Registration: ledger.Registration{Version: old.Registration.Version + 1, Status: h.status, AgentConnected: true, SharingCapable: true, At: f.now},
		Devices:      []ledger.DeviceFacts{{UUID: card(h), Registered: 1, Total: 22563}}}
	if h.gone {
		l.Registration.Status, l.EC2.State = "INACTIVE", "terminated"
	}
	for _, t := range h.tasks {
		if t.stoppedAt.IsZero() || t.stoppedAt.After(f.now) {
			phase := ledger.PhaseActive
			if !t.stoppedAt.IsZero() {
				phase = ledger.PhaseStopping
			}
			l.Tasks = append(l.Tasks, ledger.Task{ARN: t.arn, Phase: phase, Group: "service:" + t.service, Shares: []ledger.TaskShare{{Container: "c", Need: ledger.NeedShare, Sized: true, Memory: 4096, GPUs: []gpu.UUID{card(h)}}}})
		}
	}
	saved, err := f.ledger.Commit(ctx, l)
	if err == nil {
		err = f.ledger.Index(ctx, saved)
	}
	if err != nil {
		f.t.Fatal(err)
	}
}

// report is the host's agent.
func (f *fakeFleet) report(h *fakeHost) {
	if h.quiet || h.gone || !h.registered {
		return
	}
	ctx := context.Background()
	h.seq++
	mps := "ready"
	rep := events.HostReport{Schema: events.HostReportSchema, InstanceID: h.id, BootID: fmt.Sprint(h.id, "-", h.boot), Sequence: h.seq, ObservedAt: f.now, SentAt: f.now, Cause: "lease",
		UptimeSeconds: f.now.Sub(h.born).Seconds(), LeaseSeconds: 300, NVML: "ok", Driver: "580.159.03", MPS: events.ReportMPS{State: mps, Answer: "ok"}, Devices: []events.ReportDevice{}}
	if h.clients > 0 {
		rep.MPS.Servers = []events.ReportMPSServer{{PID: 1, Clients: make([]int, h.clients)}}
	}
	for _, s := range h.bad {
		s.LastSeen = f.now
		if s.Code > 0 { // an event, said once
			s.LastSeen = s.FirstSeen
		}
		rep.Signals = append(rep.Signals, s)
	}
	rec, err := f.ledger.Health(ctx, h.id)
	if errors.Is(err, ledger.ErrNotFound) {
		rec, err = vitals.Record{EC2: h.id}, nil
	}
	if err != nil {
		f.t.Fatal(err)
	}
	rec.State.Facts = health.Facts{Host: h.arn, Devices: 1, AMI: "ami-1", AgentExpected: true, AgentLease: 300 * time.Second, BootAt: h.born}
	in := []health.Signal{{Kind: health.KindReport, Witness: health.WitnessAgent, BootID: rep.BootID, LastSeen: f.now}}
	for _, s := range rep.Signals {
		in = append(in, health.Signal{Kind: health.Kind(s.Kind), Device: gpu.UUID(s.GPU), Witness: health.Witness(s.Witness), BootID: rep.BootID, Code: s.Code, Count: s.Count,
			Reading: health.Reading(s.Reading), FirstSeen: s.FirstSeen, LastSeen: s.LastSeen})
	}
	var odd []error
	rec.State, rec.Verdict, odd = health.Assess(rec.State, in, f.judge, f.now)
	if len(odd) > 0 {
		f.t.Fatal(odd)
	}
	rec.BootID, rec.Sequence, rec.ReceivedAt, rec.Report = rep.BootID, rep.Sequence, f.now, rep
	if _, err := f.ledger.SaveHealth(ctx, rec); err != nil {
		f.t.Fatal(err)
	}
}

// dead are three failed probes of the MPS control daemon; up one good one.
func mpsDead(at time.Time) []events.ReportSignal {
	return []events.ReportSignal{{Kind: "MpsControlDead", Witness: "agent", Count: 3, FirstSeen: at.Add(-3 * time.Second), LastSeen: at}}
}

func mpsUp(at time.Time) []events.ReportSignal {
	return []events.ReportSignal{{Kind: "MpsControlDead", Witness: "agent", Reading: uint8(health.Clear), Count: 1, FirstSeen: at, LastSeen: at}}
}

func (f *fakeFleet) xid(h *fakeHost, code int) {
	h.bad = append(h.bad, events.ReportSignal{Kind: "Xid", Witness: "kernel-log", GPU: string(card(h)), Code: code, Count: 1, FirstSeen: f.now, LastSeen: f.now})
	f.report(h)
}

// run lets time go by in steps; a pass every step.
func (f *fakeFleet) run(d, step time.Duration) {
	for end := f.now.Add(d); f.now.Before(end); {
		f.tick(step)
		f.pass()
	}
}

func (f *fakeFleet) tick(step time.Duration) {
	f.now = f.now.Add(step)
	for _, h := range slices.Clone(f.hosts) {
		f.live(h)
	}
	alive := 0
	for _, h := range f.hosts {
		if !h.gone && h.lifecycle == "InService" {
			alive++
		}
	}
	for ; alive < f.desired; alive++ {
		f.launch()
	}
}

// live is what a host does by itself.
func (f *fakeFleet) live(h *fakeHost) {
	if h.gone {
		if h.registered {
			f.register(h)
			h.registered = false
		}
		return
	}
	if h.status == "DRAINING" {
		for _, t := range h.tasks {
			if t.service != "" && t.stoppedAt.IsZero() && !t.protected && f.now.Sub(h.draining) > 30*time.Second {
				t.stoppedAt = f.now.Add(20 * time.Second)
			}
		}
	}
	if f.now.Sub(h.born) >= time.Minute && (!f.dies || h.seq > 0) {
		f.register(h)
		if h.seq == 0 || f.now.Unix()%60 == 0 {
			f.report(h)
		}
	}
}

func (f *fakeFleet) usecase() *remediate.Pass {
	clock := func() time.Time { return f.now }
	log := slog.New(slog.DiscardHandler)
	return &remediate.Pass{Store: faultyStore{f.cases, f}, Ledger: f.ledger, Vitals: &fleet.Signals{Records: f.ledger, Policy: f.judge, Clock: clock, Log: log},
		Eyes: fakeEyes{f}, Hands: fakeHands{f}, Pager: fakePager{f}, Policy: f.policy, Clock: clock, Log: log}
}

func (f *fakeFleet) pass() (remediate.Report, error) {
	return f.usecase().Cluster(context.Background(), cluster)
}

func (f *fakeFleet) desk() *remediate.Desk {
	return &remediate.Desk{Store: f.cases, Vitals: f.ledger, Health: f.judge, Clock: func() time.Time { return f.now }}
}

func (f *fakeFleet) all() []remedy.Case {
	records, err := f.cases.Cases(context.Background(), cluster)
	if err != nil {
		f.t.Fatal(err)
	}
	var out []remedy.Case
	for _, r := range records {
		out = append(out, r.Case)
	}
	return out
}

func (f *fakeFleet) call(name string, after bool) error {
	if f.fault == nil {
		return nil
	}
	return f.fault(name, after)
}
