package memstore

import (
	"testing"

	"github.com/bulkhead-ecs/bulkhead/internal/ledger/ledgertest"
)

func TestTheContractOfAdmissions(t *testing.T) { ledgertest.RunAdmissions(t, &Admissions{}) }
