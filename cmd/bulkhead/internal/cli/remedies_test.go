package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/bulkhead-ecs/bulkhead/internal/httpapi"
)

// remedied answers like an API with one case, and notes what is said to it.
func remedied(t *testing.T, heard *[]string) string {
	t.Helper()
	at := "2026-12-01T03:00:00Z"
	open := map[string]any{"id": "i-0a1b2c3d4e5f60718.Xid79.1796094300", "containerInstanceArn": "arn:aws:ecs:us-east-1:111122223333:container-instance/gpu-prod/aaaa", "ec2InstanceId": "i-0a1b2c3d4e5f60718",
		"state": "Blocked", "resume": "Draining", "cause": "Xid79", "gpu": "GPU-3f1c6b2e-0a5d-4b7e-9c38-2f6d1e7a9b40", "why": "the GPU has fallen off the bus", "rule": "hardware", "rung": 1,
		"blocker": "TaskProtected", "blockerDetail": "task arn:aws:ecs:us-east-1:111122223333:task/gpu-prod/4f2a9c0d1e2b3c4d5e6f708192a3b4c5 of chat:7\x1b[31m", "inRepair": true, "opened": at, "since": at, "decision": 3,
		"attempts": []any{map[string]any{"step": "Drain", "asked": at, "last": at, "tries": 2, "result": "done"}}, "trail": []any{map[string]any{"at": at, "text": "opened for Xid79: the GPU has fallen off the bus"}}}
	closed := map[string]any{"id": "i-0b.Xid48.1", "state": "Closed", "outcome": "Replaced", "cause": "Xid48", "opened": at, "since": at, "closed": at, "mttrSeconds": 754, "newcomer": "i-0c"}
	answers := map[string]any{
		"/v1/clusters":                   map[string]any{"clusters": []any{map[string]any{"clusterArn": "arn:x:cluster/gpu-prod", "name": "gpu-prod"}}},
		"/v1/clusters/gpu-prod/cases":    map[string]any{"mode": "act", "paused": map[string]any{"by": "arn:aws:sts::1:assumed-role/Op/ana", "reason": "storm", "at": at}, "cases": []any{open, closed}, "nextCursor": ""},
		"/v1/clusters/gpu-prod/breakers": map[string]any{"breakers": []any{map[string]any{"key": "Xid119 ami-0a1b 580.159.03", "state": "open", "since": at, "hosts": 5, "of": 9, "coolDownSeconds": 1800}}},
		"/v1/clusters/gpu-prod/cases/i-0a1b2c3d4e5f60718.Xid79.1796094300": open,
		"/v1/clusters/gpu-prod/hosts/i-0a1b2c3d4e5f60718/why": map[string]any{"mode": "act", "health": map[string]any{"ec2InstanceId": "i-0a1b2c3d4e5f60718", "level": "failed"}, "cases": []any{open},
			"why": []any{"Xid79 since 2026-12-01T03:00:00Z on GPU-3f1c6b2e-0a5d-4b7e-9c38-2f6d1e7a9b40: the GPU has fallen off the bus.", "It does not move: TaskProtected."}},
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			body, _ := io.ReadAll(r.Body)
			*heard = append(*heard, r.URL.Path+" "+string(body))
			_ = json.NewEncoder(w).Encode(httpapi.DecisionDoc{ID: "20261201T030000.000Z-0a", Action: "said", Subject: "arn:x/aaaa", Result: "done"})
			return
		}
		doc, ok := answers[r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			doc = httpapi.Problem{Status: 404, Reason: "UnknownCase", Detail: "There is no such case."}
		}
		_ = json.NewEncoder(w).Encode(doc)
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

func TestRemediesPrintWhatTheyDid(t *testing.T) {
	var heard []string
	url := remedied(t, &heard)
	for _, args := range [][]string{{"cases"}, {"cases", "-o", "wide"}, {"case", "i-0a1b2c3d4e5f60718.Xid79.1796094300"}, {"case", "i-0a1b2c3d4e5f60718"}, {"breaker"}, {"cancel", "i-0b.Xid48.1", "--reason", "mine"},
		{"cases", "--help"}, {"pause", "--help"}, {"breaker", "--help"}, {"cordon", "--help"}} {
		name := strings.Trim(strings.NewReplacer("-", "", ".", "").Replace(strings.Join(args, "_")), "_")
		fitsPaper(t, golden(t, url, name, args), args)
	}
}

func TestEachWordGoesWhereItBelongsWithItsReason(t *testing.T) {
	var heard []string
	url := remedied(t, &heard)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"pause"}, `/pause {"reason":"why"}`},
		{[]string{"pause", "c.1"}, `/cases/c.1/hold {"reason":"why"}`},
		{[]string{"resume"}, `/resume {"reason":"why"}`},
		{[]string{"resume", "c.1"}, `/cases/c.1/release {"reason":"why"}`},
		{[]string{"cancel", "c.1"}, `/cases/c.1/cancel {"reason":"why"}`},
		{[]string{"set-healthy", "i-0a", "--gpu", "GPU-1"}, `/hosts/i-0a/set-healthy {"reason":"why","gpu":"GPU-1"}`},
		{[]string{"cordon", "i-0a"}, `/hosts/i-0a/cordon {"reason":"why"}`},
		{[]string{"uncordon", "i-0a"}, `/hosts/i-0a/uncordon {"reason":"why"}`},
		{[]string{"breaker", "reset", "Xid119 ami 580"}, `/breakers/reset {"reason":"why","key":"Xid119 ami 580"}`},
	} {
		env := map[string]string{"BULKHEAD_ENDPOINT": url}
		if code, _, errs := command(t, "", env, c.args...); code != ExitUse || !strings.Contains(errs, "--reason") || len(heard) != 0 {
			t.Errorf("%v without a reason: exit %d, %q, heard %v", c.args, code, errs, heard)
		}
		code, _, errs := command(t, "", env, append(c.args, "--reason", "why")...)
		if code != ExitFine || len(heard) != 1 || heard[0] != "/v1/clusters/gpu-prod"+c.want {
			t.Errorf("%v: exit %d, %q, heard %v", c.args, code, errs, heard)
		}
		heard = nil
	}
}
