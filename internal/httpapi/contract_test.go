package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"github.com/bulkhead-ecs/bulkhead/internal/fleet"
	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/health"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/memstore"
	"github.com/bulkhead-ecs/bulkhead/internal/vitals"
)

const (
	clusterARN = "arn:aws:ecs:us-east-1:111122223333:cluster/gpu-prod"
	card       = gpu.UUID("GPU-3f1c6b2e-0a5d-4b7e-9c38-2f6d1e7a9b40")
	taskARN    = "arn:aws:ecs:us-east-1:111122223333:task/gpu-prod/4f2a9c0d1e2b3c4d5e6f708192a3b4c5"
)

var now = time.Date(2026, 12, 1, 3, 12, 0, 0, time.UTC)

func instanceARN(n string) string {
	return "arn:aws:ecs:us-east-1:111122223333:container-instance/gpu-prod/" + n
}

// fixedFleet is a small fleet with one of everything that answers can show.
func fixedFleet(t *testing.T) *API {
	t.Helper()
	store := memstore.New()
	ctx := context.Background()
	put := func(h ledger.Host) {
		h, err := store.Commit(ctx, h)
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Index(ctx, h); err != nil {
			t.Fatal(err)
		}
		if err := store.Record(ctx, []ledger.Entry{{Host: h.ID, At: now.Add(-time.Hour), Revision: h.Revision, Image: h}}); err != nil {
			t.Fatal(err)
		}
	}
	h := ledger.Host{ID: ledger.HostID{Cluster: clusterARN, Instance: instanceARN("aaaa")}}
	h, _ = ledger.ObserveHost(h, ledger.HostSeen{
		Fixed:        ledger.Fixed{EC2InstanceID: "i-0a1b2c3d4e5f60718", InstanceType: "g6.xlarge", Zone: "us-east-1a", AMI: "ami-1", CapacityProvider: "gpu", CapacityType: ledger.CapacityEC2},
		Registration: ledger.Registration{Version: 4, Status: "ACTIVE", AgentConnected: true, AgentVersion: "1.107.0", SharingCapable: true},
		GPUs:         []gpu.UUID{card}, Described: []ledger.DeviceTotal{{UUID: card, Total: 22563, Mode: gpu.ModeShared}}})
	share := func(c string, m gpu.MiB) ledger.TaskShare {
		return ledger.TaskShare{Container: c, Need: ledger.NeedShare, Sized: true, Memory: m, Compute: 40, GPUs: []gpu.UUID{card}}
	}
	h, _ = ledger.ObserveTask(h, ledger.Task{ARN: taskARN, Version: 3, LastStatus: "RUNNING", Group: "service:chat", Tier: "critical",
		Definition: "arn:aws:ecs:us-east-1:111122223333:task-definition/chat:7", Shares: []ledger.TaskShare{share("app", 18000)}})
	h, _ = ledger.ObserveTask(h, ledger.Task{ARN: taskARN[:len(taskARN)-1] + "6", Version: 5, Phase: ledger.PhaseStopping, StoppingAt: now.Add(-time.Hour), LastStatus: "RUNNING",
		Group: "family:batch", Tier: "standard", Shares: []ledger.TaskShare{share("job", 6000)}})
	h, _ = ledger.ObserveTask(h, ledger.Task{ARN: taskARN[:len(taskARN)-1] + "7", Version: 1, LastStatus: "PENDING", Tier: "standard", Shares: []ledger.TaskShare{{Container: "x"}}})
	h, _ = ledger.ObserveHealth(h, []ledger.HealthCheck{{Type: "ACCELERATED_COMPUTE", Status: "IMPAIRED", Reason: "XID_46", Changed: now}})
	h, _ = ledger.ObserveLeaving(h, ledger.Leaving{Cause: "rebalance", At: now})
	h.Reservations = []ledger.Reservation{{ID: "r-1", Tier: "critical", Containers: []ledger.ContainerNeed{{Name: "app", Need: ledger.NeedShare, Memory: 512}}, LeaseUntil: now.Add(time.Minute)}}
	put(h)
	if _, err := store.SaveHealth(ctx, vitals.Record{EC2: "i-0a1b2c3d4e5f60718", BootID: "b", ReceivedAt: now, Verdict: health.Verdict{
		Host:    health.Judgement{Level: health.Failed, Action: health.Replace},
		Reasons: []health.Reason{{Token: "Xid79", Device: card, Level: health.Failed, Actions: []health.Action{health.Replace}, FirstSeen: now, LastSeen: now, Count: 1, Witnesses: []health.Witness{health.WitnessKernelLog}}}}}); err != nil {
		t.Fatal(err)
	}
	for _, n := range []string{"bbbb", "cccc"} {
		u := gpu.UUID("GPU-" + n + "0000-0000-4000-8000-000000000000")
		x, _ := ledger.ObserveHost(ledger.Host{ID: ledger.HostID{Cluster: clusterARN, Instance: instanceARN(n)}}, ledger.HostSeen{
			Fixed:        ledger.Fixed{EC2InstanceID: "i-0" + n, CapacityType: ledger.CapacityManaged},
			Registration: ledger.Registration{Version: 1, Status: "DRAINING"}, GPUs: []gpu.UUID{u}})
		put(x)
	}
	return withCases(t, store, &API{Query: &fleet.Query{Store: store, Vitals: store, Policy: ledger.DefaultPolicy(), Clock: func() time.Time { return now }}, Log: slog.New(slog.DiscardHandler)})
}

func contract(t *testing.T) routers.Router {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromFile(filepath.Join("..", "..", "infra", "openapi.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(context.Background()); err != nil {
		t.Fatal(err)
	}
	r, err := gorillamux.NewRouter(doc)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// ask sends a request through the handler and holds both ways against the contract.
func ask(t *testing.T, api http.Handler, router routers.Router, path string, header http.Header) *httptest.ResponseRecorder {
	t.Helper()
	req := httptest.NewRequest(http.MethodGet, "http://localhost"+path, nil)
	for k, v := range header {
		req.Header[k] = v
	}
	rec := httptest.NewRecorder()
	api.ServeHTTP(rec, req)
	route, params, err := router.FindRoute(req)
	if err != nil {
		t.Fatalf("%s is not in the contract: %v", path, err)
	}
	in := &openapi3filter.RequestValidationInput{Request: req, PathParams: params, Route: route,
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, MultiError: true}}
	if err := openapi3filter.ValidateRequest(context.Background(), in); err != nil && rec.Code == http.StatusOK {
		t.Errorf("%s: the request breaks the contract, yet it is answered: %v", path, err)
	}
	if rec.Code == http.StatusNotModified {
		return rec
	}
	out := &openapi3filter.ResponseValidationInput{RequestValidationInput: in, Status: rec.Code, Header: rec.Header(),
		Body: io.NopCloser(bytes.NewReader(rec.Body.Bytes())), Options: &openapi3filter.Options{IncludeResponseStatus: true, MultiError: true}}
	if err := openapi3filter.ValidateResponse(context.Background(), out); err != nil {
		t.Errorf("%s: the answer breaks the contract: %v\n%s", path, err, rec.Body)
	}
	return rec
}

func TestEveryRouteKeepsTheContract(t *testing.T) {
	api, router := fixedFleet(t).Handler(), contract(t)
	base := "/v1/clusters/gpu-prod"
	for _, path := range []string{
		"/v1/clusters", base + "/summary", base + "/hosts", base + "/hosts?status=DRAINING,ACTIVE&limit=1", base + "/gpus?mode=shared", base + "/tasks?tier=critical",
		base + "/findings?severity=error", base + "/hosts/i-0a1b2c3d4e5f60718", base + "/hosts/aaaa", base + "/hosts/aaaa/history?at=2026-12-01T03:00:00Z",
		base + "/cases", base + "/cases?state=all&host=aaaa", base + "/cases/" + knownCase, base + "/hosts/aaaa/why", base + "/hosts/bbbb/why", base + "/breakers", base + "/decisions?limit=2",
		base + "/decisions/" + knownDecision, base + "/health", base + "/health?level=failed", base + "/hosts/aaaa/health", base + "/hosts/bbbb/health",
		base + "/tasks/" + taskARN[len(taskARN)-32:], "/v1/gpus/" + string(card), "/v1/gpus/" + string(card) + "/tenants",
		"/v1/clusters/" + url.PathEscape(clusterARN) + "/hosts",
	} {
		if rec := ask(t, api, router, path, nil); rec.Code != http.StatusOK {
			t.Errorf("%s: %d %s", path, rec.Code, rec.Body)
		}
	}
}

func TestEveryRouteOfTheContractIsServed(t *testing.T) {
	doc, err := openapi3.NewLoader().LoadFromFile(filepath.Join("..", "..", "infra", "openapi.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	fixed := fixedFleet(t)
	withPlacements(t, fixed)
	api := fixed.Handler()
	known := strings.NewReplacer("/placements/{id}", "/placements/"+knownPlacement, "{cluster}", "gpu-prod", "{host}", "aaaa", "{uuid}", string(card), "{task}", taskARN[len(taskARN)-32:], "{case}", knownCase, "{decision}", knownDecision)
	for path, item := range doc.Paths.Map() {
		if item.Get == nil {
			continue // what people say changes the next answer; cases_test.go says each
		}
		rec := httptest.NewRecorder()
		api.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, known.Replace(path), nil))
		if rec.Code != http.StatusOK {
			t.Errorf("%s is promised and answers %d", path, rec.Code)
		}
	}
}

func TestWrongRequestsAreAnsweredWithOneSentenceThatHelps(t *testing.T) {
	api, router := fixedFleet(t).Handler(), contract(t)
	base := "/v1/clusters/gpu-prod"
	for path, want := range map[string]struct {
		status int
		reason string
		text   string
	}{
		"/v1/clusters/gpu-prd/hosts":                            {404, ReasonUnknownCluster, "gpu-prod"},
		base + "/hosts/i-0a1b2c3d4e5f60719":                     {404, ReasonUnknownHost, "i-0a1b2c3d4e5f60718"},
		base + "/hosts/aaaa/history?at=2026-11-01T00:00:00Z":    {404, ReasonBeforeJournal, "90 days"},
		base + "/hosts/aaaa/history?at=yesterday":               {400, ReasonBadParameter, "2026-12-01T03:12:00Z"},
		base + "/hosts?cursor=%21%21":                           {400, ReasonBadCursor, "without a cursor"},
		base + "/hosts?limit=0":                                 {400, ReasonBadParameter, "500"},
		base + "/cases/i-0a.Xid79.2":                            {404, ReasonUnknownCase, knownCase},
		base + "/cases?state=opened":                            {400, ReasonBadParameter, "open, closed, all"},
		base + "/decisions/none":                                {404, ReasonUnknownDecision, "newest first"},
		base + "/tasks/none":                                    {404, ReasonUnknownTask, "none"},
		"/v1/gpus/GPU-00000000-0000-0000-0000-000000000000":     {404, ReasonUnknownGPU, "GPU-0000"},
		"/v1/clusters/%3Cscript%3Ealert(1)%3C%2Fscript%3E/gpus": {404, ReasonUnknownCluster, "GET /v1/clusters"},
	} {
		rec := ask(t, api, router, path, nil)
		var p Problem
		if err := json.Unmarshal(rec.Body.Bytes(), &p); err != nil || rec.Code != want.status || p.Reason != want.reason {
			t.Errorf("%s: %d %s, want %d %s", path, rec.Code, rec.Body, want.status, want.reason)
		}
		if text := p.Detail + strings.Join(p.DidYouMean, " "); !strings.Contains(text, want.text) {
			t.Errorf("%s: %q does not say %q", path, text, want.text)
		}
		if rec.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: content type %s", path, rec.Header().Get("Content-Type"))
		}
	}
}

func TestAnUnchangedAnswerCostsNothing(t *testing.T) {
	api, router := fixedFleet(t).Handler(), contract(t)
	first := ask(t, api, router, "/v1/clusters/gpu-prod/gpus", nil)
	again := ask(t, api, router, "/v1/clusters/gpu-prod/gpus", http.Header{"If-None-Match": {`"other", ` + first.Header().Get("ETag")}})
	if again.Code != http.StatusNotModified || again.Body.Len() != 0 {
		t.Errorf("%d with %d bytes, want 304 with none", again.Code, again.Body.Len())
	}
}

func TestPagesTogetherAreTheWholeAndOnlyReadsAreServed(t *testing.T) {
	api := fixedFleet(t).Handler()
	var all []string
	cursor := ""
	for range 10 {
		rec := httptest.NewRecorder()
		api.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/v1/clusters/gpu-prod/hosts?limit=1&cursor="+url.QueryEscape(cursor), nil))
		var page struct {
			Hosts []HostDoc `json:"hosts"`
			Next  string    `json:"nextCursor"`
		}
		if err := json.Unmarshal(rec.Body.Bytes(), &page); err != nil {
			t.Fatal(err)
		}
		for _, h := range page.Hosts {
			all = append(all, lastPart(h.ContainerInstanceARN))
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	if strings.Join(all, " ") != "aaaa bbbb cccc" {
		t.Errorf("pages gave %v", all)
	}
	rec := httptest.NewRecorder()
	api.ServeHTTP(rec, httptest.NewRequest(http.MethodDelete, "/v1/clusters/gpu-prod/hosts/aaaa", nil))
	if rec.Code != http.StatusMethodNotAllowed {
		t.Errorf("DELETE answers %d", rec.Code)
	}
}
