// Command place starts the tasks of placement requests: one writer a cluster, in
// batches.
package main

import (
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/bulkhead-ecs/bulkhead/functions/internal/boot"
	"github.com/bulkhead-ecs/bulkhead/functions/internal/carry"
	"github.com/bulkhead-ecs/bulkhead/internal/ecsapi"
	"github.com/bulkhead-ecs/bulkhead/internal/fleet"
	"github.com/bulkhead-ecs/bulkhead/internal/placing"
)

// modifyShare is this function's part of ECS's modify budget, of two that run at once:
// the rest is left to the sweep's attributes, to remedies, and to ECS's own users.
const modifyShare = 0.3

func main() { boot.Run(start) }

func start(c boot.Base) error {
	policy, err := c.Placement()
	if err != nil {
		return err
	}
	store, log := c.Store, c.Log
	client := &ecsapi.Client{API: ecs.NewFromConfig(c.AWS), Budget: ecsapi.NewBudget(modifyShare), Clock: boot.Clock}
	placer := &placing.Placer{Ledger: store, Store: store, Definitions: &fleet.DefinitionCache{Store: store, Source: client}, Tasks: client,
		Policy: policy, Laws: c.Policy(), Clock: boot.Clock, Log: log, Wait: boot.Wait}
	queue := carry.Placements{API: sqs.NewFromConfig(c.AWS), URL: os.Getenv("BULKHEAD_PLACE_QUEUE_URL")}
	lambda.Start(queue.Place(placer, log))
	return nil
}
