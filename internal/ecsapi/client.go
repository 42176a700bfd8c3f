package ecsapi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"
	"github.com/aws/smithy-go"

	"github.com/bulkhead-ecs/bulkhead/internal/fleet"
	"github.com/bulkhead-ecs/bulkhead/internal/ingest"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

// Client asks one account and Region's ECS.
type Client struct {
	API    *ecs.Client
	Budget *Budget
	Clock  fleet.Clock
	// Pause waits between tries of a throttled call; nil waits in real time.
	Pause func(ctx context.Context, d time.Duration) error
}

// Throttle tries: ECS refuses over budget, and others in the account spend too.
const (
	throttleTries = 6
	throttlePause = 500 * time.Millisecond
)

// call takes a token, makes the call, and tries again while ECS throttles.
func call[T any](ctx context.Context, c *Client, take func(*Budget) error, do func() (T, error)) (T, error) {
	for try := 0; ; try++ {
		var zero T
		if err := take(c.Budget); err != nil {
			return zero, err
		}
		out, err := do()
		if err == nil || !throttled(err) || try+1 >= throttleTries {
			return out, err
		}
		pause := c.Pause
		if pause == nil {
			pause = sleep
		}
		if err := pause(ctx, throttlePause<<min(try, 4)); err != nil {
			return zero, err
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

func (c *Client) read(ctx context.Context) func(*Budget) error {
	return func(b *Budget) error { return wait(ctx, b.Read) }
}

func throttled(err error) bool {
	var api smithy.APIError
	return errors.As(err, &api) && slices.Contains([]string{"ThrottlingException", "Throttling", "RequestLimitExceeded", "TooManyRequestsException"}, api.ErrorCode())
}

// Clusters lists the account's cluster ARNs.
func (c *Client) Clusters(ctx context.Context) ([]string, error) {
	var out []string
	var next *string
	for {
		page, err := call(ctx, c, func(b *Budget) error { return wait(ctx, b.Cluster) }, func() (*ecs.ListClustersOutput, error) {
			return c.API.ListClusters(ctx, &ecs.ListClustersInput{NextToken: next})
		})
		if err != nil {
			return nil, fmt.Errorf("list clusters: %w", err)
		}
		out = append(out, page.ClusterArns...)
		if next = page.NextToken; next == nil {
			return out, nil
		}
	}
}

// ListHosts lists one page of a cluster's container instances, draining ones too.
func (c *Client) ListHosts(ctx context.Context, cluster, next string) ([]string, string, error) {
	out, err := call(ctx, c, c.read(ctx), func() (*ecs.ListContainerInstancesOutput, error) {
		return c.API.ListContainerInstances(ctx, &ecs.ListContainerInstancesInput{Cluster: &cluster, NextToken: token(next)})
	})
	if err != nil {
		return nil, "", fmt.Errorf("list container instances of %s: %w", cluster, err)
	}
	return out.ContainerInstanceArns, aws.ToString(out.NextToken), nil
}

// DescribeHosts describes up to 100 container instances with health and GPUs.
func (c *Client) DescribeHosts(ctx context.Context, cluster string, arns []string) ([]fleet.SeenHost, []string, error) {
	out, err := call(ctx, c, c.read(ctx), func() (*ecs.DescribeContainerInstancesOutput, error) {
		return c.API.DescribeContainerInstances(ctx, &ecs.DescribeContainerInstancesInput{Cluster: &cluster, ContainerInstances: arns,
			Include: []types.ContainerInstanceField{types.ContainerInstanceFieldContainerInstanceHealth}})
	})
	if err != nil {
		return nil, nil, fmt.Errorf("describe %d container instances of %s: %w", len(arns), cluster, err)
	}
	var found []fleet.SeenHost
	for _, ci := range out.ContainerInstances {
		id, seen, health, err := ingest.HostOf(hostShape(ci), cluster, c.Clock())
		if err != nil {
			return nil, nil, fmt.Errorf("container instance %s: %w", aws.ToString(ci.ContainerInstanceArn), err)
		}
		found = append(found, fleet.SeenHost{ID: id, Seen: seen, Health: health})
	}
	return found, missing(out.Failures), nil
}

// ListTasks lists one page of a cluster's tasks by desired status.
func (c *Client) ListTasks(ctx context.Context, cluster, desired, next string) ([]string, string, error) {
	out, err := call(ctx, c, c.read(ctx), func() (*ecs.ListTasksOutput, error) {
		return c.API.ListTasks(ctx, &ecs.ListTasksInput{Cluster: &cluster, DesiredStatus: types.DesiredStatus(desired), NextToken: token(next)})
	})
	if err != nil {
		return nil, "", fmt.Errorf("list %s tasks of %s: %w", desired, cluster, err)
	}
	return out.TaskArns, aws.ToString(out.NextToken), nil
}

// Tasks describes up to 100 tasks. Tasks that run on no container instance
// (Fargate) come back without a host.
func (c *Client) Tasks(ctx context.Context, cluster string, arns []string) ([]fleet.SeenTask, []string, error) {
	out, err := call(ctx, c, c.read(ctx), func() (*ecs.DescribeTasksOutput, error) {
		return c.API.DescribeTasks(ctx, &ecs.DescribeTasksInput{Cluster: &cluster, Tasks: arns})
	})
	if err != nil {
		return nil, nil, fmt.Errorf("describe %d tasks of %s: %w", len(arns), cluster, err)
	}
	var found []fleet.SeenTask
	for _, t := range out.Tasks {
		id, task, cs, err := ingest.TaskOf(taskShape(t), c.Clock())
		if err != nil {
			return nil, nil, fmt.Errorf("task %s: %w", aws.ToString(t.TaskArn), err)
		}
		x := fleet.SeenTask{Host: id, Task: task}
		for _, k := range cs {
			x.Containers = append(x.Containers, fleet.SeenContainer{Name: k.Name, GPUs: k.IDs})
		}
		found = append(found, x)
	}
	return found, missing(out.Failures), nil
}

// Definition describes a task definition with its tags. One that ECS does not
// know is ledger.ErrNotFound.
func (c *Client) Definition(ctx context.Context, arn string) (ledger.Definition, error) {
	out, err := call(ctx, c, func(b *Budget) error { return wait(ctx, b.Definition) }, func() (*ecs.DescribeTaskDefinitionOutput, error) {
		return c.API.DescribeTaskDefinition(ctx, &ecs.DescribeTaskDefinitionInput{TaskDefinition: &arn,
			Include: []types.TaskDefinitionField{types.TaskDefinitionFieldTags}})
	})
	if err != nil {
		var api smithy.APIError
		if errors.As(err, &api) && api.ErrorCode() == "ClientException" && strings.Contains(api.ErrorMessage(), "Unable to describe task definition") {
			return ledger.Definition{}, fmt.Errorf("task definition %s: %w", arn, ledger.ErrNotFound)
		}
		return ledger.Definition{}, fmt.Errorf("describe task definition %s: %w", arn, err)
	}
	return ingest.DefinitionOf(definitionShape(out)), nil
}

func token(next string) *string {
	if next == "" {
		return nil
	}
	return &next
}

// missing are the ARNs that ECS does not know.
func missing(fs []types.Failure) []string {
	var out []string
	for _, f := range fs {
		if aws.ToString(f.Reason) == "MISSING" {
			out = append(out, aws.ToString(f.Arn))
		}
	}
	return out
}

var (
	_ fleet.ECS         = (*Client)(nil)
	_ fleet.Definitions = (*Client)(nil)
)
