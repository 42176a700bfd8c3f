package awsops

import (
	"bytes"
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/bulkhead-ecs/bulkhead/internal/remediate"
	"github.com/bulkhead-ecs/bulkhead/internal/remedy"
)

type s3object = s3types.Object

// Take takes one step. It returns within callTimeout.
func (o *Ops) Take(ctx context.Context, cluster string, s remedy.Step) remediate.Outcome {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	switch s.Kind {
	case remedy.StepDrain:
		return o.setState(ctx, cluster, s.Host, types.ContainerInstanceStatusDraining)
	case remedy.StepUndrain:
		return o.setState(ctx, cluster, s.Host, types.ContainerInstanceStatusActive)
	case remedy.StepMark, remedy.StepUnmark:
		return o.mark(ctx, cluster, s)
	case remedy.StepStopTask:
		return o.stopTask(ctx, cluster, s)
	case remedy.StepRestartMPS, remedy.StepTerminateClients, remedy.StepEvidence:
		return o.command(ctx, s)
	case remedy.StepReboot:
		_, err := o.EC2.RebootInstances(ctx, &ec2.RebootInstancesInput{InstanceIds: []string{s.Instance}})
		return outcome("reboot "+s.Instance, err)
	case remedy.StepTerminate:
		_, err := o.EC2.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: []string{s.Instance}})
		return outcome("terminate "+s.Instance, err)
	}
	return o.inGroup(ctx, s)
}

// inGroup takes the steps that are Auto Scaling's. Desired capacity is never touched.
func (o *Ops) inGroup(ctx context.Context, s remedy.Step) remediate.Outcome {
	keep := aws.Bool(false)
	switch s.Kind {
	case remedy.StepDetach:
		_, err := o.Groups.DetachInstances(ctx, &autoscaling.DetachInstancesInput{AutoScalingGroupName: &s.Group, InstanceIds: []string{s.Instance}, ShouldDecrementDesiredCapacity: keep})
		return outcome("detach "+s.Instance, err)
	case remedy.StepTerminateInGroup:
		_, err := o.Groups.TerminateInstanceInAutoScalingGroup(ctx, &autoscaling.TerminateInstanceInAutoScalingGroupInput{InstanceId: &s.Instance, ShouldDecrementDesiredCapacity: keep})
		return outcome("terminate "+s.Instance+" in its group", err)
	case remedy.StepHeartbeat:
		_, err := o.Groups.RecordLifecycleActionHeartbeat(ctx, &autoscaling.RecordLifecycleActionHeartbeatInput{AutoScalingGroupName: &s.Group, LifecycleHookName: &o.Hook, InstanceId: &s.Instance})
		return outcome("heartbeat for "+s.Instance, err)
	case remedy.StepCompleteHook:
		_, err := o.Groups.CompleteLifecycleAction(ctx, &autoscaling.CompleteLifecycleActionInput{AutoScalingGroupName: &s.Group, LifecycleHookName: &o.Hook,
			InstanceId: &s.Instance, LifecycleActionResult: aws.String("CONTINUE")})
		return outcome("complete the hook of "+s.Instance, err)
	}
	return remediate.Outcome{Result: remedy.Refused, Detail: fmt.Sprintf("step %s is not known here", s.Kind)}
}

func (o *Ops) setState(ctx context.Context, cluster, host string, to types.ContainerInstanceStatus) remediate.Outcome {
	if err := o.spend(ctx); err != nil {
		return remediate.Outcome{Result: remedy.Transient, Detail: err.Error()}
	}
	what := fmt.Sprintf("set %s %s", host, to)
	out, err := o.ECS.UpdateContainerInstancesState(ctx, &ecs.UpdateContainerInstancesStateInput{Cluster: &cluster, ContainerInstances: []string{host}, Status: to})
	if err != nil {
		return outcome(what, err)
	}
	if len(out.Failures) == 0 {
		return remediate.Outcome{Result: remedy.Done}
	}
	f := out.Failures[0]
	r := remedy.Refused
	if aws.ToString(f.Reason) == "MISSING" {
		r = remedy.NotFound
	}
	return remediate.Outcome{Result: r, Detail: what + ": " + aws.ToString(f.Reason) + " " + aws.ToString(f.Detail)}
}

// mark puts our two attributes on the container instance, or takes them off.
func (o *Ops) mark(ctx context.Context, cluster string, s remedy.Step) remediate.Outcome {
	if err := o.spend(ctx); err != nil {
		return remediate.Outcome{Result: remedy.Transient, Detail: err.Error()}
	}
	attribute := func(name, value string) types.Attribute {
		a := types.Attribute{Name: &name, TargetType: types.TargetTypeContainerInstance, TargetId: &s.Host}
		if value != "" {
			a.Value = &value
		}
		return a
	}
	if s.Kind == remedy.StepUnmark {
		_, err := o.ECS.DeleteAttributes(ctx, &ecs.DeleteAttributesInput{Cluster: &cluster, Attributes: []types.Attribute{attribute(attrCordon, ""), attribute(attrAdmit, "")}})
		return outcome("take the marks off "+s.Host, err)
	}
	_, err := o.ECS.PutAttributes(ctx, &ecs.PutAttributesInput{Cluster: &cluster, Attributes: []types.Attribute{attribute(attrCordon, s.Case), attribute(attrAdmit, "false")}})
	return outcome("mark "+s.Host, err)
}

func (o *Ops) stopTask(ctx context.Context, cluster string, s remedy.Step) remediate.Outcome {
	if err := o.spend(ctx); err != nil {
		return remediate.Outcome{Result: remedy.Transient, Detail: err.Error()}
	}
	reason := "Bulkhead case " + s.Case + ": " + s.Reason
	_, err := o.ECS.StopTask(ctx, &ecs.StopTaskInput{Cluster: &cluster, Task: &s.Target, Reason: aws.String(reason[:min(len(reason), 255)])})
	return outcome("stop "+s.Target, err)
}

// Keep puts a part of the evidence into the bucket.
func (o *Ops) Keep(ctx context.Context, key string, body []byte) error {
	if o.S3 == nil || o.Bucket == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err := o.S3.PutObject(ctx, &s3.PutObjectInput{Bucket: &o.Bucket, Key: &key, Body: bytes.NewReader(body), ContentType: aws.String("application/json")})
	if err != nil {
		return fmt.Errorf("put %s: %w", key, err)
	}
	return nil
}
