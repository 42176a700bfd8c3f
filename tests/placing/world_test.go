package placing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/bulkhead-ecs/bulkhead/internal/ecsapi"
	"github.com/bulkhead-ecs/bulkhead/internal/fleet"
	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/memstore"
	"github.com/bulkhead-ecs/bulkhead/internal/placement"
	"github.com/bulkhead-ecs/bulkhead/internal/placing"
	"github.com/bulkhead-ecs/bulkhead/internal/sim"
	"github.com/bulkhead-ecs/bulkhead/internal/sim/wire"
)

var start = time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)

// policy has a tier that shares with nobody else, and one that shares with any.
func policy() placement.Policy {
	return placement.Policy{Tiers: map[gpu.Tier]placement.TierRule{
		"critical": {Neighbours: placement.Same, Budget: 100}, "standard": {Neighbours: placement.Any, Budget: 100}, "batch": {Neighbours: placement.Any, Budget: 100}}}
}

// world is a fleet with the ledger, the placer and everything between them.
type world struct {
	t      *testing.T
	f      *sim.Fleet
	server *wire.Server
	api    *ecs.Client
	client *ecsapi.Client
	store  *memstore.Store
	kept   *memstore.Placements
	ledger ledger.Store
	desk   *placing.Desk
	placer *placing.Placer
	ingest *fleet.Ingest
	queue  []string
	events int
}

// Send implements placing.Queue.
func (w *world) Send(_ context.Context, _, id string) error {
	w.queue = append(w.queue, id)
	return nil
}

func newWorld(t *testing.T, choice sim.Choice, hosts int) *world {
	t.Helper()
	w := &world{t: t, f: sim.New(sim.Config{Seed: 7, Start: start, Choice: choice}), store: memstore.New(), kept: memstore.NewPlacements()}
	for range hosts {
		if _, err := w.f.Launch("g6.12xlarge", time.Second); err != nil {
			t.Fatal(err)
		}
	}
	w.define("chat", "critical", 4096, 40)
	w.define("batch", "batch", 2048, 30)
	w.server = wire.New(w.f)
	w.server.Unmetered = true
	srv := httptest.NewServer(w.server)
	t.Cleanup(srv.Close)
	w.api = ecs.New(ecs.Options{Region: "us-east-1", BaseEndpoint: aws.String(srv.URL), Credentials: credentials.NewStaticCredentialsProvider("a", "b", "")})
	w.client = &ecsapi.Client{API: w.api, Budget: ecsapi.NewBudget(1), Clock: w.f.Now, Pause: func(context.Context, time.Duration) error { return nil }}
	w.ledger = w.store
	log := slog.New(slog.DiscardHandler)
	w.ingest = &fleet.Ingest{Store: w.store, Definitions: w.client, Oracle: w.client, Policy: ledger.DefaultPolicy(), Clock: w.f.Now, Log: log}
	w.desk = &placing.Desk{Ledger: w.store, Store: w.kept, Queue: w, Definitions: w.client, Policy: policy(), Laws: ledger.DefaultPolicy(), Clock: w.f.Now, Log: log,
		TierOf: func(_ string, d ledger.Definition) gpu.Tier { return gpu.Tier(d.TierTag) }}
	w.placer = &placing.Placer{Ledger: w.store, Store: w.kept, Definitions: w.client, Tasks: w.client, Policy: policy(), Laws: ledger.DefaultPolicy(), Clock: w.f.Now, Log: log}
	w.advance(3 * time.Minute)
	w.sweep()
	return w
}

func (w *world) define(family, tier string, memory gpu.MiB, compute gpu.Percent) {
	w.t.Helper()
	if _, err := w.f.RegisterDefinition(sim.Definition{Family: family, Tags: map[string]string{"bulkhead:tier": tier},
		Containers: []sim.Container{{Name: "app", Memory: memory, Compute: compute}}}); err != nil {
		w.t.Fatal(err)
	}
}

// advance lets time pass and applies what ECS tells of it.
func (w *world) advance(d time.Duration) {
	w.t.Helper()
	var told []sim.Emitted
	w.do(func(f *sim.Fleet) { told = f.Advance(f.Now().Add(d)) })
	for _, e := range told {
		w.events++
		for _, r := range w.ingest.Batch(context.Background(), []fleet.Message{{ID: fmt.Sprint(w.events), Body: e.Body}}) {
			if r.Outcome == fleet.Failed {
				w.t.Fatalf("%+v", r)
			}
		}
	}
}

func (w *world) do(f func(*sim.Fleet)) {
	if w.server == nil {
		f(w.f)
		return
	}
	w.server.Do(f)
}

func (w *world) sweep() {
	w.t.Helper()
	s := &fleet.Sweep{Store: w.store, ECS: w.client, Definitions: w.client, Policy: ledger.DefaultPolicy(), Clock: w.f.Now, Log: slog.New(slog.DiscardHandler)}
	if _, err := s.Cluster(context.Background(), w.f.Cluster()); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) request(token, family string, count int) placing.Request {
	return placing.Request{Cluster: w.f.Cluster(), ClientToken: token, Definition: family + ":1", Count: count}
}

func (w *world) submit(q placing.Request) placing.Record {
	w.t.Helper()
	r, err := w.desk.Submit(context.Background(), q, "arn:aws:iam::111122223333:user/ada")
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// carry brings the queue's messages until none is left, as SQS does: what failed comes
// again after a while.
func (w *world) carry() {
	w.t.Helper()
	for turn := 0; len(w.queue) > 0; turn++ {
		if turn > 40 {
			w.t.Fatalf("the queue is never empty: %v", w.queue)
		}
		ids := w.queue
		w.queue = nil
		for i, err := range w.once(ids) {
			if err != nil {
				w.queue = append(w.queue, ids[i])
			}
		}
		w.advance(30 * time.Second)
	}
}

// once runs one batch; a crash of the placer fails all of its messages.
func (w *world) once(ids []string) (errs []error) {
	defer func() {
		if r := recover(); r != nil {
			if r != any(errCrash) {
				panic(r)
			}
			errs = nil
			for range ids {
				errs = append(errs, errCrash)
			}
		}
	}()
	return w.placer.Batch(context.Background(), w.f.Cluster(), ids)
}

var errCrash = errors.New("the process died")

// started counts the tasks that ECS ever started, by startedBy.
func (w *world) started() map[string]int {
	out := map[string]int{}
	w.do(func(f *sim.Fleet) {
		for _, t := range append(f.Tasks(), f.Stopped()...) {
			out[t.StartedBy]++
		}
	})
	return out
}

// exactlyOnce holds that every copy that is started has one task, and no other has one.
func (w *world) exactlyOnce(id string) placing.Record {
	w.t.Helper()
	r, err := w.desk.Get(context.Background(), id)
	if err != nil {
		w.t.Fatal(err)
	}
	n := w.started()
	for _, c := range r.Copies {
		want := 0
		if c.State == placing.Started || c.State == placing.Bound {
			want = 1
		}
		if n[c.Reservation] != want {
			w.t.Errorf("copy %s is %s (%s) and has %d tasks", c.Reservation, c.State, c.Text, n[c.Reservation])
		}
	}
	return r
}

// noRoomLost holds that no reservation outlives what was decided.
func (w *world) noRoomLost() {
	w.t.Helper()
	w.advance(placing.Lease + 10*time.Minute)
	w.sweep()
	if err := fleet.EachHost(context.Background(), w.store, w.f.Cluster(), func(h ledger.Host) error {
		for _, r := range h.Reservations {
			w.t.Errorf("%s still holds %s", h.ID.Instance, r.ID)
		}
		return nil
	}); err != nil {
		w.t.Fatal(err)
	}
}
