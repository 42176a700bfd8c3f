package memstore

import (
	"testing"

	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger/ledgertest"
)

func TestTheContract(t *testing.T) {
	ledgertest.Run(t, func(*testing.T) ledger.Store { return New() })
}

func TestTheContractWithSmallPages(t *testing.T) {
	ledgertest.Run(t, func(*testing.T) ledger.Store {
		s := New()
		s.PageSize = 3
		return s
	})
}
