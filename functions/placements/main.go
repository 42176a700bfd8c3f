// Command placements takes requests for placements and simulates. It keeps requests and
// queues them; what starts tasks is command place.
package main

import (
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/bulkhead-ecs/bulkhead/functions/internal/boot"
	"github.com/bulkhead-ecs/bulkhead/functions/internal/carry"
	"github.com/bulkhead-ecs/bulkhead/functions/internal/gateway"
	"github.com/bulkhead-ecs/bulkhead/internal/ecsapi"
	"github.com/bulkhead-ecs/bulkhead/internal/fleet"
	"github.com/bulkhead-ecs/bulkhead/internal/httpapi"
	"github.com/bulkhead-ecs/bulkhead/internal/placing"
)

func main() { boot.Run(start) }

func start(c boot.Base) error {
	policy, err := c.Placement()
	if err != nil {
		return err
	}
	store, log := c.Store, c.Log
	client := &ecsapi.Client{API: ecs.NewFromConfig(c.AWS), Budget: ecsapi.NewBudget(0.25), Clock: boot.Clock}
	desk := &placing.Desk{Ledger: store, Store: store, Queue: carry.Placements{API: sqs.NewFromConfig(c.AWS), URL: os.Getenv("BULKHEAD_PLACE_QUEUE_URL")},
		Definitions: &fleet.DefinitionCache{Store: store, Source: client}, Policy: policy, Laws: c.Policy(), TierOf: c.TierOf, Clock: boot.Clock, Log: log}
	api := &httpapi.API{Query: &fleet.Query{Store: store, Policy: c.Policy(), Clock: boot.Clock}, Log: log, Placing: desk}
	lambda.Start(gateway.Handler(api.Handler()))
	return nil
}
