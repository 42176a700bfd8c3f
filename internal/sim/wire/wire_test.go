package wire_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-ecs/bulkhead/events"
	"github.com/bulkhead-ecs/bulkhead/internal/ecsapi"
	"github.com/bulkhead-ecs/bulkhead/internal/fleet"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/memstore"
	"github.com/bulkhead-ecs/bulkhead/internal/sim"
	"github.com/bulkhead-ecs/bulkhead/internal/sim/wire"
)

var start = time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)

type world struct {
	f      *sim.Fleet
	server *wire.Server
	api    *ecs.Client
	client *ecsapi.Client
	def    string
}

func newWorld(t *testing.T, hosts, tasks int) *world {
	f := sim.New(sim.Config{Seed: 5, Start: start, Choice: sim.BestFit, Flaps: true})
	for range hosts {
		if _, err := f.Launch("g6.12xlarge", time.Second); err != nil {
			t.Fatal(err)
		}
	}
	d, err := f.RegisterDefinition(sim.Definition{Family: "chat", Containers: []sim.Container{{Name: "a", Memory: 4096, Compute: 25}, {Name: "b", Memory: 512}}, Tags: map[string]string{"bulkhead:tier": "critical"}})
	if err != nil {
		t.Fatal(err)
	}
	f.CreateService("chat", d.ARN, tasks)
	s := wire.New(f)
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	api := ecs.New(ecs.Options{Region: "us-east-1", BaseEndpoint: aws.String(srv.URL), Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""), RetryMaxAttempts: 1})
	return &world{f: f, server: s, api: api, def: d.ARN, client: &ecsapi.Client{API: api, Budget: ecsapi.NewBudget(1), Clock: f.Now}}
}

// truth are what the fleet holds, as "host card task container MiB".
func (w *world) truth() []string {
	var out []string
	for _, x := range w.f.Truth() {
		out = append(out, fmt.Sprintf("%s %s %s %s %d", x.Host, x.Card, x.Task, x.Container, x.Memory))
	}
	slices.Sort(out)
	return out
}

func (w *world) ledger(t *testing.T, store ledger.Store) []string {
	var out []string
	if err := fleet.EachHost(context.Background(), store, w.f.Cluster(), func(h ledger.Host) error {
		for _, d := range h.View(w.f.Now()).Devices {
			for _, s := range d.Shares {
				if !s.State.Holds() {
					continue // holds nothing any more
				}
				out = append(out, fmt.Sprintf("%s %s %s %s %d", h.ID.Instance, d.UUID, s.TaskARN, s.Container, s.Memory))
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return out
}

func TestASweepThroughTheRealClientsRebuildsTheLedger(t *testing.T) {
	w := newWorld(t, 105, 210)
	w.f.Advance(start.Add(5 * time.Minute))
	store := memstore.New()
	sweep := &fleet.Sweep{Store: store, ECS: w.client, Definitions: w.client, Policy: ledger.DefaultPolicy(), Clock: w.f.Now, Log: slog.New(slog.DiscardHandler)}
	rep, err := sweep.Cluster(context.Background(), w.f.Cluster())
	if err != nil || !rep.Complete || rep.Hosts != 105 {
		t.Fatalf("%+v, %v", rep, err)
	}
	want := w.truth()
	if len(want) != 420 {
		t.Fatalf("the fleet holds %d shares, want 420", len(want))
	}
	if d := cmp.Diff(want, w.ledger(t, store)); d != "" {
		t.Error(d)
	}
}

// Events come at least once and in no order: a step's are shuffled and some doubled.
func TestIngestOfEveryEmittedEventLeavesTheTruth(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	w := newWorld(t, 6, 20)
	store, n := memstore.New(), 0
	w.server.Unmetered = true // time stands while a batch is handled
	in := &fleet.Ingest{Store: store, Definitions: &fleet.DefinitionCache{Store: store, Source: w.client}, Oracle: w.client, Policy: ledger.DefaultPolicy(), Clock: w.f.Now, Log: slog.New(slog.DiscardHandler)}
	for step := range 40 {
		if step == 20 {
			if err := w.f.Inject(sim.Fault{Kind: "spot", Host: w.f.Hosts()[2].EC2}); err != nil {
				t.Fatal(err)
			}
		}
		w.f.UpdateService("chat", "", 10+step%7*5)
		batch := w.f.Advance(w.f.Now().Add(2 * time.Minute))
		batch = append(batch, batch[:len(batch)/3]...)
		rng.Shuffle(len(batch), func(i, j int) { batch[i], batch[j] = batch[j], batch[i] })
		for _, e := range batch {
			n++
			ev, err := events.Parse(e.Body, events.Limits{})
			if err != nil {
				t.Fatalf("%v: %s", err, e.Body)
			}
			if _, unknown := ev.Detail.(events.Unknown); unknown {
				t.Fatalf("unknown kind: %s", e.Body)
			}
			for _, r := range in.Batch(context.Background(), []fleet.Message{{ID: fmt.Sprint(n), Body: e.Body}}) {
				if r.Outcome == fleet.Failed || r.Outcome == fleet.Rejected || r.Outcome == fleet.Unknown {
					t.Fatalf("%+v: %s", r, e.Body)
				}
			}
		}
		if d := cmp.Diff(w.truth(), w.ledger(t, store)); d != "" {
			t.Fatalf("step %d: %s", step, d)
		}
	}
}

func TestEachCallAnswersTheRealClient(t *testing.T) {
	w := newWorld(t, 2, 2)
	w.f.Advance(start.Add(2 * time.Minute))
	ctx, c := context.Background(), aws.String("gpu")
	h := w.f.Hosts()[0]
	run, err := w.api.RunTask(ctx, &ecs.RunTaskInput{Cluster: c, TaskDefinition: &w.def, Count: aws.Int32(2), StartedBy: aws.String("me")})
	if err != nil || len(run.Tasks) != 2 {
		t.Fatal(run, err)
	}
	one, err := w.api.StartTask(ctx, &ecs.StartTaskInput{Cluster: c, TaskDefinition: &w.def, ContainerInstances: []string{h.ARN}})
	if err != nil || len(one.Tasks) != 1 || *one.Tasks[0].ContainerInstanceArn != h.ARN {
		t.Fatal(one, err)
	}
	mine, err := w.api.ListTasks(ctx, &ecs.ListTasksInput{Cluster: c, StartedBy: aws.String("me")})
	if err != nil || len(mine.TaskArns) != 2 {
		t.Fatal(mine, err)
	}
	stopped, err := w.api.StopTask(ctx, &ecs.StopTaskInput{Cluster: c, Task: &mine.TaskArns[0], Reason: aws.String("done")})
	if err != nil || *stopped.Task.DesiredStatus != "STOPPED" {
		t.Fatal(stopped, err)
	}
	attr := types.Attribute{Name: aws.String("bulkhead.state"), Value: aws.String("ok"), TargetId: &h.ARN}
	if _, err := w.api.PutAttributes(ctx, &ecs.PutAttributesInput{Cluster: c, Attributes: []types.Attribute{attr}}); err != nil || h.Attributes["bulkhead.state"] != "ok" {
		t.Fatal(h.Attributes, err)
	}
	if _, err := w.api.DeleteAttributes(ctx, &ecs.DeleteAttributesInput{Cluster: c, Attributes: []types.Attribute{attr}}); err != nil || len(h.Attributes) != 0 {
		t.Fatal(h.Attributes, err)
	}
	drained, err := w.api.UpdateContainerInstancesState(ctx, &ecs.UpdateContainerInstancesStateInput{Cluster: c, ContainerInstances: []string{h.ARN}, Status: "DRAINING"})
	if err != nil || *drained.ContainerInstances[0].Status != "DRAINING" {
		t.Fatal(drained, err)
	}
	svc, err := w.api.UpdateService(ctx, &ecs.UpdateServiceInput{Cluster: c, Service: aws.String("chat"), DesiredCount: aws.Int32(3)})
	if err != nil || svc.Service.DesiredCount != 3 {
		t.Fatal(svc, err)
	}
	some, err := w.api.DescribeServices(ctx, &ecs.DescribeServicesInput{Cluster: c, Services: []string{"chat", "none"}})
	if err != nil || len(some.Services) != 1 || len(some.Failures) != 1 {
		t.Fatal(some, err)
	}
	cl, err := w.api.DescribeClusters(ctx, &ecs.DescribeClustersInput{Clusters: []string{"gpu", "none"}})
	if err != nil || len(cl.Clusters) != 1 || *cl.Failures[0].Reason != "MISSING" {
		t.Fatal(cl, err)
	}
}

func code(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}

func TestErrorsAndLimitsAreAWSs(t *testing.T) {
	w := newWorld(t, 1, 0)
	w.f.Advance(start.Add(time.Minute))
	ctx := context.Background()
	_, err := w.api.ListTasks(ctx, &ecs.ListTasksInput{Cluster: aws.String("other")})
	if code(err) != "ClusterNotFoundException" {
		t.Error(err)
	}
	_, err = w.api.DescribeTasks(ctx, &ecs.DescribeTasksInput{Cluster: aws.String("gpu"), Tasks: make([]string, 101)})
	if code(err) != "InvalidParameterException" {
		t.Error(err)
	}
	n := 0
	for ; n < 200; n++ {
		if _, err = w.api.ListTasks(ctx, &ecs.ListTasksInput{Cluster: aws.String("gpu")}); err != nil {
			break
		}
	}
	if code(err) != "ThrottlingException" || n < 97 || n > 100 {
		t.Errorf("after %d reads at one moment: %v", n, err)
	}
}

func TestACallMayTimeOutAfterItsEffect(t *testing.T) {
	w := newWorld(t, 1, 0)
	w.f.Advance(start.Add(time.Minute))
	for trouble, want := range map[wire.Trouble]int{wire.TimeoutBefore: 0, wire.Throttle: 0, wire.TimeoutAfter: 1} {
		before := len(w.f.Tasks())
		w.server.Fault = func(string) wire.Trouble { return trouble }
		if _, err := w.api.RunTask(context.Background(), &ecs.RunTaskInput{Cluster: aws.String("gpu"), TaskDefinition: &w.def}); err == nil {
			t.Error("no error")
		}
		if got := len(w.f.Tasks()) - before; got != want {
			t.Errorf("trouble %d: %d tasks, want %d", trouble, got, want)
		}
	}
}
