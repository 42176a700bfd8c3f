package memstore

import (
	"testing"

	"github.com/bulkhead-ecs/bulkhead/internal/remediate"
	"github.com/bulkhead-ecs/bulkhead/internal/remediate/casetest"
)

func TestTheContractOfCases(t *testing.T) {
	casetest.Run(t, func(*testing.T) remediate.Store { return NewCases() })
}
