package embedded

import (
	"context"
	"testing"

	"github.com/bulkhead-ecs/bulkhead/internal/sizing/sizingtest"
)

func TestTheContractOfUsage(t *testing.T) {
	s, done, err := Open(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	sizingtest.Run(t, s)
}
