package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3filter"

	"github.com/bulkhead-ecs/bulkhead/internal/health"
	"github.com/bulkhead-ecs/bulkhead/internal/memstore"
	"github.com/bulkhead-ecs/bulkhead/internal/remediate"
	"github.com/bulkhead-ecs/bulkhead/internal/remedy"
)

const (
	knownCase     = "i-0a.Xid79.1"
	knownDecision = "20261201T030000.000Z-x"
)

// withCases gives an API one open case, a breaker and a decision.
func withCases(t *testing.T, vitals *memstore.Store, a *API) *API {
	t.Helper()
	ctx, store := context.Background(), memstore.NewCases()
	key := remedy.CauseKey{Token: "Xid79", AMI: "ami-1", Driver: "580"}
	open := remedy.Case{ID: knownCase, Host: instanceARN("aaaa"), Instance: "i-0a1b2c3d4e5f60718", State: remedy.Blocked, Resume: remedy.Open, Since: now, Opened: now, Rule: "hardware",
		Cause: remedy.Cause{Token: "Xid79", Device: card, Action: health.Replace, Why: "the GPU has fallen off the bus"}, Faults: []string{"f"},
		Block:    remedy.Block{Reason: remedy.BlockBreaker, Detail: "Xid79 ami-1 580: 5 of 9 hosts", Since: now},
		Attempts: []remedy.Attempt{{Key: "k", Kind: remedy.StepPage, Asked: now, Last: now, Tries: 1, Result: remedy.Done}}, Trail: []remedy.Entry{{At: now, Text: "opened"}}}
	closed := remedy.Case{ID: "i-0b.Xid48.1", Host: instanceARN("bbbb"), Instance: "i-0bbbb", State: remedy.Closed, Outcome: remedy.Replaced, Opened: now.Add(-time.Hour), Closed: now, Since: now, Cause: remedy.Cause{Token: "Xid48"}}
	for _, c := range []remedy.Case{open, closed} {
		if _, err := store.SaveCase(ctx, remediate.Record{Cluster: clusterARN, Case: c}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := store.SaveControl(ctx, remediate.Control{Cluster: clusterARN, Breakers: []remedy.Breaker{{Key: key, State: remedy.BreakerOpen, Since: now, LastSeen: now, Hosts: 5, Of: 9, CoolDown: time.Hour}}}); err != nil {
		t.Fatal(err)
	}
	d := remediate.Decision{ID: knownDecision, At: now, Cluster: clusterARN, Actor: "bulkhead", Action: "Page", Subject: "h", Case: knownCase, Reason: "r", Numbers: []remedy.Number{{Name: "cluster.limit", Value: 1}}, Result: "done", Until: now}
	if err := store.NoteDecision(ctx, d); err != nil {
		t.Fatal(err)
	}
	policy, err := health.Default()
	if err != nil {
		t.Fatal(err)
	}
	a.Cases, a.Mode = store, "act"
	a.Desk = &remediate.Desk{Store: store, Vitals: vitals, Health: policy, Clock: func() time.Time { return now.Add(time.Minute) }}
	return a
}

// tell posts what a person says and holds it against the contract.
func tell(t *testing.T, a *API, path, body, actor, kind string) *httptest.ResponseRecorder {
	t.Helper()
	req := httptest.NewRequest(http.MethodPost, "http://localhost"+path, strings.NewReader(body))
	req.Header.Set("Content-Type", kind)
	if actor != "" {
		req = req.WithContext(WithActor(req.Context(), actor))
	}
	rec := httptest.NewRecorder()
	a.Handler().ServeHTTP(rec, req)
	route, params, err := contract(t).FindRoute(req)
	if err != nil {
		t.Fatalf("%s is not in the contract: %v", path, err)
	}
	in := &openapi3filter.RequestValidationInput{Request: req, PathParams: params, Route: route, Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc}}
	out := &openapi3filter.ResponseValidationInput{RequestValidationInput: in, Status: rec.Code, Header: rec.Header(), Options: &openapi3filter.Options{IncludeResponseStatus: true}}
	out.SetBodyBytes(bytes.Clone(rec.Body.Bytes()))
	if err := openapi3filter.ValidateResponse(context.Background(), out); err != nil {
		t.Errorf("%s: %v\n%s", path, err, rec.Body)
	}
	return rec
}

func TestWhatPeopleSayIsDoneAndIsInTheAuditTrail(t *testing.T) {
	const ana = "arn:aws:sts::111122223333:assumed-role/Operator/ana"
	base := "/v1/clusters/gpu-prod"
	for path, c := range map[string]struct {
		body   string
		status int
		shows  string // a path whose answer shows it
		text   string
	}{
		"/pause":                           {`{"reason":"storm"}`, 200, "/cases", `"paused":{"by":"` + ana},
		"/resume":                          {`{"reason":"over"}`, 200, "/cases", `"paused":null`},
		"/breakers/reset":                  {`{"reason":"known","key":"Xid79 ami-1 580"}`, 200, "/breakers", `"state":"closed"`},
		"/cases/" + knownCase + "/cancel":  {`{"reason":"mine"}`, 200, "/cases/" + knownCase, `"state":"Cancelled"`},
		"/cases/" + knownCase + "/hold":    {`{"reason":"mine"}`, 200, "/cases/" + knownCase, `"held":{"by":"` + ana},
		"/cases/" + knownCase + "/release": {`{"reason":"go on"}`, 200, "/cases/" + knownCase, `released by ` + ana},
		"/hosts/aaaa/cordon":               {`{"reason":"mine"}`, 200, "/hosts/aaaa/why", "A person cordoned it"},
		"/hosts/aaaa/uncordon":             {`{"reason":"well"}`, 200, "/hosts/aaaa/why", knownCase},
		"/hosts/aaaa/set-healthy":          {`{"reason":"reseated","gpu":"` + string(card) + `"}`, 200, "/hosts/aaaa/health", `"reasons":[]`},
		"/cases/i-0b.Xid48.1/cancel":       {`{"reason":"late"}`, 409, "/cases/i-0b.Xid48.1", "Replaced"},
		"/cases/none/cancel":               {`{"reason":"x"}`, 404, "/cases", knownCase},
		"/breakers/reset?x":                {`{"reason":"known","key":"Xid97"}`, 404, "/breakers", "open"},
		"/hosts/bbbb/set-healthy":          {`{"reason":"x"}`, 409, "/hosts/bbbb/why", "DRAINING"},
	} {
		t.Run(path, func(t *testing.T) {
			a := fixedFleet(t)
			rec := tell(t, a, base+path, c.body, ana, "application/json")
			if rec.Code != c.status {
				t.Fatalf("%d %s", rec.Code, rec.Body)
			}
			if got := ask(t, a.Handler(), contract(t), base+c.shows, nil); !strings.Contains(got.Body.String(), c.text) {
				t.Errorf("%s does not show %s: %s", c.shows, c.text, got.Body)
			}
			var d DecisionDoc
			if err := json.Unmarshal(rec.Body.Bytes(), &d); err != nil || rec.Code != 200 {
				return
			}
			if got := ask(t, a.Handler(), contract(t), base+"/decisions/"+url.PathEscape(d.ID), nil); !strings.Contains(got.Body.String(), ana) {
				t.Errorf("decision %s: %s", d.ID, got.Body)
			}
		})
	}
}

func TestNobodySaysAnythingWithoutANameAReasonAndJSON(t *testing.T) {
	a, path := fixedFleet(t), "/v1/clusters/gpu-prod/pause"
	for name, c := range map[string]struct {
		body, actor, kind string
		status            int
		reason            string
	}{
		"no signer":       {`{"reason":"x"}`, "", "application/json", 403, ReasonNoActor},
		"no reason":       {`{"reason":"  "}`, "ana", "application/json", 400, ReasonBadBody},
		"another's name":  {`{"reason":"x","by":"root"}`, "ana", "application/json", 400, ReasonBadBody},
		"a form":          {`reason=x`, "ana", "application/x-www-form-urlencoded", 415, ReasonBadBody},
		"no JSON":         {`{`, "ana", "application/json", 400, ReasonBadBody},
		"too long":        {`{"reason":"` + strings.Repeat("x", maxSaid) + `"}`, "ana", "application/json", 400, ReasonBadBody},
		"a long sentence": {`{"reason":"` + strings.Repeat("x", remediate.MaxReason+1) + `"}`, "ana", "application/json", 409, ReasonNotDone},
	} {
		t.Run(name, func(t *testing.T) {
			rec := tell(t, a, path, c.body, c.actor, c.kind)
			var p Problem
			if err := json.Unmarshal(rec.Body.Bytes(), &p); err != nil || rec.Code != c.status || p.Reason != c.reason {
				t.Errorf("%d %s", rec.Code, rec.Body)
			}
		})
	}
}
