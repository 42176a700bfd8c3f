package local

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"golang.org/x/time/rate"

	"github.com/bulkhead-ecs/bulkhead/internal/ecsapi"
	"github.com/bulkhead-ecs/bulkhead/internal/fleet"
)

// ecsFace is the simulated ECS on loopback, with the real client that asks it.
type ecsFace struct {
	server    *http.Server
	transport *http.Transport
	client    *ecsapi.Client
	config    aws.Config // of every other client: all speak to the one address
}

func openECS(ctx context.Context, face http.Handler, clock fleet.Clock) (*ecsFace, error) {
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	e := &ecsFace{server: &http.Server{Handler: face, ReadHeaderTimeout: 5 * time.Second}, transport: &http.Transport{}}
	go func() { _ = e.server.Serve(ln) }() // ends with close
	e.config = aws.Config{Region: worldRegion, BaseEndpoint: aws.String("http://" + ln.Addr().String()), HTTPClient: &http.Client{Transport: e.transport},
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", "")}
	api := ecs.NewFromConfig(e.config)
	// ECS's budget is one of real seconds, and fleet time runs faster.
	free := func() *rate.Limiter { return rate.NewLimiter(rate.Inf, 1) }
	e.client = &ecsapi.Client{API: api, Clock: clock, Budget: &ecsapi.Budget{Read: free(), Modify: free(), Definition: free(), Cluster: free()}}
	return e, nil
}

func (e *ecsFace) close() {
	e.transport.CloseIdleConnections()
	_ = e.server.Close()
}
