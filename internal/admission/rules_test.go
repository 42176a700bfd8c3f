package admission

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func lintFile(t testing.TB, name string) []Finding {
	t.Helper()
	content, err := os.ReadFile("testdata/rules/" + name)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := Read(name, content, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return Lint(doc, cards())
}

// places.txt says where the breach of each rule stands; its near miss keeps the rule, and the fix keeps them all.
func TestEachRuleFindsItsBreachThereAndNeitherItsNearMissNorItsFix(t *testing.T) {
	raw, err := os.ReadFile("testdata/rules/places.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
	if len(lines) != len(Rules()) {
		t.Errorf("%d places for %d rules", len(lines), len(Rules()))
	}
	for _, line := range lines {
		rule, place, _ := strings.Cut(line, " ")
		t.Run(rule, func(t *testing.T) {
			found := lintFile(t, rule+".breach.json")
			for _, f := range found {
				if at := fmt.Sprintf("%d:%d", f.Line, f.Column); f.Rule == rule && at != place {
					t.Errorf("found at %s, want %s", at, place)
				}
			}
			if n := count(found, rule); n != 1 {
				t.Errorf("found %d times, want once: %+v", n, found)
			}
			if near := lintFile(t, rule+".near.json"); count(near, rule) != 0 {
				t.Errorf("the near miss is found: %+v", near)
			}
			if fixed := lintFile(t, rule+".fixed.json"); len(fixed) != 0 {
				t.Errorf("the fix does not pass: %+v", fixed)
			}
		})
	}
}
