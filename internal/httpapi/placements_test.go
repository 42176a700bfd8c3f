package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3filter"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/memstore"
	"github.com/bulkhead-ecs/bulkhead/internal/placement"
	"github.com/bulkhead-ecs/bulkhead/internal/placing"
)

const (
	freeCard       = "GPU-dddd0000-0000-4000-8000-000000000000"
	knownPlacement = "bhp-3f7e1a2b9c0d4e5f60718293"
)

// queued counts what is queued.
type queued struct{ ids []string }

func (q *queued) Send(_ context.Context, _, id string) error { q.ids = append(q.ids, id); return nil }

// oneDefinition is the task definition that ECS knows.
type oneDefinition struct{}

func (oneDefinition) Definition(_ context.Context, arn string) (ledger.Definition, error) {
	if arn != "chat:7" {
		return ledger.Definition{}, ledger.ErrNotFound
	}
	return ledger.Definition{ARN: "arn:aws:ecs:us-east-1:111122223333:task-definition/chat:7", Containers: []ledger.ContainerNeed{{Name: "app", Need: ledger.NeedShare, Memory: 8000, Compute: 40}}}, nil
}

// withPlacements adds a free host and a desk.
func withPlacements(t *testing.T, a *API) *queued {
	t.Helper()
	ctx := context.Background()
	h, _ := ledger.ObserveHost(ledger.Host{ID: ledger.HostID{Cluster: clusterARN, Instance: instanceARN("dddd")}}, ledger.HostSeen{
		Fixed:        ledger.Fixed{EC2InstanceID: "i-0dddd", InstanceType: "g6.xlarge", CapacityType: ledger.CapacityEC2},
		Registration: ledger.Registration{Version: 1, Status: "ACTIVE", AgentConnected: true, SharingCapable: true},
		GPUs:         []gpu.UUID{freeCard}, Described: []ledger.DeviceTotal{{UUID: freeCard, Total: 22563, Mode: gpu.ModeIdle}}})
	if _, err := a.Query.Store.Commit(ctx, h); err != nil {
		t.Fatal(err)
	}
	q, kept := &queued{}, memstore.NewPlacements()
	if _, err := kept.SavePlacement(ctx, placing.Record{ID: knownPlacement, MadeAt: now, By: "ada", Request: placing.Request{Cluster: clusterARN, Definition: "chat:7", Count: 1, Tier: "standard"},
		Copies: []placing.Copy{{Reservation: knownPlacement + "-0", State: placing.Refused, Reason: placing.ReasonNoHost, Text: "t", Explanation: "1/1 hosts: MemoryShort"}}}); err != nil {
		t.Fatal(err)
	}
	a.Placing = &placing.Desk{Ledger: a.Query.Store, Store: kept, Queue: q, Definitions: oneDefinition{}, Clock: placing.Clock(a.Query.Clock), Log: a.Log,
		Policy: placement.Policy{Tiers: map[gpu.Tier]placement.TierRule{"standard": {Neighbours: placement.Any, Budget: 100}, "batch": {Neighbours: placement.Any, Budget: 200}}}, Laws: ledger.DefaultPolicy()}
	return q
}

// post sends a body and holds both ways against the contract.
func post(t *testing.T, h http.Handler, path, by, body string) *httptest.ResponseRecorder {
	t.Helper()
	req := httptest.NewRequest(http.MethodPost, "http://localhost"+path, strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	if by != "" {
		req = req.WithContext(WithActor(req.Context(), by))
	}
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, req)
	req.Body = io.NopCloser(strings.NewReader(body))
	route, params, err := contract(t).FindRoute(req)
	if err != nil {
		t.Fatalf("%s is not in the contract: %v", path, err)
	}
	in := &openapi3filter.RequestValidationInput{Request: req, PathParams: params, Route: route,
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, MultiError: true}}
	if err := openapi3filter.ValidateRequest(context.Background(), in); err != nil && rec.Code == http.StatusOK {
		t.Errorf("%s was taken against the contract: %v", body, err)
	}
	out := &openapi3filter.ResponseValidationInput{RequestValidationInput: in, Status: rec.Code, Header: rec.Header(),
		Body: io.NopCloser(bytes.NewReader(rec.Body.Bytes())), Options: &openapi3filter.Options{IncludeResponseStatus: true, MultiError: true}}
	if err := openapi3filter.ValidateResponse(context.Background(), out); err != nil {
		t.Errorf("%s answers against the contract: %v", path, err)
	}
	return rec
}

func TestAPlacementIsKeptOnceAndAnsweredFor(t *testing.T) {
	api := fixedFleet(t)
	q := withPlacements(t, api)
	h := api.Handler()
	body := `{"cluster":"gpu-prod","taskDefinition":"chat:7","count":2,"clientToken":"t-1"}`
	var first, again PlacementDoc
	for _, into := range []*PlacementDoc{&first, &again} {
		rec := post(t, h, "/v1/placements", "arn:aws:iam::111122223333:user/ada", body)
		if rec.Code != http.StatusOK || json.Unmarshal(rec.Body.Bytes(), into) != nil {
			t.Fatalf("%d %s", rec.Code, rec.Body)
		}
	}
	if first.ID != again.ID || len(first.Copies) != 2 || first.Copies[0].State != placing.Waiting || first.By == "" || len(q.ids) != 2 {
		t.Errorf("%+v %+v %v", first, again, q.ids)
	}
	rec := ask(t, h, contract(t), "/v1/placements/"+first.ID, nil)
	if rec.Code != http.StatusOK || !strings.Contains(rec.Body.String(), first.ID) {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}

func TestADryRunSaysWhereAndKeepsNothing(t *testing.T) {
	api := fixedFleet(t)
	q := withPlacements(t, api)
	rec := post(t, api.Handler(), "/v1/placements", "", `{"cluster":"gpu-prod","taskDefinition":"chat:7","count":3,"dryRun":true}`)
	var d PlacementDoc
	if rec.Code != http.StatusOK || json.Unmarshal(rec.Body.Bytes(), &d) != nil {
		t.Fatalf("%d %s", rec.Code, rec.Body)
	}
	if d.Copies[0].ContainerInstanceARN != instanceARN("dddd") || d.Copies[2].State != placing.Refused || !strings.Contains(d.Copies[2].Explanation, "MemoryShort") || len(q.ids) != 0 || d.ID != "" {
		t.Errorf("%+v", d)
	}
	if h, err := api.Query.Store.Host(context.Background(), ledger.HostID{Cluster: clusterARN, Instance: instanceARN("dddd")}); err != nil || len(h.Reservations) != 0 {
		t.Errorf("%v %+v", err, h.Reservations)
	}
}

func TestASimulationIsAnsweredWithItsChanges(t *testing.T) {
	api := fixedFleet(t)
	withPlacements(t, api)
	rec := post(t, api.Handler(), "/v1/simulate", "", `{"cluster":"gpu-prod","memoryMiB":8000,"computePercent":60,"tier":"standard","count":2}`)
	var d SimulationDoc
	if rec.Code != http.StatusOK || json.Unmarshal(rec.Body.Bytes(), &d) != nil {
		t.Fatalf("%d %s", rec.Code, rec.Body)
	}
	if d.Fits != 1 || len(d.Changes) < 2 || d.Changes[0].Kind != "tier" || d.Why == "" {
		t.Errorf("%+v", d)
	}
}

func TestWrongPlacementsAreRefusedWithTokenAndSentence(t *testing.T) {
	api := fixedFleet(t)
	withPlacements(t, api)
	h := api.Handler()
	for _, c := range []struct {
		path, by, body string
		status         int
		reason         string
	}{
		{"/v1/placements", "", `{"cluster":"gpu-prod","taskDefinition":"chat:7","count":1,"clientToken":"t"}`, 403, ReasonNoActor},
		{"/v1/placements", "ada", `{"cluster":"gpu-prd","taskDefinition":"chat:7","count":1,"clientToken":"t"}`, 404, ReasonUnknownCluster},
		{"/v1/placements", "ada", `{"cluster":"gpu-prod","taskDefinition":"chat:8","count":1,"clientToken":"t"}`, 422, "TaskDefinitionUnknown"},
		{"/v1/placements", "ada", `{"cluster":"gpu-prod","taskDefinition":"chat:7","count":1}`, 422, "ClientTokenBad"},
		{"/v1/placements", "ada", `{"cluster":"gpu-prod","taskDefinition":"chat:7","count":101,"clientToken":"t"}`, 422, "CountOutOfRange"},
		{"/v1/placements", "ada", `{"cluster":"gpu-prod","taskDefinition":"chat:7","count":1,"clientToken":"t","teir":"x"}`, 400, ReasonBadBody},
		{"/v1/placements", "ada", `{"cluster":`, 400, ReasonBadBody},
		{"/v1/simulate", "", `{"cluster":"gpu-prod","memoryMiB":-1,"tier":"standard","count":1}`, 422, "MemoryNotPositive"},
		{"/v1/simulate", "", `{"cluster":"gpu-prod","memoryMiB":10,"tier":"gold","count":1}`, 422, "TierUnknown"},
		{"/v1/simulate", "", `{"cluster":"gpu-prod","memoryMiB":99999,"tier":"standard","count":1}`, 422, "LargerThanAnyCard"},
	} {
		rec := post(t, h, c.path, c.by, c.body)
		var p Problem
		if err := json.Unmarshal(rec.Body.Bytes(), &p); err != nil || rec.Code != c.status || p.Reason != c.reason || p.Detail == "" {
			t.Errorf("%s: %d %s", c.body, rec.Code, rec.Body)
		}
	}
	if rec := ask(t, h, contract(t), "/v1/placements/none", nil); rec.Code != http.StatusNotFound {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}
