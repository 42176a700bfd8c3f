package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-ecs/bulkhead/internal/httpapi"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew; review them as a diff")

// command runs the command line as a person does.
func command(t *testing.T, in string, env map[string]string, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	code = Run(context.Background(), args, Streams{In: strings.NewReader(in), Out: &o, Err: &e, Env: func(k string) string { return env[k] }})
	return code, o.String(), e.String()
}

// fixed answers like an API over a fixed fleet.
func fixed(t *testing.T) string {
	t.Helper()
	total, free, size := int64(22563), int64(-1437), int64(18000)
	mib := func(n int64) json.RawMessage { return json.RawMessage(fmt.Sprint(n)) }
	share := map[string]any{"taskArn": "arn:aws:ecs:us-east-1:111122223333:task/gpu-prod/4f2a9c0d1e2b3c4d5e6f708192a3b4c5", "container": "app\x1b[31m", "memoryMiB": mib(size),
		"computePercent": 40, "tier": "critical", "state": "bound", "service": "chat-with-a-very-long-name", "taskDefinition": "arn:x:task-definition/chat:7", "lastStatus": "RUNNING"}
	tenant := map[string]any{"device": "GPU-3f1c6b2e-0a5d-4b7e-9c38-2f6d1e7a9b40", "containerInstanceArn": "arn:x:container-instance/gpu-prod/aaaa", "ec2InstanceId": "i-0a1b2c3d4e5f60718"}
	for k, v := range share {
		tenant[k] = v
	}
	device := map[string]any{"uuid": "GPU-3f1c6b2e-0a5d-4b7e-9c38-2f6d1e7a9b40", "mode": "dedicated", "totalMiB": mib(total), "heldMiB": 24000, "freeMiB": mib(free), "computePercent": 140,
		"clients": 2, "registered": true, "shares": []any{share}}
	gpu := map[string]any{"containerInstanceArn": "arn:x:container-instance/gpu-prod/aaaa", "ec2InstanceId": "i-0a1b2c3d4e5f60718", "clusterArn": "arn:x:cluster/gpu-prod", "hostStatus": "ACTIVE", "index": 0}
	for k, v := range device {
		gpu[k] = v
	}
	host := map[string]any{"containerInstanceArn": "arn:x:container-instance/gpu-prod/aaaa", "ec2InstanceId": "i-0a1b2c3d4e5f60718", "clusterArn": "arn:x:cluster/gpu-prod", "status": "DRAINING",
		"agentConnected": false, "agentVersion": "1.107.0", "capacityType": "MANAGED_INSTANCES", "instanceType": "g6.12xlarge", "availabilityZone": "us-east-1a", "sharingCapable": true,
		"leaving": []any{map[string]any{"cause": "spot-interruption", "at": "2026-12-01T03:00:00Z"}}, "devices": []any{device, device}}
	finding := map[string]any{"kind": "OverMemory", "severity": "error", "subject": "GPU-3f1c6b2e-0a5d-4b7e-9c38-2f6d1e7a9b40", "reason": "24000 MiB held of 22563 MiB, 1437 MiB too much"}
	answers := map[string]any{
		"/v1/clusters":                map[string]any{"clusters": []any{map[string]any{"clusterArn": "arn:x:cluster/gpu-prod", "name": "gpu-prod"}}},
		"/v1/clusters/gpu-prod/gpus":  map[string]any{"gpus": []any{gpu}, "nextCursor": ""},
		"/v1/clusters/gpu-prod/hosts": map[string]any{"hosts": []any{host}, "nextCursor": ""},
		"/v1/clusters/gpu-prod/tasks": map[string]any{"tasks": []any{tenant}, "nextCursor": ""},
		"/v1/clusters/gpu-prod/health": map[string]any{"nextCursor": "", "health": []any{map[string]any{"ec2InstanceId": "i-0a1b2c3d4e5f60718", "level": "failed", "mps": "crash-looping", "nvml": "no-driver", "driver": "580.159.03",
			"agentVersion": "0.1.0", "reportedAt": "2026-12-01T03:00:00Z", "reasons": []any{map[string]any{"token": "Xid79", "gpu": "GPU-3f1c6b2e-0a5d-4b7e-9c38-2f6d1e7a9b40", "actions": []any{"RPL"}},
				map[string]any{"token": "MpsServerFault"}}}, map[string]any{"ec2InstanceId": "i-0b", "level": "unknown", "reasons": []any{}}}},
		"/v1/clusters/gpu-prod/findings":           map[string]any{"findings": []any{finding}},
		"/v1/clusters/gpu-prod/hosts/i-0a/history": map[string]any{"at": "2026-12-01T03:12:00Z", "asOf": "2026-12-01T03:00:00Z", "host": host},
		"/v1/gpus/GPU-3f1c6b2e-0a5d-4b7e-9c38-2f6d1e7a9b40/tenants": map[string]any{"uuid": "GPU-3f1c6b2e-0a5d-4b7e-9c38-2f6d1e7a9b40",
			"containerInstanceArn": "arn:x:container-instance/gpu-prod/aaaa", "ec2InstanceId": "i-0a1b2c3d4e5f60718", "tenants": []any{tenant}},
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		doc, ok := answers[r.URL.Path]
		if !ok {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusNotFound)
			doc = httpapi.Problem{Status: 404, Reason: "UnknownHost", Detail: "No host is named so.", DidYouMean: []string{"i-0a"}}
		}
		_ = json.NewEncoder(w).Encode(doc)
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

func TestEveryCommandPrintsWhatItDid(t *testing.T) {
	url := fixed(t)
	for _, args := range [][]string{
		{"gpus"}, {"gpus", "-o", "wide"}, {"gpus", "-o", "json"}, {"hosts"}, {"hosts", "-o", "wide"}, {"tasks"}, {"tasks", "-o", "json"}, {"findings"}, {"findings", "-o", "wide"}, {"health"}, {"health", "-o", "wide"}, {"health", "--help"},
		{"tenants", "GPU-3f1c6b2e"}, {"history", "i-0a", "--at", "5m"}, {"history", "i-0b"}, {},
		{"--help"}, {"gpus", "--help"}, {"hosts", "--help"}, {"tasks", "--help"}, {"tenants", "--help"}, {"history", "--help"}, {"version", "--help"}, {"ui", "--help"}, {"top", "--help"}, {"diff", "--help"}, {"doctor", "--help"}, {"gpus", "-o", "csv"}, {"findings", "-o", "csv"}, {"diff", "i-0a", "--from", "1h"}, {"findings", "--help"}, {"replay", "--help"}, {"local", "--help"}, {"local", "inject", "--help"},
		{"lint", "--help"}, {"lint", "testdata/lint.json"}, {"lint", "testdata/help.golden"},
	} {
		name := strings.Trim(strings.NewReplacer("-", "", "testdata/", "").Replace(strings.Join(args, "_")), "_")
		if name == "" {
			name = "alone"
		}
		fitsPaper(t, golden(t, url, name, args), args)
	}
}

func TestWrongUseIsExitTwoAndOneSentence(t *testing.T) {
	url := fixed(t)
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"gpus", "-o", "yaml"}, ExitUse, "table, wide, json, csv"},
		{[]string{"gpus", "--watch=soon"}, ExitUse, "--watch=5s"},
		{[]string{"gpu", "--watch"}, ExitUse, "unknown command"},
		{[]string{"ui", "--port", "-1"}, ExitUse, "1 to 65535"},
		{[]string{"top"}, ExitUse, "bulkhead gpus --watch"},
		{[]string{"diff", "i-0b", "--endpoint", url}, ExitAPI, "Did you mean i-0a?"},
		{[]string{"gpu"}, ExitUse, "unknown command"},
		{[]string{"tenants"}, ExitUse, "tenants takes one GPU"},
		{[]string{"history", "a", "b"}, ExitUse, "bulkhead hosts lists them"},
		{[]string{"replay", "--events", "testdata"}, ExitUse, "is a directory"},
		{[]string{"replay", "--events", "-", "--describe", "nowhere"}, ExitUse, "no such directory"},
		{[]string{"replay", "--events", "-", "--tier-rules", "critical=never"}, ExitUse, "exclusive, same or any"},
		{[]string{"replay"}, ExitUse, "events"},
		{[]string{"replay", "--events", "nowhere.jsonl"}, ExitUse, "nowhere.jsonl"},
		{[]string{"replay", "--events", "-", "--store", "disk"}, ExitUse, "memory or dynamodb"},
		{[]string{"local", "--hosts", "0"}, ExitUse, "1 to 200"},
		{[]string{"local", "--speed", "NaN"}, ExitUse, "more than 0"},
		{[]string{"local", "--for", "-3s"}, ExitUse, "a time to come"},
		{[]string{"local", "--port", "99999"}, ExitUse, "1 to 65535"},
		{[]string{"local", "--seed", "one"}, ExitUse, "--seed"},
		{[]string{"local", "inject"}, ExitUse, "accepts between 1 and 2"},
		{[]string{"local", "inject", "xid"}, ExitUse, "inject xid 79"},
		{[]string{"local", "inject", "event-loss", "soon"}, ExitUse, "event-loss 5m"},
		{[]string{"local", "inject", "spot", "i-0a"}, ExitUse, "--host"},
		{[]string{"local", "inject", "spot", "--endpoint", "http://127.0.0.1:1"}, ExitAPI, "bulkhead local"},
		{[]string{"local", "inject", "spot", "--endpoint", url}, ExitAPI, "is no local run"},
		{[]string{"gpus", "--endpoint", "gpu-prod"}, ExitUse, "no address"},
		{[]string{"gpus", "--endpoint", "http://127.0.0.1:1"}, ExitAPI, "bulkhead local"},
		{[]string{"history", "i-0b", "--endpoint", url}, ExitAPI, "Did you mean i-0a?"},
	} {
		code, _, errs := command(t, "", nil, c.args...)
		if code != c.code || !strings.Contains(errs, c.want) || strings.Count(errs, "\n") > 1 {
			t.Errorf("bulkhead %s: exit %d, %q; want %d and %q in one line", strings.Join(c.args, " "), code, errs, c.code, c.want)
		}
	}
}

// samples are the sample events as lines of a file.
func samples(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../../../../events/samples/*.json")
	if err != nil || len(files) < 50 {
		t.Fatal(len(files), err)
	}
	var lines []string
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var c bytes.Buffer
		if err := json.Compact(&c, b); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, c.String())
	}
	return lines
}

func TestReplayIsTheSameFromEveryCarrierAndStore(t *testing.T) {
	lines := samples(t)
	plain := strings.Join(lines, "\n")
	code, want, errs := command(t, plain, nil, "replay", "--events", "-", "-o", "json")
	if code != ExitFine || strings.Count(errs, "rejected") != 2 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	var doc struct {
		Hosts []httpapi.HostDoc `json:"hosts"`
		Stats map[string]int    `json:"stats"`
	}
	if err := json.Unmarshal([]byte(want), &doc); err != nil {
		t.Fatal(err)
	}
	s := doc.Stats
	if sum := s["applied"] + s["stale"] + s["duplicates"] + s["ignored"] + s["unknown"] + s["rejected"]; s["events"] != len(lines) || sum != s["events"] || len(doc.Hosts) == 0 {
		t.Errorf("%d samples, stats %v", len(lines), s)
	}
	body := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	var bodies, records []string
	var list []any
	for _, l := range lines {
		bodies = append(bodies, body(map[string]any{"messageId": "x", "body": l}))
		list = append(list, map[string]any{"Body": body(map[string]any{"Type": "Notification", "Message": l})})
	}
	records = append(records, body(map[string]any{"Records": list[:40]}), body(map[string]any{"Messages": list[40:]}))
	for name, c := range map[string]struct {
		in   string
		args []string
	}{
		"SQS bodies": {strings.Join(bodies, "\n"), nil}, "Records that hold SNS": {strings.Join(records, "\n"), nil}, "CRLF and BOM": {"\xef\xbb\xbf" + strings.Join(lines, "\r\n\r\n"), nil},
		"one list": {"[\n" + strings.Join(lines, ",\n") + "\n]", nil}, "dynamodb": {plain, []string{"--store", "dynamodb"}},
	} {
		code, got, errs := command(t, c.in, nil, append([]string{"replay", "--events", "-", "-o", "json"}, c.args...)...)
		// Rejected events are named with their lines, which rightly differ.
		if code != ExitFine || withoutLines(got) != withoutLines(want) {
			t.Errorf("%s: exit %d %s\n%s", name, code, errs, cmp.Diff(withoutLines(want), withoutLines(got)))
		}
	}
}

var linePlace = regexp.MustCompile(`\s*"(line|record)": [^\n]*\n\s*`)

func withoutLines(s string) string { return linePlace.ReplaceAllString(s, "") }

func TestABrokenLineIsNamedAndTheRestIsProcessed(t *testing.T) {
	lines := samples(t)[:3]
	in := lines[0] + "\nnot json\n" + lines[1] + "\n{\"half\":\n" + lines[2] + "\n" + strings.Repeat("x", 9<<20) + "\n"
	code, out, errs := command(t, in, nil, "replay", "--events", "-", "-o", "json")
	if code != ExitFinding {
		t.Errorf("exit %d, want 1", code)
	}
	for _, want := range []string{"line 2:", "line 4:", "line 6:"} {
		if !strings.Contains(errs, want) {
			t.Errorf("errors do not name %s:\n%s", want, errs)
		}
	}
	if !strings.Contains(out, `"events": 3`) || !strings.Contains(out, `"broken": 3`) {
		t.Errorf("%s", out)
	}
}

func TestEveryCommandWorksAgainstALiveLocalMode(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	var out, errs syncBuffer
	done := make(chan int, 1)
	go func() {
		done <- Run(ctx, []string{"local", "--port", "0", "--speed", "600", "--store", "memory"}, Streams{In: strings.NewReader(""), Out: &out, Err: &errs, Env: func(string) string { return "" }})
	}()
	var url string
	for range 200 {
		if m := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(out.String()); m != "" {
			url = m
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	env := map[string]string{"BULKHEAD_ENDPOINT": url}
	var table string
	for range 200 { // the fleet's first minutes are under way
		if _, table, _ = command(t, "", env, "tasks"); strings.Count(table, "\n") > 5 {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	_, table, _ = command(t, "", env, "gpus")
	card := regexp.MustCompile(`GPU-[0-9a-f]{8}`).FindString(table)
	host := regexp.MustCompile(`i-[0-9a-f]{17}`).FindString(table)
	_, table, _ = command(t, "", env, "tasks")
	task := strings.Fields(strings.Split(table, "\n")[1])[0]
	for _, args := range [][]string{{"gpus"}, {"hosts"}, {"tasks"}, {"tasks", task}, {"tenants", card}, {"history", host, "--at", "30s"}, {"findings"}, {"health"}, {"doctor"}, {"diff", host, "--from", "1m"}, {"gpus", "-o", "csv"}, {}, {"version"}} {
		code, out, errs := command(t, "", env, args...)
		if code != ExitFine && (args[0] != "findings" || code != ExitFinding) || out == "" {
			t.Errorf("bulkhead %s: exit %d\n%s%s", strings.Join(args, " "), code, out, errs)
		}
	}
	for _, x := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"local", "inject", "xid", "79", "--host", host}, ExitFine, "bulkhead health"},
		{[]string{"local", "inject", "event-loss", "5m"}, ExitFine, "the sweep heals"},
		{[]string{"local", "inject", "mps-dead", "--host", "i-0nowhere"}, ExitUse, "near ids: i-0"},
		{[]string{"local", "inject", "fire"}, ExitUse, "faults: agent-back"},
	} {
		code, out, errs := command(t, "", env, x.args...)
		if code != x.code || !strings.Contains(out+errs, x.want) {
			t.Errorf("bulkhead %s: exit %d\n%s%s, want %d and %q", strings.Join(x.args, " "), code, out, errs, x.code, x.want)
		}
	}
	var told string
	for range 100 {
		if _, told, _ = command(t, "", env, "health"); strings.Contains(told, "Xid79") {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if !strings.Contains(told, "Xid79") {
		t.Errorf("the injected Xid is not seen:\n%s", told)
	}
	cancel()
	if code := <-done; code != ExitFine {
		t.Errorf("stopped with %d: %s", code, errs.String())
	}
}
