package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-ecs/bulkhead/internal/httpapi"
)

const placementID = "bhp-3f7e1a2b9c0d4e5f60718293"

// placed answers like an API that places, and notes what is asked of it.
func placed(t *testing.T, heard *[]string) string {
	t.Helper()
	copies := []any{
		map[string]any{"reservation": placementID + "-0", "state": "bound", "containerInstanceArn": "arn:x:container-instance/gpu-prod/4f2a9c0d1e2b3c4d5e6f708192a3b4c5", "taskArn": "arn:x:task/gpu-prod/aaaa", "gpus": []any{"GPU-3f1c6b2e-0a5d-4b7e-9c38-2f6d1e7a9b40"}, "tries": 1},
		map[string]any{"reservation": placementID + "-1", "state": "refused", "tries": 0, "reason": "NoHostAdmits", "text": "no host admits it now: 5/8 hosts: ComputeBudgetExceeded by 40 %; 3/8 hosts: TierConflict with critical\x1b[31m"},
		map[string]any{"reservation": placementID + "-2", "state": "refused", "tries": 0, "reason": "NoHostAdmits", "text": "no host admits it now: 5/8 hosts: ComputeBudgetExceeded by 40 %; 3/8 hosts: TierConflict with critical\x1b[31m"}}
	doc := map[string]any{"id": placementID, "taskDefinition": "chat:7", "tier": "critical", "count": 3, "madeAt": "2026-12-01T03:00:00Z", "done": true, "copies": copies}
	answers := map[string]any{
		"GET /v1/clusters":    map[string]any{"clusters": []any{map[string]any{"clusterArn": "arn:x:cluster/gpu-prod", "name": "gpu-prod"}}},
		"POST /v1/placements": doc, "GET /v1/placements/" + placementID: doc,
		"POST /v1/simulate": map[string]any{"count": 12, "fits": 5, "atMost": 6, "memoryMiB": 4096, "computePercent": 40, "tier": "critical", "why": "2/2 hosts: ComputeBudgetExceeded by 20 %",
			"where":   []any{map[string]any{"containerInstanceArn": "arn:x:container-instance/gpu-prod/aaaa", "copies": 3}, map[string]any{"containerInstanceArn": "arn:x:container-instance/gpu-prod/bbbb", "copies": 2}},
			"changes": []any{map[string]any{"kind": "compute", "value": "25", "text": "lower the ceiling from 40 to 25 percent"}, map[string]any{"kind": "host", "value": "1 g6.12xlarge", "text": "add 1 host(s) of type g6.12xlarge"}}},
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			body, _ := io.ReadAll(r.Body)
			*heard = append(*heard, r.URL.Path+" "+string(body))
		}
		doc, ok := answers[r.Method+" "+r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			doc = httpapi.Problem{Status: 404, Reason: "UnknownPlacement", Detail: "There is no such placement."}
		}
		_ = json.NewEncoder(w).Encode(doc)
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

func TestPlacementsPrintWhatBecameOfThem(t *testing.T) {
	var heard []string
	url := placed(t, &heard)
	for _, args := range [][]string{{"place", "chat:7", "--count", "3", "--client-token", "t"}, {"why", placementID}, {"why", placementID, "-o", "wide"}, {"why", "bhp-none"}, {"simulate", "chat:7", "--count", "12"},
		{"place", "--help"}, {"simulate", "--help"}, {"why", "--help"}} {
		name := strings.NewReplacer("-", "", ":", "").Replace(strings.Join(args, "_"))
		fitsPaper(t, golden(t, url, name, args), args)
	}
	want := []string{`/v1/placements {"cluster":"gpu-prod","taskDefinition":"chat:7","count":3,"overrides":{},"clientToken":"t"}`, `/v1/simulate {"cluster":"gpu-prod","taskDefinition":"chat:7","count":12}`}
	if diff := cmp.Diff(want, heard); diff != "" {
		t.Error(diff)
	}
}

func TestAPlacementWithoutATokenMakesOneAndWrongUseIsOneSentence(t *testing.T) {
	var heard []string
	url := placed(t, &heard)
	command(t, "", map[string]string{"BULKHEAD_ENDPOINT": url}, "place", "chat:7")
	if len(heard) != 1 || !strings.Contains(heard[0], `"clientToken":"cli-`) {
		t.Errorf("%v", heard)
	}
	for _, args := range [][]string{{"place"}, {"simulate"}, {"simulate", "chat:7", "--memory", "5"}, {"why"}} {
		code, _, errs := command(t, "", map[string]string{"BULKHEAD_ENDPOINT": url}, args...)
		if code != ExitUse || strings.Count(errs, "\n") != 1 {
			t.Errorf("%v: %d %q", args, code, errs)
		}
	}
}
