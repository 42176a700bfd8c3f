// Command report takes what hosts say of themselves, behind API Gateway with IAM:
// an instance may speak for itself alone.
package main

import (
	"context"
	"os"
	"strings"
	"sync"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/bulkhead-ecs/bulkhead/functions/internal/boot"
	"github.com/bulkhead-ecs/bulkhead/functions/internal/carry"
	"github.com/bulkhead-ecs/bulkhead/internal/fleet"
	"github.com/bulkhead-ecs/bulkhead/internal/health"
	"github.com/bulkhead-ecs/bulkhead/internal/vitals"
)

func main() { boot.Run(start) }

func start(c boot.Base) error {
	store, log := c.Store, c.Log
	call := carry.Nudge{API: sqs.NewFromConfig(c.AWS), URL: os.Getenv("BULKHEAD_REMEDY_QUEUE_URL"), Log: log}
	records := fleet.Nudging{Store: store, Nudge: func(ctx context.Context, r vitals.Record) { call.Send(ctx, "the verdict on "+r.EC2) }}
	r := &fleet.Reports{Records: records, Usage: store, Store: store, Accounts: c.Accounts, Roles: roles(os.Getenv("BULKHEAD_INSTANCE_ROLES")), Clock: boot.Clock, Log: log}
	// The tables take milliseconds to read, which a cold start does not have to pay
	// before it is ready. Lambda gives one request at a time, so this is no race.
	policy := sync.OnceValues(health.Default)
	serve := handler(r)
	lambda.Start(func(ctx context.Context, in request) (response, error) {
		var err error
		if r.Policy, err = policy(); err != nil {
			return response{}, err
		}
		return serve(ctx, in)
	})
	return nil
}

func roles(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}
