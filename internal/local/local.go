package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/changes"
	"github.com/bulkhead-ecs/bulkhead/internal/fleet"
	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/health"
	"github.com/bulkhead-ecs/bulkhead/internal/httpapi"
	"github.com/bulkhead-ecs/bulkhead/internal/ingest"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/placing"
	"github.com/bulkhead-ecs/bulkhead/internal/remediate"
	"github.com/bulkhead-ecs/bulkhead/internal/remedy"
	"github.com/bulkhead-ecs/bulkhead/internal/sim"
	"github.com/bulkhead-ecs/bulkhead/internal/sizing"
	"github.com/bulkhead-ecs/bulkhead/internal/vitals"
	"github.com/bulkhead-ecs/bulkhead/internal/webui"
)

// Options of a local run.
type Options struct {
	Addr  string        // where the API listens; must be loopback
	Hosts int           // container instances, 1 to 200
	Seed  uint64        // the same seed gives the same day
	Speed float64       // seconds of fleet time a second
	Start time.Time     // of fleet time; zero is now
	For   time.Duration // end by itself after this; 0 runs until it is stopped
	Quiet bool          // print nothing but the address
	Store ledger.Store
	// Vitals keeps what hosts report; usually the same store.
	Vitals vitals.Store
	// Usage keeps the memory peaks in them; nil keeps none.
	Usage sizing.Store
	// Cases and Places keep remedies and placements; nil has none.
	Cases  remediate.Store
	Places placing.Store
	// Mode is that of remedies; empty observes.
	Mode remedy.Mode
	Log  *slog.Logger
	// Ready is told the API's address once it answers.
	Ready func(address string)
}

// Errors that a person can mend.
var (
	ErrPortTaken   = errors.New("the port is taken: another `bulkhead local` may run; give --port, or --port 0 for a free one")
	ErrNotLoopback = errors.New("the local mode has no login, so it listens on loopback only")
)

// tick is how often the day moves on.
const tick = 100 * time.Millisecond

// clusterARN is the simulated cluster.
const clusterARN = "arn:aws:ecs:" + worldRegion + ":" + worldAccount + ":cluster/" + ClusterName

// sweepEvery is the sweep's period in fleet time, as in the template.
const sweepEvery = time.Minute

// run is one local run.
type run struct {
	o       Options
	world   *world
	agents  agents
	ecs     *ecsFace
	ingest  fleet.Ingest
	sweep   fleet.Sweep
	outbox  fleet.Outbox
	reports fleet.Reports
	query   fleet.Query
	api     httpapi.API
	pass    *remediate.Pass
	placer  *placing.Placer
	places  places
	images  []fleet.Image
	counts  fleet.Counts
	events  int
	clock   struct {
		sync.Mutex
		now time.Time
	}
	lastSweep, lastRemedy time.Time
}

// Run runs until the context ends, or for as long as it was told.
func Run(ctx context.Context, o Options, out io.Writer) error {
	ln, err := listen(ctx, o.Addr)
	if err != nil {
		return err
	}
	r, err := newRun(ctx, o)
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	defer r.ecs.close()
	// Before anyone can ask, so that the first answer is of a fleet that lives.
	if err := r.step(ctx, settle); err != nil {
		if ctx.Err() != nil {
			err = nil // it was stopped, and that is no failure
		}
		return errors.Join(err, ln.Close())
	}
	mux := http.NewServeMux()
	mux.Handle("/", webui.Handler(signed(r.api.Handler())))
	mux.HandleFunc("POST "+InjectPath, r.injects)
	mux.HandleFunc("GET "+InjectPath, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string][]string{"kinds": InjectKinds()})
	})
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ln) }()
	address := "http://" + ln.Addr().String()
	if o.Quiet {
		fmt.Fprintln(out, address) // the one thing that nobody can guess
	} else {
		welcome(out, o, address)
	}
	if o.Ready != nil {
		o.Ready(address)
	}
	if o.For > 0 {
		// No deadline: the use cases hold deadlines against their clock, and this one's
		// runs in fleet time.
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer time.AfterFunc(o.For, cancel).Stop()
		defer cancel()
	}
	err = r.live(ctx, out)
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	_ = srv.Shutdown(stop)
	if e := <-served; !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	if err == nil && !o.Quiet {
		r.farewell(out)
	}
	return err
}

func listen(ctx context.Context, addr string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("address %q: %w", addr, err)
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return nil, ErrNotLoopback
	}
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s: %w", addr, ErrPortTaken)
	}
	return ln, err
}

func newRun(ctx context.Context, o Options) (*run, error) {
	start := o.Start
	if start.IsZero() {
		start = time.Now().UTC().Truncate(time.Second)
	}
	r := &run{o: o, agents: agents{}, counts: fleet.Counts{}}
	r.clock.now = start
	var err error
	if r.world, err = newWorld(o.Seed, o.Hosts, start); err != nil {
		return nil, err
	}
	verdicts, err := health.Default()
	if err != nil {
		return nil, err
	}
	if r.ecs, err = openECS(ctx, r.world.face, r.now); err != nil {
		return nil, err
	}
	policy := ledger.DefaultPolicy()
	policy.Tiers = map[gpu.Tier]ledger.TierRule{"critical": ledger.TierOnlySame}
	store := changes.Notify(o.Store, func(before, after ledger.Host) {
		r.images = append(r.images, fleet.Image{Before: before, After: after, At: r.now()})
	})
	tiers := ingest.Tiers{}
	definitions := &fleet.DefinitionCache{Store: o.Store, Source: r.ecs.client}
	r.ingest = fleet.Ingest{Store: store, Definitions: definitions, Oracle: r.ecs.client, Policy: policy, Tiers: tiers, Clock: r.now, Log: o.Log,
		Scope: ingest.Scope{Accounts: []string{worldAccount}, Regions: []string{worldRegion}}}
	r.sweep = fleet.Sweep{Store: store, ECS: r.ecs.client, Definitions: definitions, Vitals: o.Vitals, Policy: policy, Tiers: tiers, Clock: r.now, Log: o.Log}
	r.outbox = fleet.Outbox{Store: o.Store, Policy: policy}
	r.reports = fleet.Reports{Records: o.Vitals, Usage: o.Usage, Store: store, Policy: verdicts, Accounts: []string{worldAccount}, Roles: []string{agentRole}, Clock: r.now, Log: o.Log}
	r.query = fleet.Query{Store: o.Store, Vitals: o.Vitals, Usage: o.Usage, Verdicts: func() (health.Policy, error) { return verdicts, nil }, Policy: policy, Clock: r.now}
	r.api = httpapi.API{Query: &r.query, Log: o.Log}
	if o.Cases != nil {
		if err := r.remedies(verdicts); err != nil {
			return nil, err
		}
	}
	r.placement(definitions)
	return r, nil
}

func (r *run) now() time.Time {
	r.clock.Lock()
	defer r.clock.Unlock()
	return r.clock.now
}

// live moves the day on, tick by tick, and handles what it makes.
func (r *run) live(ctx context.Context, out io.Writer) error {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	last, told := time.Now(), time.Now()
	for {
		select {
		case <-ctx.Done():
			return nil
		case t := <-ticker.C:
			if err := r.step(ctx, time.Duration(float64(t.Sub(last))*r.o.Speed)); err != nil {
				if ctx.Err() != nil {
					return nil
				}
				return err
			}
			last = t
			if !r.o.Quiet && t.Sub(told) >= 5*time.Second {
				told = t
				r.status(ctx, out)
			}
		}
	}
}

// step lets a while of fleet time pass.
func (r *run) step(ctx context.Context, by time.Duration) error {
	end := r.now().Add(by)
	for r.now().Before(end) {
		next := r.now().Add(min(end.Sub(r.now()), 15*time.Second))
		emitted, err := r.world.advance(next)
		if err != nil {
			return err
		}
		r.clock.Lock()
		r.clock.now = next.Truncate(time.Millisecond)
		r.clock.Unlock()
		if !r.now().Before(end) || next.Equal(end) {
			end = r.now()
		}
		if err := r.handle(ctx, emitted); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) handle(ctx context.Context, emitted []sim.Emitted) error {
	msgs := make([]fleet.Message, len(emitted))
	for i, e := range emitted {
		msgs[i] = fleet.Message{ID: fmt.Sprint(r.events + i), Body: e.Body}
	}
	r.events += len(emitted)
	for _, reply := range r.ingest.Batch(ctx, msgs) {
		r.counts[reply.Outcome]++
		if reply.Outcome == fleet.Failed {
			return reply.Err
		}
	}
	if now := r.now(); now.Sub(r.lastSweep) >= sweepEvery {
		r.lastSweep = now
		if _, err := r.sweep.Cluster(ctx, clusterARN); err != nil {
			return err
		}
	}
	if err := r.agents.report(ctx, r.world, &r.reports); err != nil {
		return err
	}
	if err := errors.Join(r.place(ctx), r.remedy(ctx)); err != nil {
		return err
	}
	images := r.images
	r.images = nil
	return r.outbox.Batch(ctx, images)
}

func welcome(out io.Writer, o Options, address string) {
	fmt.Fprintf(out, `Bulkhead runs here, with no AWS and no GPU: %d hosts of a simulated ECS cluster, seed %d, %g× time.
The API answers at %s, and the same address in a browser shows the fleet.

Try in another terminal:
  bulkhead gpus                       cards, with what is held and promised on each
  bulkhead tasks --service chat       who holds what
  bulkhead tenants GPU-…              the blast radius of one card
  bulkhead findings                   what is wrong, by name
  bulkhead history i-… --at 5m        what stood on a host five minutes ago
  bulkhead health                     what each host's agent says, and what follows
  bulkhead local inject mps-dead      break something, and be told what to watch
  curl -s %s/v1/clusters/gpu-local/summary

Ctrl-C stops it.

`, o.Hosts, o.Seed, o.Speed, address, address)
}

func (r *run) status(ctx context.Context, out io.Writer) {
	s, err := r.query.Summary(ctx, clusterARN)
	if err != nil {
		return
	}
	fmt.Fprintf(out, "%s  %d events  %d GPUs: %d shared, %d whole, %d idle  %d tasks  %d%% of memory held  %d errors, %d warnings\n",
		r.now().Format("15:04:05"), r.events, s.GPUs, s.Shared, s.Dedicated, s.Idle, s.Tasks, percent(s.Held, s.Total), s.Errors, s.Warnings)
}

func percent(part, whole gpu.MiB) int64 {
	if whole <= 0 {
		return 0
	}
	return int64(part) * 100 / int64(whole)
}

func (r *run) farewell(out io.Writer) {
	fmt.Fprintf(out, "\nStopped. %d events: %d applied, %d stale, %d duplicates, %d ignored.\n", r.events, r.counts[fleet.Applied], r.counts[fleet.Stale],
		r.counts[fleet.Duplicate], r.counts[fleet.Ignored])
}
