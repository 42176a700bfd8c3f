package remedy

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// scenarios reads every script.
func scenarios(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob("testdata/scenarios/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, p := range paths {
		src, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(p)] = string(src)
	}
	return out
}

// The public faults of health (47 to 69) and of drain and replacement (86 to 102)
// each have a scenario that names them in its first line.
func TestEveryKnownFaultOfPeersHasAScenario(t *testing.T) {
	all := scenarios(t)
	if len(all) < 40 {
		t.Errorf("%d scenarios, at least 40", len(all))
	}
	named := map[string]bool{}
	for _, src := range all {
		first, _, _ := strings.Cut(src, "\n")
		_, list, ok := strings.Cut(first, "(pains ")
		if !ok {
			continue
		}
		for _, n := range strings.Split(strings.TrimSuffix(strings.SplitN(list, ")", 2)[0], ")"), ",") {
			named[strings.TrimSpace(n)] = true
		}
	}
	for n := 47; n <= 102; n++ {
		if n > 69 && n < 86 {
			continue
		}
		if !named[fmt.Sprint(n)] {
			t.Errorf("no scenario names fault %d", n)
		}
	}
}

func TestEveryClassOfTheXidTableHasAScenario(t *testing.T) {
	all := scenarios(t)
	for _, r := range mustJudge(t).Xids.Rows {
		found := false
		for name := range all {
			found = found || strings.HasPrefix(name, "class-") && strings.Contains(name, string(r.Class))
		}
		if !found {
			t.Errorf("class %s (%s) has no scenario", r.Class, r.Name)
		}
	}
}

func TestNoScenarioLeavesAFindingUnexplained(t *testing.T) {
	for name, src := range scenarios(t) {
		first, _, _ := strings.Cut(src, "\n")
		if !strings.HasPrefix(first, "# ") {
			t.Errorf("%s does not say what it shows", name)
		}
	}
}
