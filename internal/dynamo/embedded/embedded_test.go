package embedded

import (
	"context"
	"testing"

	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger/ledgertest"
	"github.com/bulkhead-ecs/bulkhead/internal/vitals/vitalstest"
)

func TestTheContract(t *testing.T) {
	ledgertest.Run(t, func(t *testing.T) ledger.Store {
		s, done, err := Open(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(done)
		return s
	})
}

func TestTheContractOfHealth(t *testing.T) {
	s, done, err := Open(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	vitalstest.Run(t, s)
}
