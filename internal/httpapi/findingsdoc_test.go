package httpapi

import (
	"os"
	"strings"
	"testing"

	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

// Whoever sees a finding can look up what to do about it.
func TestEveryKindOfFindingIsDocumented(t *testing.T) {
	b, err := os.ReadFile("../../docs/reference/findings.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range ledger.Kinds() {
		if !strings.Contains(string(b), "| "+string(k)+" | ") {
			t.Errorf("docs/reference/findings.md does not tell of %s", k)
		}
	}
}
