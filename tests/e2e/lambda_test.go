package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/truora/minidyn/server"

	"github.com/bulkhead-ecs/bulkhead/internal/dynamo"
)

// Limits of a function's start, from process start to the first call for work.
const (
	readyIn  = 25 * time.Millisecond
	lenient  = 5 * readyIn
	resident = 40 << 20
)

// build builds a function as SAM does, and returns its path.
func build(t *testing.T, name string) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "bootstrap")
	cmd := exec.Command("go", "build", "-tags", "lambda.norpc", "-trimpath", "-ldflags", "-s -w", "-o", bin, "./functions/"+name)
	cmd.Dir = filepath.Join("..", "..")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return bin
}

// surroundings are what a function finds around it: a table, and an ECS that knows
// one task definition.
func surroundings(t *testing.T) []string {
	t.Helper()
	db := httptest.NewServer(server.NewServer())
	t.Cleanup(db.Close)
	store := dynamo.Open(aws.Config{Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("x", "x", "")}, dynamo.Options{Table: "ledger", Endpoint: db.URL})
	if err := store.CreateTable(context.Background()); err != nil {
		t.Fatal(err)
	}
	ecs := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/x-amz-json-1.1")
		var in struct {
			TaskDefinition string
			Tasks          []string
		}
		_ = json.NewDecoder(r.Body).Decode(&in)
		switch {
		case strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".DescribeTaskDefinition"):
			fmt.Fprintf(w, `{"taskDefinition":{"taskDefinitionArn":%q,"family":"chat","containerDefinitions":[{"name":"chat","resourceRequirements":[{"type":"GPU","sharingStrategy":{"nvidiaMps":{"memory":6000,"maxComputePercent":40}}}]}]}}`, in.TaskDefinition)
		case strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".DescribeTasks"):
			_ = json.NewEncoder(w).Encode(map[string]any{"tasks": []any{described(t, "task-running-mps-share.json")}, "failures": []any{}})
		default:
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"__type":"InvalidParameterException","message":"not asked for in this test"}`)
		}
	}))
	t.Cleanup(ecs.Close)
	return append(os.Environ(), "BULKHEAD_TABLE=ledger", "BULKHEAD_DYNAMODB_ENDPOINT="+db.URL, "AWS_ENDPOINT_URL_ECS="+ecs.URL, "AWS_REGION=us-east-1",
		"AWS_ACCESS_KEY_ID=x", "AWS_SECRET_ACCESS_KEY=x", "AWS_EC2_METADATA_DISABLED=true", "AWS_LAMBDA_FUNCTION_NAME=test")
}

// described is a sample event's task as DescribeTasks gives it. The samples are of
// the past, so the functions ask ECS before they believe them.
func described(t *testing.T, sample string) map[string]any {
	b, err := os.ReadFile(filepath.Join("..", "..", "events", "samples", sample))
	if err != nil {
		t.Error(err)
		return nil
	}
	var ev struct{ Detail map[string]any }
	if err := json.Unmarshal(b, &ev); err != nil {
		t.Error(err)
		return nil
	}
	task := map[string]any{}
	for _, name := range []string{"taskArn", "clusterArn", "containerInstanceArn", "taskDefinitionArn", "launchType", "group", "lastStatus", "desiredStatus", "version"} {
		task[name] = ev.Detail[name]
	}
	var containers []any
	for _, c := range ev.Detail["containers"].([]any) {
		m := c.(map[string]any)
		containers = append(containers, map[string]any{"name": m["name"], "gpuIds": m["gpuIds"]})
	}
	task["containers"] = containers
	return task
}

func freePort(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

// emulate starts a function under the emulator and returns how to invoke it.
func emulate(t *testing.T, name string, env []string) func(in, out any) {
	t.Helper()
	gopath, err := exec.Command("go", "env", "GOPATH").Output()
	if err != nil {
		t.Fatal(err)
	}
	rie := filepath.Join(strings.TrimSpace(string(gopath)), "bin", "aws-lambda-rie")
	if _, err := os.Stat(rie); err != nil {
		t.Skip("Lambda's runtime emulator is not installed: bash tests/setup/rie.sh")
	}
	front, runtime := freePort(t), freePort(t)
	cmd := exec.Command(rie, "--runtime-interface-emulator-address", front, "--runtime-api-address", runtime, build(t, name))
	var log bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = env, &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s said:\n%s", name, log.String())
		}
	})
	waitFor(t, front)
	return func(in, out any) {
		t.Helper()
		body, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.Post("http://"+front+"/2015-03-31/functions/function/invocations", "application/json", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, out); err != nil {
			t.Fatalf("%s answers %s", name, b)
		}
	}
}

func waitFor(t *testing.T, address string) {
	t.Helper()
	for range 100 {
		c, err := net.Dial("tcp", address)
		if err == nil {
			c.Close()
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("nothing listens on %s", address)
}

func sqsEvent(t *testing.T, samples ...string) events.SQSEvent {
	t.Helper()
	var ev events.SQSEvent
	for i, s := range samples {
		b, err := os.ReadFile(filepath.Join("..", "..", "events", "samples", s))
		if err != nil {
			t.Fatal(err)
		}
		ev.Records = append(ev.Records, events.SQSMessage{MessageId: fmt.Sprint("m-", i), Body: string(b)})
	}
	return ev
}

func TestEventsInOneFunctionAreAnsweredByAnother(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs the functions")
	}
	env := surroundings(t)
	hosts, tasks, query := emulate(t, "hoststate", env), emulate(t, "taskstate", env), emulate(t, "query", env)
	var resp events.SQSEventResponse
	hosts(sqsEvent(t, "instance-active.json", "health-impaired-xid-46.json"), &resp)
	if len(resp.BatchItemFailures) != 0 {
		t.Fatalf("hoststate failed on %v", resp.BatchItemFailures)
	}
	tasks(sqsEvent(t, "task-running-mps-share.json", "task-fargate.json", "task-odd-version-negative.json"), &resp)
	if len(resp.BatchItemFailures) != 0 {
		t.Fatalf("taskstate failed on %v: an unbelievable message must not come again for ever", resp.BatchItemFailures)
	}
	var answer events.APIGatewayV2HTTPResponse
	request := events.APIGatewayV2HTTPRequest{RawPath: "/v1/clusters/gpu-prod/tasks", RequestContext: events.APIGatewayV2HTTPRequestContext{Stage: "$default",
		HTTP: events.APIGatewayV2HTTPRequestContextHTTPDescription{Method: "GET", Path: "/v1/clusters/gpu-prod/tasks"}}}
	query(request, &answer)
	var page struct {
		Tasks []struct {
			State     string `json:"state"`
			MemoryMiB *int64 `json:"memoryMiB"`
		} `json:"tasks"`
	}
	if err := json.Unmarshal([]byte(answer.Body), &page); err != nil || answer.StatusCode != 200 {
		t.Fatalf("%d %s", answer.StatusCode, answer.Body)
	}
	if len(page.Tasks) != 1 || page.Tasks[0].State != "bound" {
		t.Errorf("the ledger says %s", answer.Body)
	}
}

// runtimeAPI is the least of Lambda's runtime API: it notes when the function asks
// for work, which is when it is ready, and gives it none.
func runtimeAPI(t *testing.T) (address string, ready chan time.Time) {
	t.Helper()
	ready = make(chan time.Time, 1)
	hold := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/next") {
			select {
			case ready <- time.Now():
			default:
			}
			select {
			case <-hold:
			case <-r.Context().Done():
			}
		}
	}))
	t.Cleanup(srv.Close)
	t.Cleanup(func() { close(hold) })
	return strings.TrimPrefix(srv.URL, "http://"), ready
}

// strict holds starts to the goal. Without it a machine that is busy with other
// things does not fail, and a function that became slow by its own doing still does.
var strict = flag.Bool("strict", false, "hold every function's start to its goal of 25 ms; on a machine that does nothing else")

func TestEveryFunctionIsReadySoonAndSmall(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs the functions")
	}
	env := surroundings(t)
	env = append(env, "BULKHEAD_REMEDY_MODE=observe", "BULKHEAD_PLACE_QUEUE_URL=http://127.0.0.1:1/q", "BULKHEAD_REMEDY_QUEUE_URL=http://127.0.0.1:1/q", "BULKHEAD_EVENT_BUS=bus")
	for _, name := range []string{"taskstate", "hoststate", "sweep", "outbox", "query", "report", "admission", "remediate", "operate", "place", "placements"} {
		bin := build(t, name)
		var times []time.Duration
		var worst int64
		for range 7 { // the machine is shared: the median is the function's own
			took, rss := start(t, bin, env)
			times = append(times, took)
			worst = max(worst, rss)
		}
		slices.Sort(times)
		info, err := os.Stat(bin)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%-10s ready in %v (median of 7, %v to %v), %.1f MiB resident, binary %.1f MB", name, times[3].Round(100*time.Microsecond),
			times[0].Round(100*time.Microsecond), times[6].Round(100*time.Microsecond), float64(worst)/(1<<20), float64(info.Size())/1e6)
		bound := lenient
		if *strict {
			bound = readyIn
		}
		if times[0] > bound {
			t.Errorf("%s is ready after %v at best, want %v", name, times[0], bound)
		}
		if worst > resident {
			t.Errorf("%s takes %d bytes, want at most %d", name, worst, resident)
		}
	}
}

// start runs a bootstrap until it asks for work, and returns how long that took and
// what it holds in memory.
func start(t *testing.T, bin string, env []string) (time.Duration, int64) {
	t.Helper()
	address, ready := runtimeAPI(t)
	cmd := exec.Command(bin)
	cmd.Env = append(slices.Clone(env), "AWS_LAMBDA_RUNTIME_API="+address)
	var log bytes.Buffer
	cmd.Stderr = &log
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	select {
	case at := <-ready:
		return at.Sub(begin), residentOf(t, cmd.Process.Pid)
	case <-time.After(10 * time.Second):
		t.Fatalf("%s never asked for work: %s", bin, log.String())
	}
	return 0, 0
}

func residentOf(t *testing.T, pid int) int64 {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		var kb int64
		if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kb); n == 1 {
			return kb << 10
		}
	}
	t.Fatal("no VmHWM")
	return 0
}
