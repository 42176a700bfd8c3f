package remedies

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"github.com/bulkhead-ecs/bulkhead/events"
	"github.com/bulkhead-ecs/bulkhead/internal/awsops"
	"github.com/bulkhead-ecs/bulkhead/internal/ecsapi"
	"github.com/bulkhead-ecs/bulkhead/internal/fleet"
	"github.com/bulkhead-ecs/bulkhead/internal/health"
	"github.com/bulkhead-ecs/bulkhead/internal/ingest"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/memstore"
	"github.com/bulkhead-ecs/bulkhead/internal/remediate"
	"github.com/bulkhead-ecs/bulkhead/internal/remedy"
	"github.com/bulkhead-ecs/bulkhead/internal/sim"
	"github.com/bulkhead-ecs/bulkhead/internal/sim/wire"
)

var start = time.Date(2026, 12, 1, 3, 0, 0, 0, time.UTC)

const group = "gpu-asg"

// world is a simulated cluster behind its wire, and Bulkhead around it.
type world struct {
	t       testing.TB
	f       *sim.Fleet
	server  *wire.Server
	store   *memstore.Store
	cases   remediate.Store
	policy  remedy.Policy
	judge   health.Policy
	in      *fleet.Ingest
	sweep   *fleet.Sweep
	reports *fleet.Reports
	ops     *awsops.Ops
	told    []remediate.Notice
	seq     map[string]uint64
	bad     map[string][]events.ReportSignal // by instance
	ran     []string                         // documents that ran, as "instance document"
	noAgent bool
	swept   time.Time
	dead    bool // the process
}

type setup struct {
	hosts, tasks int
	hook         bool
	noAgent      bool
	policy       func(*remedy.Policy)
}

func newWorld(t testing.TB, s setup) *world {
	t.Helper()
	w := &world{t: t, f: sim.New(sim.Config{Seed: 7, Start: start, Choice: sim.BestFit}), store: memstore.New(), seq: map[string]uint64{}, bad: map[string][]events.ReportSignal{}}
	w.cases, w.noAgent = memstore.NewCases(), s.noAgent
	c := sim.GroupConfig{Name: group, Shape: "g6.xlarge", Max: 20, Desired: s.hosts, Latency: time.Minute}
	if s.hook {
		c.Hooks = []sim.Hook{{Name: awsops.DefaultHook, Transition: "autoscaling:EC2_INSTANCE_TERMINATING", Default: "CONTINUE", Heartbeat: time.Hour}}
	}
	if _, err := w.f.CreateGroup(c); err != nil {
		t.Fatal(err)
	}
	d, err := w.f.RegisterDefinition(sim.Definition{Family: "chat", Containers: []sim.Container{{Name: "a", Memory: 4096, Compute: 25}}})
	if err != nil {
		t.Fatal(err)
	}
	if s.tasks > 0 {
		if _, err := w.f.CreateService("chat", d.ARN, s.tasks); err != nil {
			t.Fatal(err)
		}
	}
	w.documents()
	w.server = wire.New(w.f)
	w.server.Unmetered = true
	srv := httptest.NewServer(w.server)
	t.Cleanup(srv.Close)
	w.policies(s.policy)
	w.wire(srv.URL)
	w.run(5*time.Minute, 10*time.Second) // everything up and known
	return w
}

func (w *world) policies(change func(*remedy.Policy)) {
	var err error
	if w.policy, err = remedy.DefaultPolicy(); err != nil {
		w.t.Fatal(err)
	}
	w.policy.Mode = remedy.Act
	if change != nil {
		change(&w.policy)
	}
	if w.judge, err = health.Default(); err != nil {
		w.t.Fatal(err)
	}
}

// documents are what Bulkhead's own do on a host.
func (w *world) documents() {
	note := func(name string, then func(h *sim.Host)) {
		w.f.RegisterDocument(name, func(h *sim.Host, _ map[string][]string) sim.Answer {
			w.ran = append(w.ran, h.EC2+" "+name)
			if then != nil {
				then(h)
			}
			return sim.Answer{}
		})
	}
	note(remedy.DocumentMPSRestart, func(h *sim.Host) { h.MPS = sim.DaemonServing })
	note(remedy.DocumentEvidence, nil)
	note(remedy.DocumentTerminateClients, nil)
}

func (w *world) wire(url string) {
	creds := credentials.NewStaticCredentialsProvider("a", "b", "")
	region, base := "us-east-1", aws.String(url)
	api := ecs.New(ecs.Options{Region: region, BaseEndpoint: base, Credentials: creds, RetryMaxAttempts: 1})
	w.ops = &awsops.Ops{ECS: api, Hook: awsops.DefaultHook, Clock: w.f.Now, Bucket: "evidence",
		EC2:    ec2.New(ec2.Options{Region: region, BaseEndpoint: base, Credentials: creds, RetryMaxAttempts: 1}),
		Groups: autoscaling.New(autoscaling.Options{Region: region, BaseEndpoint: base, Credentials: creds, RetryMaxAttempts: 1}),
		SSM:    ssm.New(ssm.Options{Region: region, BaseEndpoint: base, Credentials: creds, RetryMaxAttempts: 1})}
	log := slog.New(slog.DiscardHandler)
	reader := &ecsapi.Client{API: api, Budget: ecsapi.NewBudget(1), Clock: w.f.Now}
	defs := &fleet.DefinitionCache{Store: w.store, Source: reader}
	w.in = &fleet.Ingest{Store: w.store, Definitions: defs, Policy: ledger.DefaultPolicy(), Scope: ingest.Scope{}, Clock: w.f.Now, Log: log}
	w.sweep = &fleet.Sweep{Store: w.store, ECS: reader, Definitions: defs, Policy: ledger.DefaultPolicy(), Clock: w.f.Now, Log: log, Parallel: 1}
	w.reports = &fleet.Reports{Records: w.store, Store: w.store, Policy: w.judge, Accounts: []string{sim.Account}, Clock: w.f.Now, Log: log}
}

// run lets fleet time go by; events, sweeps, reports and a pass of remedies at each step.
func (w *world) run(d, step time.Duration) {
	for end := w.f.Now().Add(d); w.f.Now().Before(end); {
		w.step(step)
	}
}

func (w *world) step(step time.Duration) {
	ctx := context.Background()
	var out []sim.Emitted
	w.server.Do(func(f *sim.Fleet) { out = f.Advance(f.Now().Add(step)) })
	var batch []fleet.Message
	for i, e := range out {
		batch = append(batch, fleet.Message{ID: fmt.Sprint(w.f.Now().Unix(), "-", i), Body: e.Body})
	}
	if len(batch) > 0 {
		w.in.Batch(ctx, batch)
	}
	if w.f.Now().Sub(w.swept) >= time.Minute {
		fault := w.server.Fault
		w.server.Fault = nil // the sweep is another function
		if _, err := w.sweep.Cluster(ctx, w.f.Cluster()); err != nil {
			w.t.Fatal(err)
		}
		w.server.Fault = fault
		w.swept = w.f.Now()
	}
	for _, h := range w.f.Hosts() {
		w.agent(h)
	}
	w.dead = false
	_, _ = w.pass().Cluster(ctx, w.f.Cluster())
}

func (w *world) pass() *remediate.Pass {
	log := slog.New(slog.DiscardHandler)
	return &remediate.Pass{Store: mortal{w.cases, w}, Ledger: w.store, Vitals: &fleet.Signals{Records: w.store, Policy: w.judge, Clock: w.f.Now, Log: log}, Checks: w.ops, Eyes: w.ops,
		Hands: bucketless{w.ops}, Pager: pager{w}, Policy: w.policy, Clock: w.f.Now, Log: log}
}

// bucketless keeps the ledger's slice nowhere: the simulator has no S3.
type bucketless struct{ *awsops.Ops }

func (bucketless) Keep(context.Context, string, []byte) error { return nil }

type pager struct{ w *world }

func (p pager) Tell(_ context.Context, n remediate.Notice) error {
	p.w.told = append(p.w.told, n)
	return nil
}

// mortal is a store whose process may be dead.
type mortal struct {
	remediate.Store
	w *world
}

var errDead = errors.New("the process died")

func (m mortal) SaveCase(ctx context.Context, r remediate.Record) (remediate.Record, error) {
	if m.w.dead {
		return r, errDead
	}
	return m.Store.SaveCase(ctx, r)
}

func (m mortal) NoteDecision(ctx context.Context, d remediate.Decision) error {
	if m.w.dead {
		return errDead
	}
	return m.Store.NoteDecision(ctx, d)
}

func (m mortal) Cases(ctx context.Context, cluster string) ([]remediate.Record, error) {
	if m.w.dead {
		return nil, errDead
	}
	return m.Store.Cases(ctx, cluster)
}

// agent is a host's own: it reports at each step what the simulated host is.
func (w *world) agent(h *sim.Host) {
	if w.noAgent || h.Silent || h.EC2State != "running" || h.Registered.IsZero() {
		return
	}
	now := w.f.Now()
	w.seq[h.EC2+h.Boot]++
	rep := events.HostReport{Schema: events.HostReportSchema, InstanceID: h.EC2, BootID: bootOf(h), Sequence: w.seq[h.EC2+h.Boot], AgentVersion: "1.0.0", ObservedAt: now, SentAt: now,
		UptimeSeconds: now.Sub(h.Launched).Seconds(), Cause: "lease", LeaseSeconds: 60, NVML: "ok", Driver: "580.159.03", Devices: []events.ReportDevice{},
		MPS: events.ReportMPS{State: "serving", Since: now, Answer: "ok"}}
	dead := events.ReportSignal{Kind: "MpsControlDead", Witness: "agent", Count: 1, FirstSeen: now, LastSeen: now, Reading: uint8(health.Clear)}
	if h.MPS != sim.DaemonServing {
		rep.MPS.State, rep.MPS.Answer, dead.Reading, dead.Count = "wedged", "no-answer", uint8(health.Seen), 3
	}
	rep.Signals = append(rep.Signals, dead)
	rep.Signals = append(rep.Signals, w.bad[h.EC2]...)
	w.bad[h.EC2] = nil
	body, err := json.Marshal(rep)
	if err != nil {
		w.t.Fatal(err)
	}
	_, err = w.reports.Accept(context.Background(), fleet.Signer{Account: sim.Account, Role: "r", Session: h.EC2}, h.EC2, body)
	if err != nil && !errors.Is(err, fleet.ErrReportUnknown) {
		w.t.Fatal(err)
	}
}

func bootOf(h *sim.Host) string {
	if h.Boot != "" {
		return h.Boot
	}
	return h.EC2 + "-boot"
}

// xid is said by the kernel log of a host, now.
func (w *world) xid(h *sim.Host, code int) {
	at := w.f.Now()
	w.bad[h.EC2] = append(w.bad[h.EC2], events.ReportSignal{Kind: "Xid", Witness: "kernel-log", GPU: string(h.Cards[0].UUID), Code: code, Count: 1, FirstSeen: at, LastSeen: at})
}

func (w *world) hosts() []*sim.Host {
	return slices.DeleteFunc(w.f.Hosts(), func(h *sim.Host) bool { return h.EC2State != "running" })
}

func (w *world) all() []remedy.Case {
	records, err := w.cases.Cases(context.Background(), w.f.Cluster())
	if err != nil {
		w.t.Fatal(err)
	}
	var out []remedy.Case
	for _, r := range records {
		out = append(out, r.Case)
	}
	return out
}

func (w *world) trail() string {
	var b strings.Builder
	for _, c := range w.all() {
		fmt.Fprintf(&b, "%s %s %s waiting %q block %+v\n", c.ID, c.State, c.Outcome, c.Waiting, c.Block)
		for _, e := range c.Trail {
			fmt.Fprintf(&b, "  %s %s\n", e.At.Format(time.TimeOnly), e.Text)
		}
	}
	return b.String()
}
