// Package units measures what a task life costs in DynamoDB write units: ours over
// the real store, and beside it the design that comes first to mind, two items in
// a transaction with two secondary indexes.
package units

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/bulkhead-ecs/bulkhead/internal/changes"
	"github.com/bulkhead-ecs/bulkhead/internal/dynamo"
	"github.com/bulkhead-ecs/bulkhead/internal/dynamo/codec"
	"github.com/bulkhead-ecs/bulkhead/internal/dynamo/embedded"
	"github.com/bulkhead-ecs/bulkhead/internal/dynamo/meter"
	"github.com/bulkhead-ecs/bulkhead/internal/fleet"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger/ledgertest"
	"github.com/bulkhead-ecs/bulkhead/tests/bench/handler"
)

// Figures are the measured costs of one task life.
type Figures struct {
	Single, Burst  float64 // write units a life: one at a time, and sixteen at once
	ReadsPerEvent  float64 // read units an event, warm
	Journal        float64 // write units a life that the outbox adds when each change comes alone
	JournalBatched float64 // the same when the stream brings sixteen lives in one batch
	Baseline       float64
}

// Measure runs task lives on a one-GPU host that holds four others.
func Measure(ctx context.Context) (f Figures, err error) {
	if f.ReadsPerEvent, err = readsPerEvent(ctx); err != nil {
		return f, err
	}
	if f.Single, f.Journal, err = lives(ctx, 32, 1); err != nil {
		return f, err
	}
	if f.Burst, f.JournalBatched, err = lives(ctx, 64, 16); err != nil {
		return f, err
	}
	f.Baseline, err = baseline(ctx, 8)
	return f, err
}

// Report prints the figures.
func Report(ctx context.Context, w io.Writer) error {
	f, err := Measure(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "B5 write units a task life on a one-GPU host with four other shares, events: %d a life\n", handler.EventsOfALife)
	fmt.Fprintf(w, "  bulkhead, one life at a time:        %5.2f   (%.2f read units an event, warm)\n", f.Single, f.ReadsPerEvent)
	fmt.Fprintf(w, "  bulkhead, bursts of 16:              %5.2f\n", f.Burst)
	fmt.Fprintf(w, "  the journal besides, one at a time:  %5.2f   in bursts of 16: %.2f\n", f.Journal, f.JournalBatched)
	fmt.Fprintf(w, "  baseline, two items in a transaction (8 metered) and two indexes (4 by arithmetic): %5.2f\n", f.Baseline)
	for _, c := range []struct{ cards, shares int }{{1, 1}, {1, 4}, {1, 6}, {4, 6}, {8, 48}} {
		fmt.Fprintf(w, "  item of %d card(s) with %2d shares each: %6d bytes\n", c.cards, c.shares, len(codec.Encode(ledgertest.Full(1, c.cards, c.shares))))
	}
	return nil
}

// lives runs n task lives, burst at a time, and returns write units a life and what
// the journal adds.
func lives(ctx context.Context, n, burst int) (writes, journal float64, err error) {
	var m, j meter.Meter
	store, done, err := embedded.Open(ctx, m.Client)
	if err != nil {
		return 0, 0, err
	}
	defer done()
	side, doneSide, err := embedded.Open(ctx, j.Client)
	if err != nil {
		return 0, 0, err
	}
	defer doneSide()
	now := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	var images []fleet.Image
	noted := changes.Notify(store, func(a, b ledger.Host) { images = append(images, fleet.Image{Before: a, After: b, At: now}) })
	in := handler.Over(noted, &now)
	in.Log = slog.New(slog.DiscardHandler)
	if err := warm(ctx, in, &now); err != nil {
		return 0, 0, err
	}
	out := &fleet.Outbox{Store: side, Policy: in.Policy}
	images = nil
	before := m.Used().Writes
	for first := 0; first < n; first += burst {
		for step := range handler.EventsOfALife {
			var msgs []fleet.Message
			for k := range burst {
				msgs = append(msgs, handler.Life(0, 100+first+k, now)[step])
			}
			for _, r := range in.Batch(ctx, msgs) {
				if r.Outcome == fleet.Failed {
					return 0, 0, r.Err
				}
			}
			now = now.Add(20 * time.Second)
			if err := out.Batch(ctx, images); err != nil {
				return 0, 0, err
			}
			images = nil
		}
		now = now.Add(20 * time.Minute) // past the tombstones
	}
	return (m.Used().Writes - before) / float64(n), j.Used().Writes / float64(n), nil
}

// readsPerEvent runs lives without the decorator that stands in for the stream,
// since that reads too.
func readsPerEvent(ctx context.Context) (float64, error) {
	var m meter.Meter
	store, done, err := embedded.Open(ctx, m.Client)
	if err != nil {
		return 0, err
	}
	defer done()
	now := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	in := handler.Over(store, &now)
	if err := warm(ctx, in, &now); err != nil {
		return 0, err
	}
	before, events := m.Used(), 0
	for k := range 16 {
		for _, msg := range handler.Life(0, 200+k, now) {
			in.Batch(ctx, []fleet.Message{msg})
			events++
		}
	}
	return (m.Used().Reads - before.Reads) / float64(events), nil
}

// warm puts four long tasks on the host and reads the definition once.
func warm(ctx context.Context, in *fleet.Ingest, now *time.Time) error {
	for k := range 4 {
		for _, r := range in.Batch(ctx, handler.Life(0, k, *now)[:2]) {
			if r.Outcome == fleet.Failed {
				return r.Err
			}
		}
	}
	return nil
}

// baseline does what one would do first: a task item and a card item in one
// transaction for each of start and stop, with two indexes on the card item.
func baseline(ctx context.Context, n int) (float64, error) {
	var m meter.Meter
	cfg, o, err := embedded.Config(ctx)
	if err != nil {
		return 0, err
	}
	api := dynamodb.NewFromConfig(cfg, func(d *dynamodb.Options) { d.BaseEndpoint = aws.String(o.Endpoint) }, m.Client)
	if err := dynamo.Open(cfg, o).CreateTable(ctx); err != nil {
		return 0, err
	}
	s := func(v string) types.AttributeValue { return &types.AttributeValueMemberS{Value: v} }
	put := func(pk, state string) types.TransactWriteItem {
		return types.TransactWriteItem{Put: &types.Put{TableName: &o.Table, Item: map[string]types.AttributeValue{"pk": s(pk), "sk": s("x"), "state": s(state)}}}
	}
	indexes := 0.0
	for i := range n {
		for _, state := range []string{"running", "stopped"} {
			if _, err := api.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
				put(fmt.Sprint("task#", i), state), put("card#1", state)}}); err != nil {
				return 0, err
			}
			indexes += 2 // each index that the change touches costs one more unit
		}
	}
	return (m.Used().Writes + indexes) / float64(n), nil
}
