package ecsapi

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/bulkhead-ecs/bulkhead/internal/placing"
)

// Bounds of ECS's own.
const (
	protectionsACall = 100
	servicesACall    = 10
	// minimumUnset is ECS's minimumHealthyPercent of a service that sets none.
	minimumUnset = 100
)

// Protected implements placing.Guard. Only tasks of services can protect themselves; ECS
// leaves the others out.
func (c *Client) Protected(ctx context.Context, cluster string, tasks []string) (map[string]bool, error) {
	out := map[string]bool{}
	for chunk := range slices.Chunk(tasks, protectionsACall) {
		got, err := call(ctx, c, c.read(ctx), func() (*ecs.GetTaskProtectionOutput, error) {
			return c.API.GetTaskProtection(ctx, &ecs.GetTaskProtectionInput{Cluster: &cluster, Tasks: chunk})
		})
		if err != nil {
			return nil, fmt.Errorf("protection of %d tasks: %w", len(chunk), err)
		}
		for _, p := range got.ProtectedTasks {
			out[aws.ToString(p.TaskArn)] = p.ProtectionEnabled
		}
	}
	return out, nil
}

// Services implements placing.Guard.
func (c *Client) Services(ctx context.Context, cluster string, groups []string) (map[string]placing.Service, error) {
	var names []string
	for _, g := range groups {
		if name, ok := strings.CutPrefix(g, "service:"); ok {
			names = append(names, name)
		}
	}
	out := map[string]placing.Service{}
	for chunk := range slices.Chunk(names, servicesACall) {
		got, err := call(ctx, c, c.read(ctx), func() (*ecs.DescribeServicesOutput, error) {
			return c.API.DescribeServices(ctx, &ecs.DescribeServicesInput{Cluster: &cluster, Services: chunk})
		})
		if err != nil {
			return nil, fmt.Errorf("describe %d services: %w", len(chunk), err)
		}
		for _, s := range got.Services {
			x := placing.Service{Running: int(s.RunningCount), Desired: int(s.DesiredCount), MinimumPercent: minimumUnset}
			if d := s.DeploymentConfiguration; d != nil && d.MinimumHealthyPercent != nil {
				x.MinimumPercent = int(*d.MinimumHealthyPercent)
			}
			out["service:"+aws.ToString(s.ServiceName)] = x
		}
	}
	return out, nil
}

var _ placing.Guard = (*Client)(nil)
