package embedded

import (
	"context"
	"testing"

	"github.com/bulkhead-ecs/bulkhead/internal/ledger/ledgertest"
	"github.com/bulkhead-ecs/bulkhead/internal/placing"
)

func TestTheContractOfPlacements(t *testing.T) {
	ledgertest.RunPlacements(t, func(t *testing.T) placing.Store {
		s, done, err := Open(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(done)
		return s
	})
}
