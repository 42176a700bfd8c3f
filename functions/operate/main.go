// Command operate takes what people say of cases, hosts and breakers. It changes the
// table alone: what is asked of the world is done by the next pass of remedies.
package main

import (
	"context"
	"os"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/bulkhead-ecs/bulkhead/functions/internal/boot"
	"github.com/bulkhead-ecs/bulkhead/functions/internal/carry"
	"github.com/bulkhead-ecs/bulkhead/functions/internal/gateway"
	"github.com/bulkhead-ecs/bulkhead/internal/fleet"
	"github.com/bulkhead-ecs/bulkhead/internal/health"
	"github.com/bulkhead-ecs/bulkhead/internal/httpapi"
	"github.com/bulkhead-ecs/bulkhead/internal/remediate"
)

func main() {
	if err := start(context.Background()); err != nil {
		boot.Fail(err)
	}
}

func start(ctx context.Context) error {
	c, err := boot.Load()
	if err != nil {
		return err
	}
	cfg, err := boot.AWS(ctx)
	if err != nil {
		return err
	}
	judge, err := health.Default()
	if err != nil {
		return err
	}
	store, log := c.Store(cfg), c.Logger()
	api := &httpapi.API{Query: &fleet.Query{Store: store, Vitals: store, Policy: c.Policy(), Clock: boot.Clock}, Log: log, Cases: store, Mode: os.Getenv("BULKHEAD_REMEDY_MODE"),
		Desk: &remediate.Desk{Store: store, Vitals: store, Health: judge, Clock: boot.Clock}}
	serve := gateway.Handler(api.Handler())
	nudge := carry.Nudge{API: sqs.NewFromConfig(cfg), URL: os.Getenv("BULKHEAD_REMEDY_QUEUE_URL"), Log: log}
	lambda.Start(func(ctx context.Context, in events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		out, err := serve(ctx, in)
		if err == nil && out.StatusCode < 300 {
			nudge.Send(ctx, "a person spoke")
		}
		return out, err
	})
	return nil
}
