package awsops

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"github.com/bulkhead-ecs/bulkhead/internal/remediate"
	"github.com/bulkhead-ecs/bulkhead/internal/remedy"
)

// deliverWithin is how long Run Command tries to reach the instance: less than the
// case waits before it asks again, so that one that never came is not a second one.
const deliverWithin = 60

// searchBack bounds the search for a command by its comment: cases end sooner.
const searchBack = 24 * time.Hour

// command sends the step's document once. One that was sent before is found by its
// comment; only when that one never reached the instance it is sent again.
func (o *Ops) command(ctx context.Context, s remedy.Step) remediate.Outcome {
	cmd, ok := remedy.CommandOf(s, o.Bucket, prefix(s))
	if !ok {
		return remediate.Outcome{Result: remedy.Refused, Detail: fmt.Sprintf("step %s has no command", s.Kind)}
	}
	if s.Kind == remedy.StepEvidence && o.Bucket == "" {
		return remediate.Outcome{Result: remedy.Refused, Detail: "no evidence bucket is configured"}
	}
	found, err := o.find(ctx, s.Instance, cmd.Comment)
	if err != nil {
		return remediate.Outcome{Result: remedy.Transient, Detail: err.Error()}
	}
	if found != nil && !undelivered(*found) {
		return o.invocation(ctx, *found)
	}
	in := &ssm.SendCommandInput{DocumentName: &cmd.Document, InstanceIds: []string{s.Instance}, Comment: &cmd.Comment, TimeoutSeconds: aws.Int32(deliverWithin),
		Parameters: map[string][]string{}}
	for k, v := range cmd.Parameters {
		in.Parameters[k] = []string{v}
	}
	_, err = o.SSM.SendCommand(ctx, in, func(x *ssm.Options) { x.RetryMaxAttempts = 1 })
	if err != nil {
		return outcome("send "+cmd.Document, err)
	}
	return remediate.Outcome{Detail: "sent " + cmd.Document}
}

// Result asks what came of a command; Pending while it runs, or was not sent.
func (o *Ops) Result(ctx context.Context, s remedy.Step) remediate.Outcome {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	found, err := o.find(ctx, s.Instance, s.Comment())
	if err != nil || found == nil {
		return remediate.Outcome{} // not known yet: asked again by the case
	}
	return o.invocation(ctx, *found)
}

// find looks for the newest invocation with the comment on the instance.
func (o *Ops) find(ctx context.Context, instance, comment string) (*types.CommandInvocation, error) {
	after := o.Clock().Add(-searchBack).UTC().Format("2006-01-02T15:04:05Z")
	pages := ssm.NewListCommandInvocationsPaginator(o.SSM, &ssm.ListCommandInvocationsInput{InstanceId: &instance,
		Filters: []types.CommandFilter{{Key: types.CommandFilterKeyInvokedAfter, Value: &after}}})
	var newest *types.CommandInvocation
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("list the commands of %s: %w", instance, err)
		}
		for _, i := range page.CommandInvocations {
			later := newest == nil || aws.ToTime(i.RequestedDateTime).After(aws.ToTime(newest.RequestedDateTime))
			if aws.ToString(i.Comment) == comment && later {
				newest = &i
			}
		}
	}
	return newest, nil
}

// undelivered reports whether the command never reached the instance, so that it is
// safe and useful to send it again. Source: "Understanding command statuses".
func undelivered(i types.CommandInvocation) bool {
	return slices.Contains([]string{"DeliveryTimedOut", "Delivery Timed Out", "Undeliverable", "Terminated", "InvalidPlatform"}, aws.ToString(i.StatusDetails))
}

// invocation turns the status of an invocation into an outcome.
func (o *Ops) invocation(ctx context.Context, i types.CommandInvocation) remediate.Outcome {
	document, details := aws.ToString(i.DocumentName), aws.ToString(i.StatusDetails)
	switch i.Status {
	case types.CommandInvocationStatusSuccess:
		return remediate.Outcome{Result: remedy.Done, Detail: "command " + aws.ToString(i.CommandId)}
	case types.CommandInvocationStatusPending, types.CommandInvocationStatusInProgress, types.CommandInvocationStatusDelayed, types.CommandInvocationStatusCancelling:
		return remediate.Outcome{Detail: document + " runs"}
	}
	if undelivered(i) {
		return remediate.Outcome{Result: remedy.Transient, Detail: fmt.Sprintf("%s did not reach the instance: %s", document, details)}
	}
	return remediate.Outcome{Result: remedy.Refused, Detail: fmt.Sprintf("%s %s: %s", document, details, o.stderr(ctx, i))}
}

// stderr is the last line that the document wrote, where it can be had.
func (o *Ops) stderr(ctx context.Context, i types.CommandInvocation) string {
	out, err := o.SSM.GetCommandInvocation(ctx, &ssm.GetCommandInvocationInput{CommandId: i.CommandId, InstanceId: i.InstanceId})
	if err != nil {
		return "its output could not be read"
	}
	lines := strings.Split(strings.TrimSpace(aws.ToString(out.StandardErrorContent)), "\n")
	return fmt.Sprintf("exit %d: %s", out.ResponseCode, lines[len(lines)-1])
}

// prefix is where the case looks for its bundle. The cluster's name is the second
// part of a container instance's ARN.
func prefix(s remedy.Step) string {
	cluster := ""
	if parts := strings.Split(s.Host, "/"); len(parts) == 3 {
		cluster = parts[1]
	}
	return remediate.EvidencePrefix(cluster, s.Case)
}
