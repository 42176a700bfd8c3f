package ecsapi

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"
	"github.com/aws/smithy-go"

	"github.com/bulkhead-ecs/bulkhead/internal/fleet"
)

// attributesACall is ECS's bound of PutAttributes and DeleteAttributes.
const attributesACall = 10

// ListAttribute implements fleet.Attributes.
func (c *Client) ListAttribute(ctx context.Context, cluster, name string) ([]fleet.Attribute, error) {
	var out []fleet.Attribute
	var next *string
	for {
		page, err := call(ctx, c, c.read(ctx), func() (*ecs.ListAttributesOutput, error) {
			return c.API.ListAttributes(ctx, &ecs.ListAttributesInput{Cluster: &cluster, TargetType: types.TargetTypeContainerInstance, AttributeName: &name, NextToken: next})
		})
		if err != nil {
			return nil, fmt.Errorf("list attribute %s of %s: %w", name, cluster, err)
		}
		for _, a := range page.Attributes {
			out = append(out, fleet.Attribute{Instance: aws.ToString(a.TargetId), Name: aws.ToString(a.Name), Value: aws.ToString(a.Value)})
		}
		if next = page.NextToken; next == nil {
			return out, nil
		}
	}
}

// PutAttributes implements fleet.Attributes. A call that fails does not keep the rest
// from being made: one host that went must not hold up the others.
func (c *Client) PutAttributes(ctx context.Context, cluster string, as []fleet.Attribute) error {
	return c.inTens(as, func(tens []types.Attribute) error {
		_, err := call(ctx, c, c.modify(ctx), func() (*ecs.PutAttributesOutput, error) {
			return c.API.PutAttributes(ctx, &ecs.PutAttributesInput{Cluster: &cluster, Attributes: tens})
		})
		return err
	})
}

// DeleteAttributes implements fleet.Attributes.
func (c *Client) DeleteAttributes(ctx context.Context, cluster string, as []fleet.Attribute) error {
	return c.inTens(as, func(tens []types.Attribute) error {
		for i := range tens {
			tens[i].Value = nil // a deletion names no value
		}
		_, err := call(ctx, c, c.modify(ctx), func() (*ecs.DeleteAttributesOutput, error) {
			return c.API.DeleteAttributes(ctx, &ecs.DeleteAttributesInput{Cluster: &cluster, Attributes: tens})
		})
		return err
	})
}

// inTens makes calls of at most ten attributes. Ten that ECS refuses for a host that it
// does not know any more are made one by one.
func (c *Client) inTens(as []fleet.Attribute, do func([]types.Attribute) error) error {
	var errs []error
	for chunk := range slices.Chunk(as, attributesACall) {
		err := do(attributes(chunk))
		if !targetGone(err) {
			errs = append(errs, err)
			continue
		}
		for _, a := range chunk {
			if err := do(attributes([]fleet.Attribute{a})); !targetGone(err) {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// targetGone reports whether ECS does not know the host of an attribute any more.
func targetGone(err error) bool {
	var api smithy.APIError
	return errors.As(err, &api) && api.ErrorCode() == "TargetNotFoundException"
}

func attributes(as []fleet.Attribute) []types.Attribute {
	var out []types.Attribute
	for _, a := range as {
		out = append(out, types.Attribute{Name: aws.String(a.Name), Value: aws.String(a.Value), TargetId: aws.String(a.Instance), TargetType: types.TargetTypeContainerInstance})
	}
	return out
}

var _ fleet.Attributes = (*Client)(nil)
