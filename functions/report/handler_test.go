package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/bulkhead-ecs/bulkhead/internal/fleet"
	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/health"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/memstore"
)

var now = time.Date(2026, 12, 1, 3, 0, 0, 0, time.UTC)

func served(t *testing.T) (func(context.Context, request) (response, error), *memstore.Store) {
	t.Helper()
	policy, err := health.Default()
	if err != nil {
		t.Fatal(err)
	}
	store := memstore.New()
	id := ledger.HostID{Cluster: "arn:aws:ecs:us-east-1:111122223333:cluster/c", Instance: "arn:aws:ecs:us-east-1:111122223333:container-instance/c/1"}
	h, _ := ledger.ObserveHost(ledger.Host{ID: id}, ledger.HostSeen{Fixed: ledger.Fixed{EC2InstanceID: "i-0a"}, Registration: ledger.Registration{Version: 1, Status: "ACTIVE"}, GPUs: []gpu.UUID{"GPU-1"}})
	if _, err := store.Commit(context.Background(), h); err != nil {
		t.Fatal(err)
	}
	if err := store.Index(context.Background(), h); err != nil {
		t.Fatal(err)
	}
	return handler(&fleet.Reports{Records: store, Store: store, Policy: policy, Accounts: []string{"111122223333"}, Clock: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler)}), store
}

func signed(arn, account, id, body string) request {
	in := request{PathParameters: map[string]string{"id": id}, Body: body}
	if arn != "" {
		in.RequestContext.Authorizer = &events.APIGatewayV2HTTPRequestContextAuthorizerDescription{IAM: &events.APIGatewayV2HTTPRequestContextAuthorizerIAMDescription{UserARN: arn, AccountID: account}}
	}
	return in
}

const instanceARN = "arn:aws:sts::111122223333:assumed-role/ecsInstanceRole/i-0a"

func body(sentAt time.Time) string {
	return fmt.Sprintf(`{"schema":1,"instanceId":"i-0a","bootId":"b","sequence":7,"observedAt":%q,"sentAt":%q,"devices":[],"mps":{"state":"ready","since":%q},"drops":{}}`,
		sentAt.Format(time.RFC3339), sentAt.Format(time.RFC3339), sentAt.Format(time.RFC3339))
}

func TestEachRefusalHasTheStatusThatTheAgentReads(t *testing.T) {
	h, store := served(t)
	for name, c := range map[string]struct {
		in     request
		status int
	}{
		"accepted":         {signed(instanceARN, "111122223333", "i-0a", body(now)), http.StatusOK},
		"not signed":       {signed("", "", "i-0a", body(now)), http.StatusForbidden},
		"a user":           {signed("arn:aws:iam::111122223333:user/a", "111122223333", "i-0a", body(now)), http.StatusForbidden},
		"accounts differ":  {signed(instanceARN, "999999999999", "i-0a", body(now)), http.StatusForbidden},
		"another instance": {signed(instanceARN, "111122223333", "i-0b", body(now)), http.StatusForbidden},
		"no report":        {signed(instanceARN, "111122223333", "i-0a", "{"), http.StatusUnprocessableEntity},
		"an old one":       {signed(instanceARN, "111122223333", "i-0a", body(now.Add(-time.Hour))), http.StatusConflict},
		"bad base64": {func() request {
			r := signed(instanceARN, "111122223333", "i-0a", "%")
			r.IsBase64Encoded = true
			return r
		}(), http.StatusBadRequest},
		"an unknown instance": {signed("arn:aws:sts::111122223333:assumed-role/r/i-0c", "111122223333", "i-0c", body(now)), http.StatusForbidden},
	} {
		out, err := h(context.Background(), c.in)
		if name == "an unknown instance" { // its body names another, which is worse
			c.status = http.StatusForbidden
		}
		if err != nil || out.StatusCode != c.status || !json.Valid([]byte(out.Body)) {
			t.Errorf("%s: %v %d %s, want %d", name, err, out.StatusCode, out.Body, c.status)
		}
	}
	if rec, err := store.Health(context.Background(), "i-0a"); err != nil || rec.Sequence != 7 {
		t.Errorf("%+v %v", rec, err)
	}
}
