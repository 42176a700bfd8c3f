package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/memstore"
	"github.com/bulkhead-ecs/bulkhead/internal/sizing"
	"github.com/bulkhead-ecs/bulkhead/internal/sizing/readiness"
)

func sizedFleet(t *testing.T) *API {
	t.Helper()
	api := fixedFleet(t)
	usages := memstore.New()
	chat := sizing.Subject{Definition: "chat:7", Container: "app", Image: "sha256:ab", Card: "NVIDIA L4"}
	for _, host := range []string{"i-0a", "i-gone"} {
		u := sizing.Usage{Cluster: clusterARN, EC2: host}.See([]sizing.Sighting{
			{Subject: chat, Peak: 17000, Total: 22563, At: now.Add(-time.Hour), Seconds: 300},
			{Subject: chat, Peak: 18000, Total: 22563, At: now.Add(-time.Minute), Seconds: 300},
			{Subject: chat, Peak: 0, Total: 22563, At: now, Seconds: 300}})
		if _, err := usages.SaveUsage(context.Background(), u); err != nil {
			t.Fatal(err)
		}
	}
	api.Query.Usage = usages
	return api
}

func TestSizingRoutesKeepTheContract(t *testing.T) {
	api, router := sizedFleet(t).Handler(), contract(t)
	base := "/v1/clusters/gpu-prod"
	for _, path := range []string{base + "/advice", base + "/advice?finding=underdeclared&family=chat&margin=20&overhead=256&round=512&budget=150",
		base + "/shaping", base + "/shaping?tenants=3&task=a:4000:40:6&task=b:500&card=22563&card=15000", base + "/shaping?task=huge:90000&card=1000",
		base + "/cost", base + "/cost?from=30d&to=1m&team=chat=ml&team=" + url.QueryEscape("*=rest") + "&price=g6.xlarge=0.5&price=x9.new=4/8",
		base + "/readiness", base + "/readiness?ami=ami-1=20261019&ami=ami-2=20260101"} {
		if rec := ask(t, api, router, path, nil); rec.Code != http.StatusOK {
			t.Errorf("%s: %d %s", path, rec.Code, rec.Body)
		}
	}
}

func read[T any](t *testing.T, h http.Handler, path string) T {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	var doc T
	if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil || w.Code != http.StatusOK {
		t.Fatalf("%s: %d %s", path, w.Code, w.Body)
	}
	return doc
}

func TestAdviceJoinsHostsAndTakesWhatIsDeclaredFromTheLedger(t *testing.T) {
	doc := read[AdviceDoc](t, sizedFleet(t).Handler(), "/v1/clusters/gpu-prod/advice")
	if len(doc.Advice) != 1 {
		t.Fatalf("%+v", doc)
	}
	a := doc.Advice[0]
	if a.Finding != sizing.UnderDeclared || a.Declared != 18000 || a.Percent != 40 || a.Max != 18000 || a.Memory != 20736 || a.Windows != 4 || a.Refused != 2 {
		t.Errorf("%+v", a)
	}
	if none := read[AdviceDoc](t, fixedFleet(t).Handler(), "/v1/clusters/gpu-prod/advice"); none.Advice == nil || len(none.Advice) != 0 {
		t.Errorf("without a report there is no advice: %+v", none)
	}
}

func TestShapingTellsWhatRunsNow(t *testing.T) {
	doc := read[ShapingDoc](t, fixedFleet(t).Handler(), "/v1/clusters/gpu-prod/shaping")
	if len(doc.Shapes) != 1 || doc.Shapes[0].Name != "chat" || doc.Shapes[0].Declare != 18000 || doc.Limits.Budget != 100 || len(doc.Plans) == 0 || doc.Plans[0].Type != "g6.xlarge" {
		t.Errorf("%+v", doc)
	}
}

func TestCostIsOfTheJournalsSpan(t *testing.T) {
	doc := read[CostDoc](t, fixedFleet(t).Handler(), "/v1/clusters/gpu-prod/cost?team=chat=ml")
	if doc.GPUSeconds != 3*3600 || doc.Idle.Seconds != 2*3600 || len(doc.Lines) != 2 || doc.Lines[0].Team != "ml" || doc.GPUsSaved <= 0 {
		t.Errorf("%+v", doc)
	}
	if sum := doc.Used.Seconds + doc.Free.Seconds + doc.Stranded.Seconds; sum < 3599.9 || sum > 3600.1 || doc.Used.Cost <= 0 || doc.Used.Cost > 0.8048+1e-9 {
		t.Errorf("%+v", doc)
	}
}

func TestReadinessTellsTheReasons(t *testing.T) {
	doc := read[readiness.Report](t, fixedFleet(t).Handler(), "/v1/clusters/gpu-prod/readiness?ami=ami-1=20260101")
	if doc.Ready || len(doc.Hosts) != 3 || doc.Hosts[0].AMIOK != readiness.Fail || len(doc.CoTenancy) != 1 || !doc.CoTenancy[0].Mixed {
		t.Errorf("%+v", doc)
	}
}

func TestBadInputOfSizingIsRefusedWithWhatToGive(t *testing.T) {
	h := sizedFleet(t).Handler()
	for path, want := range map[string]string{
		"advice?margin=-1": "whole number", "advice?margin=401": "400%", "advice?round=0": "rounding", "advice?budget=99999": "budget", "advice?finding=bad": "UnderDeclared", "advice?margin=1e9": "whole number",
		"shaping?task=a": "NAME:MEMORY", "shaping?task=a:0": "1 MiB or more", "shaping?task=a:1:2:0": "want 1 to", "shaping?task=a:1:2:3:4": "NAME:MEMORY", "shaping?card=0": "card", "shaping?budget=0": "must be given",
		"shaping?tenants=99": "tenants", "shaping?price=g6.xlarge=0": "above 0", "shaping?price=g6.xlarge=NaN": "above 0", "shaping?price=zz=1": "above 0", "shaping?price=zz=1/99": "above 0",
		"cost?from=5m&to=10m": "before to", "cost?from=60d": "31 days", "cost?from=x": "neither", "cost?team=x": "SERVICE=TEAM", "cost?price=-1": "above 0",
		"readiness?ami=ami-1": "RELEASE", "readiness?ami=x=20261019": "RELEASE", "readiness?ami=ami-1=new": "RELEASE",
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/v1/clusters/gpu-prod/"+path, nil))
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s, want 400 and %q", path, w.Code, w.Body, want)
		}
	}
}
