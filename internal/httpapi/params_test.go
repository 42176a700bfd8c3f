package httpapi

import (
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

// A slip of the pen in a filter must not look like a healthy fleet.
func TestAFilterThatIsNotKnownIsRefusedWithWhatIs(t *testing.T) {
	h := fixedFleet(t).Handler()
	for path, want := range map[string]string{
		"/v1/clusters/gpu-prod/findings?kind=OverMemry":                       "OverMemory",
		"/v1/clusters/gpu-prod/findings?severity=foo":                         "error, warning, info",
		"/v1/clusters/gpu-prod/gpus?mode=foo":                                 "idle, shared, dedicated, unknown",
		"/v1/clusters/gpu-prod/gpus?mode=shared,foo":                          "idle, shared, dedicated, unknown",
		"/v1/clusters/gpu-prod/hosts?capacityType=spot":                       "EC2, MANAGED_INSTANCES",
		"/v1/clusters/gpu-prod/hosts?statuss=ACTIVE":                          "status",
		"/v1/clusters/gpu-prod/tasks?state=running":                           "reserved, bound",
		"/v1/clusters/gpu-prod/health?level=bad":                              "healthy, suspect",
		"/v1/clusters?bogus=1":                                                "takes none",
		"/v1/clusters/gpu-prod/gpus?mode=%zz":                                 "hexadecimal",
		"/v1/clusters/gpu-prod/hosts?limit=0":                                 "1 to 500",
		"/v1/clusters/gpu-prod/hosts/i-0a1b2c3d4e5f60718/history?at=-5m":      "ahead of the clock",
		"/v1/clusters/gpu-prod/hosts/i-0a1b2c3d4e5f60718/history?at=tomorrow": "90d",
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, strings.ReplaceAll(path, "%zz", "%25zz"), nil))
		if strings.Contains(path, "%zz") { // no client sends it so, but a hand can
			r := httptest.NewRequest(http.MethodGet, "/v1/clusters/gpu-prod/gpus", nil)
			r.URL.RawQuery = "mode=%zz"
			w = httptest.NewRecorder()
			h.ServeHTTP(w, r)
		}
		if strings.Contains(path, "/history") && w.Code == http.StatusNotFound {
			t.Fatalf("%s: the fixed fleet has no such host", path)
		}
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), want) || !strings.Contains(w.Body.String(), ReasonBadParameter) {
			t.Errorf("%s: %d %s, want 400 and %q", path, w.Code, w.Body.String(), want)
		}
	}
	for _, path := range []string{"/v1/clusters/gpu-prod/gpus?mode=Shared,IDLE", "/v1/clusters/gpu-prod/findings?kind=overmemory", "/v1/clusters/gpu-prod/tasks?state=&service=any"} {
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil)); w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", path, w.Code, w.Body.String())
		}
	}
}

// Every kind of finding that the source names can be asked for.
func TestEveryKindIsListed(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "../ledger/finding.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	ast.Inspect(f, func(x ast.Node) bool {
		v, ok := x.(*ast.ValueSpec)
		if !ok || v.Type == nil {
			return true
		}
		if id, ok := v.Type.(*ast.Ident); !ok || id.Name != "Kind" {
			return true
		}
		n++
		word := strings.Trim(v.Values[0].(*ast.BasicLit).Value, `"`)
		if !slices.Contains(ledger.Kinds(), ledger.Kind(word)) {
			t.Errorf("%s is a kind and not among Kinds", word)
		}
		return true
	})
	if n != len(ledger.Kinds()) {
		t.Errorf("%d kinds in the source, %d listed", n, len(ledger.Kinds()))
	}
}
