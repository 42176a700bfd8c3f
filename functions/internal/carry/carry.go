// Package carry brings messages from Lambda's event sources to the use cases and
// their replies back, each message by itself: one that fails is brought again
// alone, one that is unreadable goes to the failure queue, and neither holds up
// the rest of its batch.
package carry

import (
	"context"
	"log/slog"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/bulkhead-ecs/bulkhead/internal/fleet"
)

// Batch is a use case that handles messages.
type Batch func(ctx context.Context, msgs []fleet.Message) []fleet.Reply

// SQS makes a handler of SQS events of a use case.
func SQS(batch Batch, log *slog.Logger) func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
	return func(ctx context.Context, ev events.SQSEvent) (events.SQSEventResponse, error) {
		msgs := make([]fleet.Message, len(ev.Records))
		for i, r := range ev.Records {
			msgs[i] = fleet.Message{ID: r.MessageId, Body: []byte(r.Body)}
		}
		replies := batch(ctx, msgs)
		var resp events.SQSEventResponse
		for _, r := range replies {
			if r.Outcome != fleet.Failed {
				continue
			}
			log.ErrorContext(ctx, "message failed, it comes again", "event_id", r.ID, "error", r.Text)
			resp.BatchItemFailures = append(resp.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: r.ID})
		}
		c := fleet.Count(replies)
		log.InfoContext(ctx, "batch done", "messages", len(msgs), "applied", c[fleet.Applied], "duplicate", c[fleet.Duplicate],
			"stale", c[fleet.Stale], "ignored", c[fleet.Ignored], "unknown", c[fleet.Unknown], "rejected", c[fleet.Rejected], "failed", c[fleet.Failed])
		return resp, nil
	}
}

// Failures is a queue for messages that can never be handled.
type Failures struct {
	API *sqs.Client
	URL string
}

// Put sends a message there with the reason as an attribute.
func (f Failures) Put(ctx context.Context, m fleet.Message, reason string) error {
	if len(reason) > 256 {
		reason = reason[:256]
	}
	body := string(m.Body)
	if body == "" {
		body = "(empty)" // SQS takes no empty body
	}
	_, err := f.API.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: &f.URL, MessageBody: &body,
		MessageAttributes: map[string]sqstypes.MessageAttributeValue{
			"reason":    {DataType: aws.String("String"), StringValue: &reason},
			"messageId": {DataType: aws.String("String"), StringValue: aws.String(m.ID)},
		}})
	return err
}

var _ fleet.FailureQueue = Failures{}
