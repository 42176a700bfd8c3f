package memstore

import (
	"testing"

	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger/ledgertest"
	"github.com/bulkhead-ecs/bulkhead/internal/vitals/vitalstest"
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

func TestTheContractOfHealth(t *testing.T) { vitalstest.Run(t, New()) }
