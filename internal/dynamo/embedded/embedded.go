// Package embedded opens a DynamoDB store for a process without AWS: the real
// store and the real SDK client over a DynamoDB stand-in inside the process. With
// BULKHEAD_TEST_DYNAMODB_ENDPOINT set, it is the DynamoDB at that address instead.
package embedded

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/truora/minidyn/server"

	"github.com/bulkhead-ecs/bulkhead/internal/dynamo"
)

// EnvEndpoint names a DynamoDB to use instead of the stand-in: an address, or
// "aws" for the one of the AWS configuration.
const EnvEndpoint = "BULKHEAD_TEST_DYNAMODB_ENDPOINT"

// Table is how the name of a table that Open makes begins.
const Table = "bulkhead-embedded"

// Open makes a table and opens it. done releases what was started.
func Open(ctx context.Context, opts ...func(*dynamodb.Options)) (s *dynamo.Store, done func(), err error) {
	cfg, o, err := Config(ctx)
	if err != nil {
		return nil, nil, err
	}
	o.Client = opts
	// A name of its own: a DynamoDB that others use must not see ours in a table of
	// theirs, and the table goes when this is done.
	o.Table += "-" + rand.Text()
	s = dynamo.Open(cfg, o)
	if err := s.CreateTable(ctx); err != nil {
		return nil, nil, err
	}
	return s, func() { _ = s.DeleteTable(context.WithoutCancel(ctx)) }, nil
}

// Config is how a client reaches the stand-in, or the DynamoDB that is named.
func Config(ctx context.Context) (aws.Config, dynamo.Options, error) {
	cfg := aws.Config{Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("local", "local", "")}
	o := dynamo.Options{Table: Table}
	switch address := os.Getenv(EnvEndpoint); address {
	case "":
		o.Endpoint = "http://dynamodb.in-process"
		cfg.HTTPClient = &http.Client{Transport: transport{server.NewServer()}}
	case "aws":
		cfg, err := config.LoadDefaultConfig(ctx)
		return cfg, o, err
	default:
		o.Endpoint = address
	}
	return cfg, o, nil
}

// transport answers requests by a handler in this process, without a socket.
type transport struct{ h http.Handler }

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	t.h.ServeHTTP(w, r)
	resp := w.Result()
	resp.Request = r
	return resp, r.Context().Err()
}
