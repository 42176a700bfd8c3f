// Command admission lints task definitions as they are registered: CloudTrail tells of the call, the findings go
// to the ledger's table and onto the bus.
package main

import (
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/bulkhead-ecs/bulkhead/functions/internal/boot"
	"github.com/bulkhead-ecs/bulkhead/functions/internal/carry"
	"github.com/bulkhead-ecs/bulkhead/internal/admission"
	"github.com/bulkhead-ecs/bulkhead/internal/bus"
	"github.com/bulkhead-ecs/bulkhead/internal/ecsapi"
	"github.com/bulkhead-ecs/bulkhead/internal/fleet"
)

func main() { boot.Run(start) }

func start(c boot.Base) error {
	log := c.Log
	s := &fleet.Revisions{Records: c.Store, Source: &ecsapi.Client{API: ecs.NewFromConfig(c.AWS), Budget: ecsapi.NewBudget(0.25), Clock: boot.Clock},
		Policy: admission.DefaultPolicy(), Scope: c.Scope(), Clock: boot.Clock, Log: log}
	if name := os.Getenv("BULKHEAD_EVENT_BUS"); name != "" {
		s.Bus = &bus.Bus{API: eventbridge.NewFromConfig(c.AWS), Name: name}
	}
	if url := os.Getenv("BULKHEAD_FAILURE_QUEUE_URL"); url != "" {
		s.Failures = carry.Failures{API: sqs.NewFromConfig(c.AWS), URL: url}
	}
	lambda.Start(carry.SQS(s.Batch, log))
	return nil
}
