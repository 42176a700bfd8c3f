package bus

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"github.com/bulkhead-ecs/bulkhead/events"
	"github.com/bulkhead-ecs/bulkhead/internal/fleet"
)

// Announce implements fleet.Announcer. An entry that EventBridge refuses fails the call: the caller publishes all
// again, and consumers drop doubles by the event's id.
func (b *Bus) Announce(ctx context.Context, at time.Time, details []events.Own) error {
	for chunk := range slices.Chunk(details, maxEntries) {
		in := &eventbridge.PutEventsInput{}
		for _, d := range chunk {
			kind, detail, err := events.Encode(d)
			if err != nil {
				return err
			}
			in.Entries = append(in.Entries, types.PutEventsRequestEntry{EventBusName: &b.Name, Source: aws.String(events.SourceBulkhead),
				DetailType: &kind, Detail: aws.String(string(detail)), Time: &at})
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

var _ fleet.Announcer = (*Bus)(nil)
