package simulation

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"golang.org/x/time/rate"
	"net/http"

	"github.com/bulkhead-ecs/bulkhead/internal/ecsapi"
	"github.com/bulkhead-ecs/bulkhead/internal/fleet"
	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/health"
	"github.com/bulkhead-ecs/bulkhead/internal/ingest"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/memstore"
	"github.com/bulkhead-ecs/bulkhead/internal/placement"
	"github.com/bulkhead-ecs/bulkhead/internal/sim"
	"github.com/bulkhead-ecs/bulkhead/internal/sim/wire"
)

// FaultNames are the faults that a fleet can be run with.
var FaultNames = []string{"late", "doubled", "lossy", "store", "crash", "api", "agents", "sweeps", "release", "chaos"}

// Plan says how a fleet is run.
type Plan struct {
	Seed    uint64
	Minutes int      // of fleet time under faults
	Faults  []string // of FaultNames
}

// Command is what runs the plan again.
func (p Plan) Command() string {
	return fmt.Sprintf("go test ./tests/simulation -run Fleet -seed %d -minutes %d -faults %s", p.Seed, p.Minutes, strings.Join(p.Faults, ","))
}

func (p Plan) has(fault string) bool { return slices.Contains(p.Faults, fault) }

const (
	worldCluster = "arn:aws:ecs:us-east-1:111122223333:cluster/gpu"
	tick         = 20 * time.Second
	sweepEvery   = 5 * time.Minute
)

// life is one fleet under way.
type life struct {
	plan    Plan
	rng     *rand.Rand
	now     time.Time
	face    *wire.Server
	bridge  *bridge
	table   *memstore.Store
	store   *troubled
	ecs     *stale
	fate    fate
	images  []fleet.Image
	laws    *laws
	agents  map[string]*reporter
	reports fleet.Reports
	defs    []string
	known   *fleet.DefinitionCache
	emitted int
	swept   time.Time
	nested  bool
	decided int
}

// newLife makes a fleet. The choice that ECS makes among fitting cards goes round
// with the seed.
func newLife(p Plan) (*life, error) {
	start := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	l := &life{plan: p, rng: rand.New(rand.NewPCG(p.Seed, 0x666c656574)), now: start, table: memstore.New(), agents: map[string]*reporter{}}
	model := sim.New(sim.Config{Seed: p.Seed, Start: start, Choice: sim.Choices[p.Seed%uint64(len(sim.Choices))], Flaps: true})
	l.face = wire.New(model)
	l.face.Unmetered = true
	l.face.Fault = l.callTrouble
	clock := func() time.Time { return l.now }
	l.bridge = &bridge{rng: l.rng, late: p.has("late"), doubled: p.has("doubled"), lossy: p.has("lossy")}
	l.store = &troubled{Store: l.table, rng: l.rng, fate: &l.fate, on: p.has("store"), images: &l.images, clock: clock}
	api := ecs.New(ecs.Options{Region: "us-east-1", BaseEndpoint: aws.String("http://ecs"), HTTPClient: &http.Client{Transport: inProcess{l.face}}, Retryer: aws.NopRetryer{},
		Credentials: credentials.NewStaticCredentialsProvider("x", "x", "")})
	free := func() *rate.Limiter { return rate.NewLimiter(rate.Inf, 1) }
	client := &ecsapi.Client{API: api, Clock: clock, Pause: func(context.Context, time.Duration) error { return nil },
		Budget: &ecsapi.Budget{Read: free(), Modify: free(), Definition: free(), Cluster: free()}}
	l.ecs = &stale{ECS: client, rng: l.rng, fate: &l.fate, on: p.has("api"), clock: clock, tasks: map[string]past[fleet.SeenTask]{}, hosts: map[string]past[fleet.SeenHost]{}}
	l.known = &fleet.DefinitionCache{Store: l.table, Source: client}
	verdicts, err := health.Default()
	if err != nil {
		return nil, err
	}
	l.reports = fleet.Reports{Records: l.table, Store: l.table, Policy: verdicts, Accounts: []string{"111122223333"}, Clock: clock, Log: quiet}
	l.laws = newLaws(l)
	var made error
	l.face.Do(func(f *sim.Fleet) { made = l.open(f) })
	return l, made
}

var quiet = slog.New(slog.DiscardHandler)

// open launches hosts and creates services.
func (l *life) open(f *sim.Fleet) error {
	for _, shape := range []string{"g6.xlarge", "g6.12xlarge", "g6.xlarge", "g6e.xlarge", "g5.xlarge"}[:3+l.rng.IntN(3)] {
		if _, err := f.Launch(shape, time.Duration(l.rng.IntN(60))*time.Second); err != nil {
			return err
		}
	}
	for _, d := range []sim.Definition{
		{Family: "chat", Containers: []sim.Container{{Name: "app", Memory: 6000, Compute: 40}}, StopTimeout: 90 * time.Second},
		{Family: "pair", Containers: []sim.Container{{Name: "model", Memory: 4000, Compute: 30}, {Name: "side", Memory: 500, Compute: 5}, {Name: "log"}}, StopTimeout: 30 * time.Second},
		{Family: "train", Containers: []sim.Container{{Name: "app", Whole: 1}}, StopTimeout: 60 * time.Second},
		{Family: "web", Containers: []sim.Container{{Name: "app"}}},
	} {
		made, err := f.RegisterDefinition(d)
		if err != nil {
			return err
		}
		l.defs = append(l.defs, made.ARN)
	}
	for i, n := range []int{4, 4, 1} {
		if _, err := f.CreateService(strings.Split(l.defs[i], "/")[1][:4], l.defs[i], 1+l.rng.IntN(n)); err != nil {
			return err
		}
	}
	return nil
}

// callTrouble is what a call of ECS's API meets.
func (l *life) callTrouble(string) wire.Trouble {
	if !l.plan.has("api") {
		return wire.None
	}
	switch l.rng.IntN(60) {
	case 0:
		return wire.Throttle
	case 1:
		return wire.TimeoutBefore
	case 2:
		return wire.TimeoutAfter
	}
	return wire.None
}

// step lets a tick of fleet time pass, and holds the laws behind it.
func (l *life) step(ctx context.Context, by time.Duration) error {
	l.now = l.now.Add(by)
	var out []sim.Emitted
	l.face.Do(func(f *sim.Fleet) {
		l.happen(f)
		out = f.Advance(l.now)
	})
	for _, e := range out {
		l.emitted++
		l.bridge.take(e, fmt.Sprint("e", l.emitted), !strings.Contains(string(e.Body), `"source":"aws.ecs"`))
	}
	if err := l.deliver(ctx); err != nil {
		return err
	}
	if l.now.Sub(l.swept) >= sweepEvery {
		l.swept = l.now
		l.sweep(ctx)
	}
	if l.plan.has("chaos") && l.rng.IntN(15) == 0 {
		if err := l.decide(ctx); err != nil {
			return err
		}
	}
	if err := l.report(ctx); err != nil {
		return err
	}
	if err := l.publish(ctx); err != nil {
		return err
	}
	return l.laws.hold(ctx)
}

// happen is what people and chance do to the fleet.
func (l *life) happen(f *sim.Fleet) {
	if !l.plan.has("chaos") {
		return
	}
	hosts, services := f.Hosts(), []string{"chat", "pair"}
	if l.rng.IntN(4) == 0 {
		_ = f.UpdateService(services[l.rng.IntN(2)], "", l.rng.IntN(12)) // they are there
	}
	switch l.rng.IntN(60) {
	case 3:
		_, _ = f.Run(l.defs[l.rng.IntN(len(l.defs))], "family:x", "someone") // no room is an answer
	case 4:
		if ts := f.Tasks(); len(ts) > 0 {
			_, _ = f.Stop(ts[l.rng.IntN(len(ts))].ARN, "by hand") // it may have gone
		}
	case 5:
		if len(hosts) > 0 {
			kind := []string{"spot", "host-terminate", "reboot-new-uuids", "mps-dead", "mps-wedged", "mps-recover", "mps-fault", "ec2-impaired", "event-loss"}[l.rng.IntN(9)]
			_ = f.Inject(sim.Fault{Kind: kind, Host: hosts[l.rng.IntN(len(hosts))].ARN, For: time.Duration(1+l.rng.IntN(300)) * time.Second})
		}
	case 6:
		if len(hosts) < 6 {
			_, _ = f.Launch("g6.xlarge", time.Minute)
		}
	case 7:
		if len(hosts) > 0 {
			_ = f.Drain(hosts[l.rng.IntN(len(hosts))].ARN, l.rng.IntN(2) == 0)
		}
	}
}

// live makes the coming invocation one of either release, which may die.
func (l *life) live() {
	l.fate = fate{}
	if l.plan.has("crash") && l.rng.IntN(10) == 0 {
		l.fate = fate{calls: 1 + l.rng.IntN(12), before: l.rng.IntN(2) == 0}
	}
	l.store.old = l.plan.has("release") && l.rng.IntN(2) == 0
}

// deliver hands what is due to the handler, ten messages at most at once.
func (l *life) deliver(ctx context.Context) error {
	for batch := range slices.Chunk(l.bridge.ready(l.now), 10) {
		l.live()
		in := fleet.Ingest{Store: l.store, Definitions: l.known, Oracle: l.ecs, Policy: ledger.DefaultPolicy(), Clock: l.clock, Log: quiet,
			Scope: ingest.Scope{Accounts: []string{"111122223333"}}}
		msgs := make([]fleet.Message, len(batch))
		for i, m := range batch {
			msgs[i] = fleet.Message{ID: m.id, Body: m.body}
		}
		replies := in.Batch(ctx, msgs)
		for i, r := range replies {
			// Who died told nobody what became of the batch: all of it comes again.
			if l.fate.dead || r.Outcome == fleet.Failed {
				again := batch[i]
				again.due = l.now.Add(time.Duration(30+l.rng.IntN(60)) * time.Second)
				l.bridge.put(again)
				continue
			}
			if err := l.laws.acknowledged(batch[i].body, r); err != nil {
				return err
			}
		}
		l.fate = fate{}
	}
	return nil
}

func (l *life) clock() time.Time { return l.now }

// sweep compares the ledger with ECS; with the fault, another sweep runs in the
// middle of it.
func (l *life) sweep(ctx context.Context) {
	l.live()
	s := l.sweeper()
	if l.plan.has("sweeps") && !l.nested {
		left := l.rng.IntN(6)
		l.store.between = func() {
			if left--; left == 0 && !l.nested {
				l.nested = true
				_, _ = l.sweeper().Cluster(ctx, worldCluster) // what it leaves the next one does
				l.nested = false
			}
		}
	}
	_, _ = s.Cluster(ctx, worldCluster) // what it leaves the next one does
	l.store.between = nil
	l.fate = fate{}
}

func (l *life) sweeper() *fleet.Sweep {
	return &fleet.Sweep{Store: l.store, ECS: l.ecs, Definitions: l.known, Bookmarks: l.table, Policy: ledger.DefaultPolicy(), Clock: l.clock, Log: quiet}
}

// publish runs the outbox over what the table's stream brought.
func (l *life) publish(ctx context.Context) error {
	for range 4 {
		if len(l.images) == 0 {
			return nil
		}
		l.live()
		o := fleet.Outbox{Store: l.store, Policy: ledger.DefaultPolicy()}
		err := o.Batch(ctx, l.images)
		dead := l.fate.dead
		l.fate = fate{}
		if err == nil && !dead {
			l.images = nil
		}
	}
	return nil // the stream brings them again
}

// choose is placement's own answer, for a task of 6,000 MiB and 40 %.
func (l *life) choose(hosts []ledger.Host) (ledger.Host, bool) {
	var views []ledger.View
	for _, h := range hosts {
		views = append(views, h.View(l.now))
	}
	to, _, err := placement.Decide(placement.FromLedger(views), placement.Demand{Memory: 6000, Compute: 40, Tier: gpu.DefaultTier}, placement.DefaultPolicy())
	if err != nil || to.Host == "" {
		return ledger.Host{}, false
	}
	i := slices.IndexFunc(hosts, func(h ledger.Host) bool { return h.ID.Instance == to.Host })
	return hosts[max(i, 0)], i >= 0
}

// decide makes a reservation of ours on a host and starts a task under it.
func (l *life) decide(ctx context.Context) error {
	hosts, _, err := l.table.Hosts(ctx, worldCluster, "", 0)
	if err != nil || len(hosts) == 0 {
		return err
	}
	h, ok := l.choose(hosts)
	if !ok {
		return nil
	}
	l.decided++
	r := ledger.Reservation{ID: fmt.Sprint("r", l.decided), Definition: l.defs[0], Tier: gpu.DefaultTier, MadeAt: l.now, LeaseUntil: l.now.Add(time.Minute),
		Containers: []ledger.ContainerNeed{{Name: "app", Need: ledger.NeedShare, Memory: 6000, Compute: 40}}}
	l.live()
	defer func() { l.fate = fate{} }()
	after, err := ledger.Reserve(h, r, ledger.DefaultPolicy(), l.now)
	if err != nil {
		return nil // refused, as it should be
	}
	if _, err := l.store.Commit(ctx, after); err != nil {
		return nil // lost a race, or the reply: the lease ends it
	}
	if err := l.laws.decided(after); err != nil {
		return err
	}
	l.face.Do(func(f *sim.Fleet) {
		if l.rng.IntN(5) > 0 {
			_, _ = f.Start(l.defs[0], h.ID.Instance, r.ID) // ECS may refuse: the lease ends it
		}
	})
	return nil
}
