package carry

import (
	"context"
	"log/slog"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// Nudge calls for a pass of remedies before its schedule. It is a favour: one that
// fails is logged, and the schedule brings the pass.
type Nudge struct {
	API *sqs.Client
	URL string // empty: nobody is called
	Log *slog.Logger
}

// nudgeTimeout bounds a favour: whoever is served waits for it.
const nudgeTimeout = 2 * time.Second

// Send puts a message into the queue. Its text only says why; what is to be done is
// found in the table.
func (n Nudge) Send(ctx context.Context, why string) {
	if n.URL == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, nudgeTimeout)
	defer cancel()
	if _, err := n.API.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: &n.URL, MessageBody: &why}); err != nil {
		n.Log.WarnContext(ctx, "remedies were not called, their schedule comes", "error", err.Error())
	}
}
