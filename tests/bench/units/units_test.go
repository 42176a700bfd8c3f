package units

import (
	"context"
	"testing"

	"github.com/bulkhead-ecs/bulkhead/internal/dynamo/codec"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger/ledgertest"
)

func TestATaskLifeCostsTwoWriteUnitsAndAnEventOneRead(t *testing.T) {
	f, err := Measure(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if f.Single > 2 || f.Burst > 1 || f.ReadsPerEvent > 1 {
		t.Errorf("%+v: want at most 2 write units singly, 1 in bursts of 16, 1 read unit an event", f)
	}
	if f.Baseline != 12 { // 8 metered, 4 for the indexes that a stand-in does not bill
		t.Errorf("the baseline costs %.2f, its arithmetic says 12: the meter is wrong", f.Baseline)
	}
}

func TestTheLargestHostFitsInAnItem(t *testing.T) {
	if n := len(codec.Encode(ledgertest.Full(1, 8, 48))); n >= 64<<10 {
		t.Errorf("8 cards with 48 shares each take %d bytes, want less than 64 KB", n)
	}
	if n := len(codec.Encode(ledgertest.Full(1, 1, 6))); n >= 1000 {
		t.Errorf("a one-GPU host with 6 shares takes %d bytes", n)
	}
}
