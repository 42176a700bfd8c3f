package boot

import (
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/bulkhead-ecs/bulkhead/functions/internal/carry"
	"github.com/bulkhead-ecs/bulkhead/internal/ecsapi"
	"github.com/bulkhead-ecs/bulkhead/internal/fleet"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

// StartIngest runs a function that applies events from a queue to the ledger. The
// task and host functions differ in the queue and rules that feed them, so that a
// flood of one kind cannot hold up the other; the use case is one.
func StartIngest(c Base) error {
	client := &ecsapi.Client{API: ecs.NewFromConfig(c.AWS), Budget: ecsapi.NewBudget(0.25), Clock: Clock}
	in := &fleet.Ingest{Store: c.Store, Definitions: &fleet.DefinitionCache{Store: c.Store, Source: client}, Oracle: client,
		Policy: c.Policy(), Scope: c.Scope(), Tiers: c.Tiers(), Clock: Clock, Log: c.Log, Least: ledger.WeightMajor, Parallel: 8, Wait: Wait}
	if url := os.Getenv("BULKHEAD_FAILURE_QUEUE_URL"); url != "" {
		in.Failures = carry.Failures{API: sqs.NewFromConfig(c.AWS), URL: url}
	}
	lambda.Start(carry.SQS(in.Batch, c.Log))
	return nil
}
