package fleet

import (
	"context"
	"testing"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/memstore"
	"github.com/bulkhead-ecs/bulkhead/internal/sizing"
)

// The journal is read page by page, and only the newest image before the span counts.
func TestTheMeterReadsTheJournalOfASpan(t *testing.T) {
	at := time.Date(2026, 12, 1, 3, 0, 0, 0, time.UTC)
	ctx := context.Background()
	store := memstore.New()
	store.PageSize = 3
	id := ledger.HostID{Cluster: "c", Instance: "i"}
	h, _ := ledger.ObserveHost(ledger.Host{ID: id}, ledger.HostSeen{Fixed: ledger.Fixed{InstanceType: "g6.xlarge"}, Registration: ledger.Registration{Version: 1, Status: "ACTIVE"},
		GPUs: []gpu.UUID{"GPU-a"}, Described: []ledger.DeviceTotal{{UUID: "GPU-a", Total: 1000}}})
	busy, _ := ledger.ObserveTask(h, ledger.Task{ARN: "t", Version: 1, LastStatus: "RUNNING", Group: "service:chat",
		Shares: []ledger.TaskShare{{Container: "app", Need: ledger.NeedShare, Sized: true, Memory: 500, Compute: 10, GPUs: []gpu.UUID{"GPU-a"}}}})
	if _, err := store.Commit(ctx, h); err != nil {
		t.Fatal(err)
	}
	for i := range 10 { // busy in even hours
		image := h
		if i%2 == 0 {
			image = busy
		}
		if err := store.Record(ctx, []ledger.Entry{{Host: id, At: at.Add(time.Duration(i) * time.Hour), Revision: int64(i + 1), Image: image}}); err != nil {
			t.Fatal(err)
		}
	}
	prices, err := sizing.DefaultPrices()
	if err != nil {
		t.Fatal(err)
	}
	m := sizing.Meter{From: at.Add(4*time.Hour + 30*time.Minute), To: at.Add(7 * time.Hour), Prices: prices}
	if err := (&Query{Store: store, Clock: func() time.Time { return at }}).Meter(ctx, "c", &m); err != nil {
		t.Fatal(err)
	}
	if b := m.Bill(); b.CardSeconds != 2.5*3600 || b.Used.Seconds != 1.5*3600/2 || b.Idle.Seconds != 3600 || b.Saved() != 0 {
		t.Errorf("%+v", b)
	}
}
