// Command query answers the HTTP API behind API Gateway.
package main

import (
	"os"
	"sync"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/bulkhead-ecs/bulkhead/functions/internal/boot"
	"github.com/bulkhead-ecs/bulkhead/functions/internal/gateway"
	"github.com/bulkhead-ecs/bulkhead/internal/fleet"
	"github.com/bulkhead-ecs/bulkhead/internal/health"
	"github.com/bulkhead-ecs/bulkhead/internal/httpapi"
	"github.com/bulkhead-ecs/bulkhead/internal/placing"
)

func main() { boot.Run(start) }

func start(c boot.Base) error {
	store := c.Store
	api := &httpapi.API{Query: &fleet.Query{Store: store, Vitals: store, Usage: store, Verdicts: sync.OnceValues(health.Default), Policy: c.Policy(), Clock: boot.Clock}, Log: c.Log,
		Cases: store, Mode: os.Getenv("BULKHEAD_REMEDY_MODE"), Placing: &placing.Desk{Ledger: store, Store: store, Clock: boot.Clock}}
	lambda.Start(gateway.Handler(api.Handler()))
	return nil
}
