package fleet

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/memstore"
)

// Functions run side by side on one table. Whatever they do to each other, the
// ledger is the one that a single writer makes.
func TestWritersThatRaceMakeTheLedgerOfOne(t *testing.T) {
	truth := newWorld()
	var msgs []Message
	for n := 1; n <= 4; n++ {
		truth.registers(n)
	}
	for n := 1; n <= 40; n++ {
		on := 1 + n%4
		truth.runs(n, on, 3)
		for v, s := range [][2]string{{"PENDING", "RUNNING"}, {"RUNNING", "RUNNING"}, {"RUNNING", "RUNNING"}} {
			msgs = append(msgs, event(n, on, v+1, s[0], s[1], truth.now, chat))
		}
	}
	one := memstore.New()
	alone := over(truth, one)
	alone.Batch(context.Background(), msgs)
	if _, err := sweepOver(truth, one).Cluster(context.Background(), cluster); err != nil {
		t.Fatal(err)
	}

	shared := memstore.New()
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(w), 1))
			mine := append([]Message(nil), msgs...)
			rng.Shuffle(len(mine), func(i, j int) { mine[i], mine[j] = mine[j], mine[i] })
			in := over(truth, shared)
			for len(mine) > 0 {
				n := min(len(mine), 1+rng.IntN(12))
				var again []Message
				for i, r := range in.Batch(context.Background(), mine[:n]) {
					if r.Outcome == Failed { // the queue brings it again
						again = append(again, mine[i])
					}
				}
				mine = append(mine[n:], again...)
			}
		})
	}
	for range 2 {
		wg.Go(func() {
			s := sweepOver(truth, shared)
			for range 5 {
				_, _ = s.Cluster(context.Background(), cluster) // lost races: the next sweep goes on
			}
		})
	}
	wg.Wait()
	if _, err := sweepOver(truth, shared).Cluster(context.Background(), cluster); err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 4; n++ {
		a, err := one.Host(context.Background(), host(n))
		if err != nil {
			t.Fatal(err)
		}
		b, err := shared.Host(context.Background(), host(n))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(a, b, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(ledger.Host{}, "Revision")); diff != "" {
			t.Errorf("host %d (-alone +raced)\n%s", n, diff)
		}
	}
}

func over(w *world, s ledger.Store) *Ingest {
	return &Ingest{Store: s, Definitions: w, Policy: ledger.DefaultPolicy(), Clock: w.clock, Log: slog.New(slog.DiscardHandler), Parallel: 3,
		Wait: func(context.Context, int) error {
			time.Sleep(time.Duration(rand.IntN(300)) * time.Microsecond)
			return nil
		}}
}

func sweepOver(w *world, s ledger.Store) *Sweep {
	return &Sweep{Store: s, ECS: w, Definitions: w, Policy: ledger.DefaultPolicy(), Clock: w.clock, Log: slog.New(slog.DiscardHandler), Parallel: 3,
		Wait: func(context.Context, int) error {
			time.Sleep(time.Duration(rand.IntN(300)) * time.Microsecond)
			return nil
		}}
}
