package cli

import (
	"encoding/csv"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/httpapi"
	"github.com/bulkhead-ecs/bulkhead/internal/sizing"
	"github.com/bulkhead-ecs/bulkhead/internal/sizing/readiness"
)

// sized answers like an API with advice, costs and a report; names in it are hostile.
func sized(t *testing.T, asked *[]string) string {
	t.Helper()
	at := time.Date(2026, 12, 1, 3, 0, 0, 0, time.UTC)
	l4 := sizing.Subject{Definition: "chat-with-a-very-long-name:7", Container: "app\x1b[31m", Image: "sha256:ab", Card: "NVIDIA L4"}
	prices := httpapi.PricesDoc{AsOf: "2026-08-17", Region: "us-east-1", Currency: "USD", Source: "list"}
	answers := map[string]any{
		"/v1/clusters": map[string]any{"clusters": []any{map[string]any{"clusterArn": "arn:x:cluster/gpu-prod", "name": "gpu-prod"}}},
		"/v1/clusters/gpu-prod/advice": httpapi.AdviceDoc{At: at, Policy: httpapi.AdvicePolicyDoc{MarginPercent: 15, RoundMiB: 256, BudgetPercent: 100}, Advice: []sizing.Advice{
			{Subject: l4, Finding: sizing.UnderDeclared, Declared: 8000, Percent: 40, P50: 6100, P99: 7900, Max: 8000, Memory: 9216, Compute: 40, Seconds: 3 * 86400, Windows: 864, First: at.AddDate(0, 0, -3), Last: at.Add(-4 * time.Minute), Why: "its highest peak 8000 MiB with 0 MiB overhead reaches the declared 8000 MiB"},
			{Subject: sizing.Subject{Definition: "rank:2", Container: "r"}, Finding: sizing.Fine, Declared: 2048, P50: 900, P99: 1000, Max: 1000, Memory: 1280, Seconds: 7200, Windows: 24, Last: at.Add(-2 * time.Hour), Thin: true, Why: "fine"},
			{Subject: sizing.Subject{Definition: "none:1", Container: "r"}, Finding: sizing.NoEvidence, Why: "no peak of it was reported that can be true"}}},
		"/v1/clusters/gpu-prod/shaping": httpapi.ShapingDoc{Limits: sizing.Limits{Budget: 100}, Cards: []gpu.MiB{15000, 22563}, Prices: prices,
			Shapes: []sizing.Shaped{{Service: sizing.Service{Name: "chat", Memory: 6000, Compute: 40}, Declare: 7522, Alone: 2, Fits: true}, {Service: sizing.Service{Name: "rank", Memory: 6000, Compute: 20}, Declare: 6000, Alone: 3}},
			Plans:  []sizing.Plan{{InstanceType: sizing.InstanceType{Type: "g6.xlarge", Card: "L4", GPUs: 1, PerHour: 0.8048}, Cards: 6, Least: 5, Instances: 6, Hourly: 4.8288}, {InstanceType: sizing.InstanceType{Type: "g4dn.xlarge", Card: "T4", GPUs: 1}, Why: "too small"}}},
		"/v1/clusters/gpu-prod/cost": httpapi.CostDoc{From: at.Add(-24 * time.Hour), To: at, GPUSeconds: 8 * 86400, Used: sizing.Part{Seconds: 3 * 86400, Cost: 57.94}, Idle: sizing.Part{Seconds: 4 * 86400, Cost: 77.26},
			Free: sizing.Part{Seconds: 86400 / 2, Cost: 9.66}, Stranded: sizing.Part{Seconds: 86400 / 2, Cost: 9.66}, GPUsSaved: 2.5, Unpriced: []string{"p9.huge"}, Prices: prices,
			Lines: []sizing.Line{{Owner: sizing.Owner{Service: "=cmd|' /C calc'!A0", Team: "ml", Tier: "critical"}, GPUSeconds: 2 * 86400, Cost: 38.63}, {Owner: sizing.Owner{Service: "rank", Team: "ml"}, GPUSeconds: 86400, Cost: 19.31, Unpriced: 3600}}},
		"/v1/clusters/gpu-prod/readiness": readiness.Report{Cluster: "arn:x:cluster/gpu-prod", At: at,
			Services: []readiness.Service{{Name: "<script>alert(1)</script>|", Capacity: []string{"EC2"}, Tiers: []string{"critical"}, Tasks: 3, Watcher: "nobody on 1 host(s)", Unwatched: []string{"i-0b"}, Verdict: readiness.Fail}},
			Hosts: []readiness.Host{{EC2: "i-0a1b2c3d4e5f60718", Instance: "arn:x:container-instance/gpu-prod/aaaa", Type: "g6.xlarge", Capacity: "EC2", Agent: "1.106.1", AgentOK: readiness.Fail, AMI: "ami-0a", AMIOK: readiness.Unknown, Capable: readiness.Fail,
				Why: []string{"the container agent is below 1.107.0: roll to an AMI of 20261019 or later", "no GPU is registered: see whether the driver was loaded when ecs-init ran"}}},
			CoTenancy: []readiness.CoTenant{{GPU: "GPU-3f1c6b2e-0a5d-4b7e-9c38-2f6d1e7a9b40", EC2: "i-0a1b2c3d4e5f60718", Services: []string{"chat", "rank"}, Tiers: []string{"critical", "standard"}, Tasks: 2, Mixed: true}}},
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked != nil && r.URL.RawQuery != "" {
			*asked = append(*asked, r.URL.RawQuery)
		}
		doc, ok := answers[r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
		}
		_ = json.NewEncoder(w).Encode(doc)
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

func TestSizingPrintsWhatItFound(t *testing.T) {
	url := sized(t, nil)
	for _, args := range [][]string{{"advise"}, {"advise", "-o", "wide"}, {"advise", "-o", "csv"}, {"advise", "--help"}, {"advise", "shape"}, {"advise", "shape", "--plans", "-o", "wide"}, {"advise", "shape", "-o", "csv"}, {"advise", "shape", "--help"},
		{"cost"}, {"cost", "--by", "team"}, {"cost", "-o", "wide"}, {"cost", "-o", "csv"}, {"cost", "-o", "json"}, {"cost", "--help"}, {"cost", "--by", "x"},
		{"readiness"}, {"readiness", "-o", "wide"}, {"readiness", "-o", "csv"}, {"readiness", "-o", "markdown"}, {"readiness", "-o", "html"}, {"readiness", "--help"}} {
		name := strings.NewReplacer("-", "").Replace(strings.Join(args, "_"))
		out := golden(t, url, name, args)
		if slices.Contains(args, "csv") {
			if _, err := csv.NewReader(strings.NewReader(out)).ReadAll(); err != nil || strings.Contains(out, "\n=cmd") {
				t.Errorf("bulkhead %s is no table that is safe to open: %v", strings.Join(args, " "), err)
			}
		}
		if len(args) < 3 {
			fitsPaper(t, out, args)
		}
	}
}

func TestADocumentOfReadinessHoldsNoMarkupOfItsNames(t *testing.T) {
	url := sized(t, nil)
	for _, format := range []string{"markdown", "html"} {
		_, out, _ := command(t, "", map[string]string{"BULKHEAD_ENDPOINT": url}, "readiness", "-o", format)
		if strings.Contains(out, "<script") || !strings.Contains(out, "alert") {
			t.Errorf("%s: %s", format, out)
		}
	}
	if got := markdown("a|b<c>`d`[e](f)\n*g*"); strings.ContainsAny(strings.NewReplacer("\\|", "", "\\`", "", "\\[", "", "\\]", "", "\\*", "").Replace(got), "|<>`[]*\n") {
		t.Errorf("%q", got)
	}
}

func TestOwnPricesAreSentAndABadTableIsRefused(t *testing.T) {
	var asked []string
	url := sized(t, &asked)
	env := map[string]string{"BULKHEAD_ENDPOINT": url}
	file := filepath.Join(t.TempDir(), "prices.json")
	if err := os.WriteFile(file, []byte(`{"asOf":"2026-11-01","region":"eu-west-1","source":"contract","types":[{"type":"g6.xlarge","gpus":1,"perHour":0.5},{"type":"x","gpus":2}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := command(t, "", env, "cost", "--prices", file, "--price", "g5.xlarge=1", "--team", "chat=ml"); code != ExitFine || !slices.Contains(asked, "price=g6.xlarge%3D0.5%2F1&price=g5.xlarge%3D1&team=chat%3Dml") {
		t.Errorf("%d %s %q", code, errs, asked)
	}
	if err := os.WriteFile(file, []byte(`{"types":[]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"cost", "--prices", file}, {"advise", "shape", "--prices", file + ".not"}} {
		if code, _, errs := command(t, "", env, args...); code != ExitUse || !strings.Contains(errs, "--prices") {
			t.Errorf("%v: %d %s", args, code, errs)
		}
	}
}
