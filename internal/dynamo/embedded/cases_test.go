package embedded

import (
	"context"
	"testing"

	"github.com/bulkhead-ecs/bulkhead/internal/remediate"
	"github.com/bulkhead-ecs/bulkhead/internal/remediate/casetest"
)

func TestTheContractOfCases(t *testing.T) {
	casetest.Run(t, func(t *testing.T) remediate.Store {
		s, done, err := Open(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(done)
		return s
	})
}
