package embedded

import (
	"context"
	"testing"

	"github.com/bulkhead-ecs/bulkhead/internal/ledger/ledgertest"
)

func TestTheContractOfAdmissions(t *testing.T) {
	s, done, err := Open(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	ledgertest.RunAdmissions(t, s)
}
