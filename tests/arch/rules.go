package arch

import "strings"

// rule gives a package tree its level. A package may import our packages of
// lower levels, its own tree, and what allow names besides.
type rule struct {
	prefix string
	level  int
	allow  []string
}

// PureUpTo is the highest level that decides and never acts.
const PureUpTo = 3

// rules are matched by the longest prefix. Directories that are not named here
// are a violation by themselves: a new package must choose its level.
var rules = []rule{
	{"events", 0, nil},
	{"internal/gpu", 0, nil},
	{"internal/ledger", 1, nil},
	{"internal/health", 1, nil},
	{"internal/placement", 2, nil},
	{"internal/drift", 2, nil},
	{"internal/admission", 2, nil},
	{"internal/remedy", 2, nil},
	{"internal/sizing", 2, nil},
	{"internal/vitals", 2, nil},
	{"internal/ingest", 3, nil},
	{"internal/fleet", 4, nil},
	{"internal/remediate", 4, nil},
	{"internal/placing", 4, nil},
	{"internal/dynamo", 5, nil},
	{"internal/memstore", 5, nil},
	{"internal/changes", 5, nil},
	{"internal/ecsapi", 5, nil},
	{"internal/awsops", 5, nil},
	{"internal/bus", 5, nil},
	{"internal/obs", 5, nil},
	{"internal/httpapi", 5, nil},
	{"internal/webui", 5, nil},
	{"internal/replay", 5, []string{"internal"}}, // puts adapters together, as local does
	{"internal/local", 5, []string{"internal"}},  // puts adapters together in one process
	{"internal/sim", 1, nil},                     // a model of ECS, not of us: it may know none of our packages but the vocabulary
	{"internal/ledger/ledgertest", 5, nil},
	{"internal/vitals/vitalstest", 5, nil},
	{"internal/sizing/sizingtest", 5, nil},
	{"internal/remediate/casetest", 5, nil},
	{"functions", 6, nil},
	{"cmd", 6, nil},
	{"hostagent", 6, []string{"internal/gpu", "internal/health", "events", "hostagent"}},
	{"infra", 6, nil},
	{"tests", 7, []string{"tests"}},
}

// onlyFor are packages that may be imported from these trees alone.
var onlyFor = map[string][]string{
	"github.com/NVIDIA/go-nvml": {"hostagent/internal/nvml", "hostagent/internal/fakenvml", "tests/gpu"},
	"internal/sim":              {"internal/sim", "internal/local", "cmd/bulkhead", "tests"},
	"internal/fleet":            {"internal", "functions", "cmd", "tests"},
}

// pureBans are imports that the pure levels may not have.
var pureBans = []string{
	"os", "io/ioutil", "net", "net/http", "log", "log/slog", "syscall", "unsafe", "plugin",
	"math/rand", "crypto/rand", "database/sql", "runtime", "testing",
	"github.com/aws/", "github.com/NVIDIA/",
}

// pureAllows are exceptions to pureBans, each with its reason.
var pureAllows = map[string]string{
	"internal/sim":                "math/rand/v2 with an explicit source: the seed is an argument",
	"internal/sim/wire":           "it is an HTTP face",
	"internal/ledger/ledgertest":  "a test suite",
	"internal/vitals/vitalstest":  "a test suite",
	"internal/sizing/sizingtest":  "a test suite",
	"internal/health/healthtest":  "a test suite",
	"internal/remedy/remedytest":  "a test suite",
	"events/eventstest":           "a test suite",
	"internal/admission/render":   "",
	"internal/placement/contends": "",
}

// pureCalls are selector calls that the pure levels may not make.
var pureCalls = map[string]bool{
	"time.Now": true, "time.Since": true, "time.Until": true, "time.Sleep": true, "time.After": true,
	"time.Tick": true, "time.NewTimer": true, "time.NewTicker": true, "time.AfterFunc": true,
	"context.Background": true, "context.TODO": true, "context.WithTimeout": true, "context.WithCancel": true,
	"fmt.Print": true, "fmt.Println": true, "fmt.Printf": true,
}

func ruleFor(dir string) (rule, bool) {
	var best rule
	found := false
	for _, r := range rules {
		if within(dir, r.prefix) && (!found || len(r.prefix) > len(best.prefix)) {
			best, found = r, true
		}
	}
	return best, found
}

func within(dir, tree string) bool { return dir == tree || strings.HasPrefix(dir, tree+"/") }

func banned(path string) bool {
	for _, b := range pureBans {
		if path == b || strings.HasSuffix(b, "/") && strings.HasPrefix(path, b) || strings.HasPrefix(path, b+"/") {
			return path != "net/netip" && path != "net/url"
		}
	}
	return false
}
