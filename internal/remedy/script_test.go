package remedy

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/bulkhead-ecs/bulkhead/internal/health"
)

var defaults = sync.OnceValues(func() (Policy, error) { return DefaultPolicy() })
var judging = sync.OnceValues(func() (health.Policy, error) { return health.Default() })

func mustPolicy(t testing.TB) Policy {
	t.Helper()
	p, err := defaults()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func mustJudge(t testing.TB) health.Policy {
	t.Helper()
	p, err := judging()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// script is one file of testdata at work.
type script struct {
	t     *testing.T
	fleet *fleet
	doc   string // policy document in force
}

// verb is one word of the scripts; each lives in a file of its own.
type verb func(s *script, d *datadriven.TestData) string

var verbs = map[string]verb{
	"fleet": verbFleet, "policy": verbPolicy, "task": verbTask, "xid": verbXid, "signal": verbSignal,
	"advance": verbAdvance, "person": verbPerson, "group": verbGroup, "host": verbHost, "inject": verbInject,
	"cases": verbCases, "breaker": verbBreaker, "consider": verbConsider, "table": verbTable,
}

func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/scenarios", func(t *testing.T, path string) {
		s := &script{t: t, doc: string(defaultYAML)}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			s.t = t
			run, ok := verbs[d.Cmd]
			if !ok {
				d.Fatalf(t, "no verb %q", d.Cmd)
			}
			return run(s, d)
		})
	})
}

// flush returns what was traced since the last verb.
func (s *script) flush() string {
	out := strings.Join(s.fleet.trace, "\n")
	s.fleet.trace = nil
	if out == "" {
		return "(nothing)\n"
	}
	return out + "\n"
}

func (s *script) named(d *datadriven.TestData) *host {
	var id string
	d.ScanArgs(s.t, "host", &id)
	h := s.fleet.host(id)
	if h == nil {
		d.Fatalf(s.t, "no host %q", id)
	}
	return h
}

func arg[T any](s *script, d *datadriven.TestData, key string, into *T) {
	d.MaybeScanArgs(s.t, key, into)
}

func seconds(s *script, d *datadriven.TestData, text string) time.Duration {
	v, err := health.ParseDuration(text)
	if err != nil {
		d.Fatalf(s.t, "%v", err)
	}
	return v
}

func list(n int, line func(i int) string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintln(&b, line(i))
	}
	if b.Len() == 0 {
		return "none\n"
	}
	return b.String()
}
