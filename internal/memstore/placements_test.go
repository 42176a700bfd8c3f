package memstore

import (
	"testing"

	"github.com/bulkhead-ecs/bulkhead/internal/ledger/ledgertest"
	"github.com/bulkhead-ecs/bulkhead/internal/placing"
)

func TestTheContractOfPlacements(t *testing.T) {
	ledgertest.RunPlacements(t, func(*testing.T) placing.Store { return NewPlacements() })
}
