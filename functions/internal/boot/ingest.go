package boot

import (
	"context"
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
func StartIngest(ctx context.Context) error {
	c, err := Load()
	if err != nil {
		return err
	}
	cfg, err := AWS(ctx)
	if err != nil {
		return err
	}
	log, store := c.Logger(), c.Store(cfg)
	client := &ecsapi.Client{API: ecs.NewFromConfig(cfg), Budget: ecsapi.NewBudget(0.25), Clock: Clock}
	in := &fleet.Ingest{Store: store, Definitions: &fleet.DefinitionCache{Store: store, Source: client}, Oracle: client,
		Policy: c.Policy(), Scope: c.Scope(), Tiers: c.Tiers(), Clock: Clock, Log: log, Least: ledger.WeightMajor, Parallel: 8, Wait: Wait}
	if url := os.Getenv("BULKHEAD_FAILURE_QUEUE_URL"); url != "" {
		in.Failures = carry.Failures{API: sqs.NewFromConfig(cfg), URL: url}
	}
	lambda.Start(carry.SQS(in.Batch, log))
	return nil
}

// Fail prints why a function cannot start, and ends it.
func Fail(err error) {
	_, _ = os.Stderr.WriteString("bulkhead cannot start: " + err.Error() + "\n")
	os.Exit(1)
}
