// Package rebuild measures how long the ledger takes to be rebuilt from ECS alone:
// the real sweep and the real SDK client over HTTP, against a stand-in that has
// ECS's own read bucket and throttles what is over it.
package rebuild

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"golang.org/x/time/rate"

	"github.com/bulkhead-ecs/bulkhead/internal/ecsapi"
	"github.com/bulkhead-ecs/bulkhead/internal/fleet"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/memstore"
)

// ECS's read bucket, from the developer guide: 100 calls at once, 20 a second.
const (
	burst  = 100
	refill = 20
)

const arnHead = "arn:aws:ecs:us-east-1:111122223333:"

// Report prints the figures for 1,000 hosts with 10 tasks each.
func Report(ctx context.Context, w io.Writer) error {
	const hosts, each = 1000, 10
	standIn := &server{hosts: hosts, each: each, reads: rate.NewLimiter(refill, burst), definitions: rate.NewLimiter(20, 50)}
	srv := httptest.NewServer(standIn)
	defer srv.Close()
	api := ecs.NewFromConfig(aws.Config{Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("x", "x", "")},
		func(o *ecs.Options) { o.BaseEndpoint = &srv.URL; o.RetryMaxAttempts = 1 })
	clock := func() time.Time { return time.Now().UTC() }
	client := &ecsapi.Client{API: api, Budget: ecsapi.NewBudget(1), Clock: clock}
	store := memstore.New()
	s := &fleet.Sweep{Store: store, ECS: client, Definitions: client, Policy: ledger.DefaultPolicy(), Clock: clock, Log: slog.New(slog.DiscardHandler), Parallel: 16}
	begin := time.Now()
	rep, err := s.Cluster(ctx, arnHead+"cluster/gpu-prod")
	if err != nil {
		return err
	}
	took := time.Since(begin)
	calls := standIn.calls.Load() - standIn.throttled.Load()
	floor := time.Duration(float64(calls-burst) / refill * float64(time.Second))
	fmt.Fprintf(w, "B9 rebuild of the ledger from ECS alone: %d hosts, %d tasks\n", rep.Hosts, rep.Tasks)
	fmt.Fprintf(w, "  bulkhead: %.2f s with %d read calls, %d throttled, %d commits\n", took.Seconds(), calls, standIn.throttled.Load(), rep.Written)
	fmt.Fprintf(w, "  baseline, the floor that ECS's read bucket sets: %.2f s; ratio %.2f\n", floor.Seconds(), took.Seconds()/floor.Seconds())
	if rep.Ghosts != hosts*each || rep.Written != hosts {
		return fmt.Errorf("the sweep found %d tasks in %d commits, want %d in %d", rep.Ghosts, rep.Written, hosts*each, hosts)
	}
	return nil
}

// server answers the five read calls of a sweep for a fleet that is arithmetic.
type server struct {
	hosts, each        int
	reads, definitions *rate.Limiter
	calls, throttled   atomic.Int64
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	op := r.Header.Get("X-Amz-Target")
	op = op[strings.LastIndexByte(op, '.')+1:]
	var in struct {
		NextToken, DesiredStatus, TaskDefinition string
		ContainerInstances, Tasks                []string
	}
	_ = json.NewDecoder(r.Body).Decode(&in)
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	bucket := s.reads
	if op == "DescribeTaskDefinition" {
		bucket = s.definitions
	} else {
		s.calls.Add(1)
	}
	if !bucket.Allow() {
		s.throttled.Add(1)
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"__type":"ThrottlingException","message":"Rate exceeded"}`)
		return
	}
	var out any
	switch op {
	case "ListContainerInstances":
		out = page("containerInstanceArns", in.NextToken, s.hosts, instance)
	case "ListTasks":
		n := s.hosts * s.each
		if in.DesiredStatus == "STOPPED" {
			n = 0
		}
		out = page("taskArns", in.NextToken, n, task)
	case "DescribeContainerInstances":
		out = s.describeHosts(in.ContainerInstances)
	case "DescribeTasks":
		out = s.describeTasks(in.Tasks)
	case "DescribeTaskDefinition":
		out = map[string]any{"taskDefinition": map[string]any{"taskDefinitionArn": in.TaskDefinition, "family": "chat", "containerDefinitions": []any{map[string]any{
			"name": "app", "resourceRequirements": []any{map[string]any{"type": "GPU", "sharingStrategy": map[string]any{"nvidiaMps": map[string]any{"memory": 2000}}}}}}}}
	}
	_ = json.NewEncoder(w).Encode(out)
}

func instance(n int) string { return arnHead + fmt.Sprintf("container-instance/gpu-prod/%032x", n) }
func task(n int) string     { return arnHead + fmt.Sprintf("task/gpu-prod/%032x", n) }
func card(n int) string     { return fmt.Sprintf("GPU-%08x-0000-4000-8000-%012x", n, n) }

func number(arn string) int {
	n, _ := strconv.ParseInt(arn[strings.LastIndexByte(arn, '/')+1:], 16, 64)
	return int(n)
}

// page gives a hundred at a time, as ECS does.
func page(key, token string, n int, name func(int) string) map[string]any {
	from, _ := strconv.Atoi(token)
	arns := []string{}
	for i := from; i < min(from+100, n); i++ {
		arns = append(arns, name(i))
	}
	out := map[string]any{key: arns}
	if from+100 < n {
		out["nextToken"] = strconv.Itoa(from + 100)
	}
	return out
}

func (s *server) describeHosts(arns []string) any {
	var out []any
	for _, arn := range arns {
		n := number(arn)
		out = append(out, map[string]any{"containerInstanceArn": arn, "ec2InstanceId": fmt.Sprintf("i-%017x", n), "status": "ACTIVE", "agentConnected": true, "version": 7,
			"registeredAt": 1790000000, "attributes": []any{map[string]any{"name": "ecs.capability.gpu-sharing-mps"}},
			"registeredResources": []any{map[string]any{"name": "GPU", "type": "STRINGSET", "stringSetValue": []string{card(n)}}},
			"gpuDevices":          []any{map[string]any{"gpuId": card(n), "sharingMode": "NVIDIA_MPS", "totalMemoryInMiB": 22563}}})
	}
	return map[string]any{"containerInstances": out, "failures": []any{}}
}

func (s *server) describeTasks(arns []string) any {
	var out []any
	for _, arn := range arns {
		n := number(arn)
		out = append(out, map[string]any{"taskArn": arn, "clusterArn": arnHead + "cluster/gpu-prod", "containerInstanceArn": instance(n / s.each),
			"taskDefinitionArn": arnHead + "task-definition/chat:7", "launchType": "EC2", "lastStatus": "RUNNING", "desiredStatus": "RUNNING", "version": 3,
			"createdAt": 1790000000, "containers": []any{map[string]any{"name": "app", "gpuIds": []string{card(n / s.each)}}}})
	}
	return map[string]any{"tasks": out, "failures": []any{}}
}
