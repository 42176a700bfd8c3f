package ecsapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"
	"github.com/aws/smithy-go"

	"github.com/bulkhead-ecs/bulkhead/internal/fleet"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

// Revision implements fleet.RevisionSource: what the rules of admission read of a revision, in the API's own words.
func (c *Client) Revision(ctx context.Context, arn string) (json.RawMessage, error) {
	out, err := call(ctx, c, func(b *Budget) error { return wait(ctx, b.Definition) }, func() (*ecs.DescribeTaskDefinitionOutput, error) {
		return c.API.DescribeTaskDefinition(ctx, &ecs.DescribeTaskDefinitionInput{TaskDefinition: &arn,
			Include: []types.TaskDefinitionField{types.TaskDefinitionFieldTags}})
	})
	if err != nil {
		var api smithy.APIError
		if errors.As(err, &api) && api.ErrorCode() == "ClientException" && strings.Contains(api.ErrorMessage(), "Unable to describe task definition") {
			return nil, fmt.Errorf("task definition %s: %w", arn, ledger.ErrNotFound)
		}
		return nil, fmt.Errorf("describe task definition %s: %w", arn, err)
	}
	return json.Marshal(revision(out))
}

type object = map[string]any

func revision(out *ecs.DescribeTaskDefinitionOutput) object {
	d := out.TaskDefinition
	if d == nil {
		d = &types.TaskDefinition{}
	}
	containers := []object{}
	for _, c := range d.ContainerDefinitions {
		containers = append(containers, containerOf(c))
	}
	def := object{"taskDefinitionArn": aws.ToString(d.TaskDefinitionArn), "containerDefinitions": containers, "requiresCompatibilities": d.RequiresCompatibilities}
	if p := d.RuntimePlatform; p != nil {
		def["runtimePlatform"] = object{"operatingSystemFamily": p.OperatingSystemFamily}
	}
	constraints := []object{}
	for _, p := range d.PlacementConstraints {
		constraints = append(constraints, object{"type": p.Type, "expression": aws.ToString(p.Expression)})
	}
	def["placementConstraints"] = constraints
	tags := []object{}
	for _, t := range out.Tags {
		tags = append(tags, object{"key": aws.ToString(t.Key), "value": aws.ToString(t.Value)})
	}
	return object{"taskDefinition": def, "tags": tags}
}

func containerOf(c types.ContainerDefinition) object {
	o := object{"name": aws.ToString(c.Name), "image": aws.ToString(c.Image), "entryPoint": c.EntryPoint, "command": c.Command,
		"environment": pairs(c.Environment), "dockerLabels": c.DockerLabels}
	var secrets, files, needs []object
	for _, s := range c.Secrets {
		secrets = append(secrets, object{"name": aws.ToString(s.Name)})
	}
	for _, f := range c.EnvironmentFiles {
		files = append(files, object{"value": aws.ToString(f.Value), "type": f.Type})
	}
	for _, r := range c.ResourceRequirements {
		needs = append(needs, needOf(r))
	}
	o["secrets"], o["environmentFiles"], o["resourceRequirements"] = secrets, files, needs
	if c.Essential != nil {
		o["essential"] = *c.Essential
	}
	if c.StopTimeout != nil {
		o["stopTimeout"] = *c.StopTimeout
	}
	if c.HealthCheck != nil {
		o["healthCheck"] = object{"command": c.HealthCheck.Command}
	}
	return o
}

func pairs(kv []types.KeyValuePair) []object {
	var out []object
	for _, e := range kv {
		out = append(out, object{"name": aws.ToString(e.Name), "value": aws.ToString(e.Value)})
	}
	return out
}

func needOf(r types.ResourceRequirement) object {
	o := object{"type": r.Type}
	if r.Value != nil {
		o["value"] = *r.Value
	}
	switch s := r.SharingStrategy.(type) {
	case nil:
	case *types.SharingStrategyMemberNvidiaMps:
		mps := object{}
		if s.Value.Memory != nil {
			mps["memory"] = *s.Value.Memory
		}
		if s.Value.MaxComputePercent != nil {
			mps["maxComputePercent"] = *s.Value.MaxComputePercent
		}
		o["sharingStrategy"] = object{"nvidiaMps": mps}
	default:
		o["sharingStrategy"] = object{}
	}
	return o
}

var _ fleet.RevisionSource = (*Client)(nil)
