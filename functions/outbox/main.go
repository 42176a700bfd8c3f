// Command outbox turns the table's stream into the journal and domain events.
package main

import (
	"context"
	"os"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"

	"github.com/bulkhead-ecs/bulkhead/functions/internal/boot"
	"github.com/bulkhead-ecs/bulkhead/internal/bus"
	"github.com/bulkhead-ecs/bulkhead/internal/dynamo"
	"github.com/bulkhead-ecs/bulkhead/internal/fleet"
)

func main() { boot.Run(start) }

func start(c boot.Base) error {
	log := c.Log
	out := &fleet.Outbox{Store: c.Store, Policy: c.Policy()}
	if name := os.Getenv("BULKHEAD_EVENT_BUS"); name != "" {
		out.Bus = &bus.Bus{API: eventbridge.NewFromConfig(c.AWS), Name: name}
	}
	lambda.Start(func(ctx context.Context, ev events.DynamoDBEvent) error {
		images, err := dynamo.Images(ev)
		if err != nil {
			return err // an image of a newer release: kept in the stream until this one is upgraded
		}
		if err := out.Batch(ctx, images); err != nil {
			return err
		}
		log.InfoContext(ctx, "outbox batch done", "records", len(ev.Records), "hosts", len(images))
		return nil
	})
	return nil
}
