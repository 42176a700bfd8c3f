// Package bus publishes domain events on an EventBridge bus.
package bus

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"github.com/bulkhead-ecs/bulkhead/events"
	"github.com/bulkhead-ecs/bulkhead/internal/fleet"
)

// maxEntries is EventBridge's own limit of a PutEvents call.
const maxEntries = 10

// API is the one call that is made of EventBridge.
type API interface {
	PutEvents(ctx context.Context, in *eventbridge.PutEventsInput, opts ...func(*eventbridge.Options)) (*eventbridge.PutEventsOutput, error)
}

// Bus is one event bus.
type Bus struct {
	API  API
	Name string
}

// Publish sends changes as domain events of source "bulkhead". An entry that
// EventBridge refuses fails the whole call: the stream brings the records again,
// and consumers drop doubles by the event's id.
func (b *Bus) Publish(ctx context.Context, ps []fleet.Published) error {
	for chunk := range slices.Chunk(ps, maxEntries) {
		in := &eventbridge.PutEventsInput{}
		for _, p := range chunk {
			kind, detail, err := fleet.Event(p)
			if err != nil {
				return err
			}
			in.Entries = append(in.Entries, types.PutEventsRequestEntry{EventBusName: &b.Name, Source: aws.String(events.SourceBulkhead),
				DetailType: &kind, Detail: aws.String(string(detail)), Time: &p.At, Resources: []string{p.Host.Instance}})
		}
		out, err := b.API.PutEvents(ctx, in)
		if err != nil {
			return fmt.Errorf("put %d events on bus %s: %w", len(chunk), b.Name, err)
		}
		if out.FailedEntryCount > 0 {
			return fmt.Errorf("bus %s refused %d of %d events, the first with %s", b.Name, out.FailedEntryCount, len(chunk), firstError(out.Entries))
		}
	}
	return nil
}

func firstError(es []types.PutEventsResultEntry) string {
	for _, e := range es {
		if e.ErrorCode != nil {
			return aws.ToString(e.ErrorCode) + " " + aws.ToString(e.ErrorMessage)
		}
	}
	return "no reason"
}

var _ fleet.Bus = (*Bus)(nil)
