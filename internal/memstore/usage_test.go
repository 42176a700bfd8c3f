package memstore

import (
	"testing"

	"github.com/bulkhead-ecs/bulkhead/internal/sizing/sizingtest"
)

func TestTheContractOfUsage(t *testing.T) {
	s := New()
	s.PageSize = 7
	sizingtest.Run(t, s)
}
