package ecsapi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"
	"github.com/aws/smithy-go"

	"github.com/bulkhead-ecs/bulkhead/internal/placing"
)

func (c *Client) modify(ctx context.Context) func(*Budget) error {
	return func(b *Budget) error { return wait(ctx, b.Modify) }
}

// once turns the SDK's own retries off: StartTask has no idempotency token, and a
// retry after a lost answer would start a second task.
func once(o *ecs.Options) { o.Retryer = aws.NopRetryer{} }

// StartTask implements placing.Tasks. It tries again only when ECS throttled, which
// says that nothing was started.
func (c *Client) StartTask(ctx context.Context, a placing.Ask) (string, error) {
	in := &ecs.StartTaskInput{Cluster: &a.Cluster, ContainerInstances: []string{a.Instance}, TaskDefinition: &a.Definition,
		StartedBy: &a.StartedBy, Overrides: overrides(a.Overrides)}
	if a.Group != "" {
		in.Group = &a.Group
	}
	out, err := call(ctx, c, c.modify(ctx), func() (*ecs.StartTaskOutput, error) { return c.API.StartTask(ctx, in, once) })
	if err != nil {
		return "", notStarted(err, a)
	}
	if len(out.Failures) > 0 {
		f := out.Failures[0]
		return "", &placing.NotStarted{Code: aws.ToString(f.Reason), Text: aws.ToString(f.Detail), Host: true}
	}
	if len(out.Tasks) == 0 {
		return "", fmt.Errorf("start task on %s: the answer has neither a task nor a failure", a.Instance)
	}
	return aws.ToString(out.Tasks[0].TaskArn), nil
}

// refusals are errors of StartTask that say that nothing was started. A server's
// fault says nothing of the kind.
var refusals = []string{"ClientException", "InvalidParameterException", "ClusterNotFoundException", "UnsupportedFeatureException", "BlockedException",
	"AccessDeniedException", "AccessDenied", "UnrecognizedClientException", "ExpiredTokenException", "PlatformUnknownException"}

func notStarted(err error, a placing.Ask) error {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return fmt.Errorf("start task on %s: %w", a.Instance, err)
	}
	n := &placing.NotStarted{Code: api.ErrorCode(), Text: api.ErrorMessage()}
	switch {
	case throttled(err):
		n.Later = true
	case !slices.Contains(refusals, n.Code):
		return fmt.Errorf("start task on %s: %w", a.Instance, err)
	case strings.Contains(strings.ToLower(n.Text), "container instance"):
		n.Host = true
	}
	return n
}

func overrides(o placing.Overrides) *types.TaskOverride {
	if len(o.Containers) == 0 {
		return nil
	}
	out := &types.TaskOverride{}
	for _, k := range o.Containers {
		t := types.ContainerOverride{Name: aws.String(k.Name), Command: k.Command}
		for _, v := range k.Environment {
			t.Environment = append(t.Environment, types.KeyValuePair{Name: aws.String(v.Name), Value: aws.String(v.Value)})
		}
		out.ContainerOverrides = append(out.ContainerOverrides, t)
	}
	return out
}

// StartedBy implements placing.Tasks. ECS takes startedBy only as the one filter, so
// tasks whose desired status is STOPPED are not among the answers.
func (c *Client) StartedBy(ctx context.Context, cluster, id string) ([]string, error) {
	var out []string
	var next *string
	for {
		page, err := call(ctx, c, c.read(ctx), func() (*ecs.ListTasksOutput, error) {
			return c.API.ListTasks(ctx, &ecs.ListTasksInput{Cluster: &cluster, StartedBy: &id, NextToken: next})
		})
		if err != nil {
			return nil, fmt.Errorf("list tasks started by %s: %w", id, err)
		}
		out = append(out, page.TaskArns...)
		if next = page.NextToken; next == nil {
			slices.Sort(out)
			return out, nil
		}
	}
}

// StopTask asks ECS to stop a task. Stopping one twice is no error of ECS's.
func (c *Client) StopTask(ctx context.Context, cluster, task, reason string) error {
	_, err := call(ctx, c, c.modify(ctx), func() (*ecs.StopTaskOutput, error) {
		return c.API.StopTask(ctx, &ecs.StopTaskInput{Cluster: &cluster, Task: &task, Reason: &reason})
	})
	if err != nil {
		return fmt.Errorf("stop task %s: %w", task, err)
	}
	return nil
}

var _ placing.Tasks = (*Client)(nil)
