// Command operate takes what people say of cases, hosts and breakers. It changes the
// table alone: what is asked of the world is done by the next pass of remedies.
package main

import (
	"context"
	"os"
	"sync"

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

func main() { boot.Run(start) }

func start(c boot.Base) error {
	store, log := c.Store, c.Log
	desk := &remediate.Desk{Store: store, Vitals: store, Clock: boot.Clock}
	api := &httpapi.API{Query: &fleet.Query{Store: store, Vitals: store, Policy: c.Policy(), Clock: boot.Clock}, Log: log, Cases: store, Mode: os.Getenv("BULKHEAD_REMEDY_MODE"),
		Desk: desk}
	// The tables take milliseconds to read, which a cold start does not have to pay
	// before it is ready. Lambda gives one request at a time, so this is no race.
	judge := sync.OnceValues(health.Default)
	serve := gateway.Handler(api.Handler())
	nudge := carry.Nudge{API: sqs.NewFromConfig(c.AWS), URL: os.Getenv("BULKHEAD_REMEDY_QUEUE_URL"), Log: log}
	lambda.Start(func(ctx context.Context, in events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		var err error
		if desk.Health, err = judge(); err != nil {
			return events.APIGatewayV2HTTPResponse{}, err
		}
		out, err := serve(ctx, in)
		if err == nil && out.StatusCode < 300 {
			nudge.Send(ctx, "a person spoke")
		}
		return out, err
	})
	return nil
}
