package awsops

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/bulkhead-ecs/bulkhead/internal/remediate"
	"github.com/bulkhead-ecs/bulkhead/internal/remedy"
)

// groupTag is what Auto Scaling puts on its instances; it goes with a detach.
const groupTag = "aws:autoscaling:groupName"

// Attributes of a container instance that are ours.
const (
	attrCordon = "bulkhead.cordon"
	attrAdmit  = "bulkhead.admit"
)

// Look reads a host from ECS, EC2, Auto Scaling and the bucket.
func (o *Ops) Look(ctx context.Context, s remediate.Subject) (remediate.Seen, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*callTimeout)
	defer cancel()
	var out remediate.Seen
	if err := o.registration(ctx, s, &out.Host); err != nil {
		return out, err
	}
	tag, err := o.instance(ctx, s, &out.Host)
	if err != nil {
		return out, err
	}
	if err := o.membership(ctx, s, tag, &out); err != nil {
		return out, err
	}
	if out.Host.Registered && !out.Host.Gone {
		if out.Host.Tasks, err = o.tasks(ctx, s.Cluster, s.Host); err != nil {
			return out, err
		}
	}
	out.Host.Evidence, err = o.evidence(ctx, s.Evidence)
	return out, err
}

// registration is what ECS says of the container instance.
func (o *Ops) registration(ctx context.Context, s remediate.Subject, v *remedy.HostView) error {
	out, err := o.ECS.DescribeContainerInstances(ctx, &ecs.DescribeContainerInstancesInput{Cluster: &s.Cluster, ContainerInstances: []string{s.Host}})
	if err != nil {
		return fmt.Errorf("describe container instance %s: %w", s.Host, err)
	}
	for _, f := range out.Failures {
		if aws.ToString(f.Reason) != "MISSING" {
			return fmt.Errorf("describe container instance %s: %s", s.Host, aws.ToString(f.Reason))
		}
	}
	for _, ci := range out.ContainerInstances {
		v.Status = aws.ToString(ci.Status)
		v.Registered = v.Status != remedy.StatusInactive
		for _, a := range ci.Attributes {
			if aws.ToString(a.Name) == attrCordon {
				v.CordonMark = aws.ToString(a.Value)
			}
		}
	}
	return nil
}

// instance is what EC2 says of it. It returns the group that its tag names.
func (o *Ops) instance(ctx context.Context, s remediate.Subject, v *remedy.HostView) (string, error) {
	out, err := o.EC2.DescribeInstances(ctx, &ec2.DescribeInstancesInput{InstanceIds: []string{s.Instance}})
	if code(err) == "InvalidInstanceID.NotFound" {
		v.Gone = true
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("describe instance %s: %w", s.Instance, err)
	}
	group := ""
	v.Gone = true
	for _, r := range out.Reservations {
		for _, i := range r.Instances {
			v.Gone = i.State == nil || i.State.Name == ec2types.InstanceStateNameTerminated
			for _, t := range i.Tags {
				key, value := aws.ToString(t.Key), aws.ToString(t.Value)
				v.OptOut = v.OptOut || s.OptOut != "" && key+"="+value == s.OptOut
				if key == groupTag {
					group = value
				}
			}
		}
	}
	if v.Gone {
		return group, nil
	}
	attr, err := o.EC2.DescribeInstanceAttribute(ctx, &ec2.DescribeInstanceAttributeInput{InstanceId: &s.Instance, Attribute: ec2types.InstanceAttributeNameDisableApiTermination})
	if err != nil {
		return group, fmt.Errorf("termination protection of %s: %w", s.Instance, err)
	}
	v.TermProtect = attr.DisableApiTermination != nil && aws.ToBool(attr.DisableApiTermination.Value)
	return group, nil
}

// membership is what Auto Scaling says of the instance and of its group.
func (o *Ops) membership(ctx context.Context, s remediate.Subject, tag string, out *remediate.Seen) error {
	name := tag
	if !out.Host.Gone {
		in, err := o.Groups.DescribeAutoScalingInstances(ctx, &autoscaling.DescribeAutoScalingInstancesInput{InstanceIds: []string{s.Instance}})
		if err != nil {
			return fmt.Errorf("membership of %s: %w", s.Instance, err)
		}
		for _, i := range in.AutoScalingInstances {
			name, out.Host.Lifecycle = aws.ToString(i.AutoScalingGroupName), aws.ToString(i.LifecycleState)
		}
	}
	if name == "" {
		name = s.Group
	}
	if out.Group.Name = name; name == "" {
		return nil
	}
	groups, err := o.Groups.DescribeAutoScalingGroups(ctx, &autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: []string{name}})
	if err != nil {
		return fmt.Errorf("describe group %s: %w", name, err)
	}
	for _, g := range groups.AutoScalingGroups {
		out.Group.Exists = aws.ToString(g.Status) == "" // a status is only told while it is being deleted
		for _, p := range g.SuspendedProcesses {
			out.Group.LaunchSuspended = out.Group.LaunchSuspended || aws.ToString(p.ProcessName) == "Launch"
		}
	}
	if out.Host.Lifecycle != remedy.LifecycleTerminatingWait {
		return nil
	}
	hooks, err := o.Groups.DescribeLifecycleHooks(ctx, &autoscaling.DescribeLifecycleHooksInput{AutoScalingGroupName: &name})
	if err != nil {
		return fmt.Errorf("lifecycle hooks of %s: %w", name, err)
	}
	for _, h := range hooks.LifecycleHooks {
		out.Host.HookOurs = out.Host.HookOurs || aws.ToString(h.LifecycleHookName) == o.Hook && strings.HasSuffix(aws.ToString(h.LifecycleTransition), "TERMINATING")
	}
	return nil
}

// filterValues is how many values one filter of EC2 takes.
const filterValues = 200

// Launched are the living instances of a group with their launch times. A group that
// is no more has none.
func (o *Ops) Launched(ctx context.Context, group string) ([]remedy.Candidate, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*callTimeout)
	defer cancel()
	groups, err := o.Groups.DescribeAutoScalingGroups(ctx, &autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: []string{group}})
	if err != nil {
		return nil, fmt.Errorf("describe group %s: %w", group, err)
	}
	var ids []string
	for _, g := range groups.AutoScalingGroups {
		for _, i := range g.Instances {
			if state := string(i.LifecycleState); !strings.HasPrefix(state, "Terminat") && !strings.HasPrefix(state, "Detach") {
				ids = append(ids, aws.ToString(i.InstanceId))
			}
		}
	}
	var out []remedy.Candidate
	for chunk := range slices.Chunk(ids, filterValues) {
		// By a filter: one id that EC2 does not know yet would fail a call by ids.
		pages := ec2.NewDescribeInstancesPaginator(o.EC2, &ec2.DescribeInstancesInput{Filters: []ec2types.Filter{{Name: aws.String("instance-id"), Values: chunk}}})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return nil, fmt.Errorf("describe the instances of group %s: %w", group, err)
			}
			for _, r := range page.Reservations {
				for _, i := range r.Instances {
					if i.State != nil && (i.State.Name == ec2types.InstanceStateNamePending || i.State.Name == ec2types.InstanceStateNameRunning) {
						out = append(out, remedy.Candidate{Instance: aws.ToString(i.InstanceId), Launched: aws.ToTime(i.LaunchTime).UTC()})
					}
				}
			}
		}
	}
	return out, nil
}

// evidence reports whether the host's own bundle is under the prefix; what Bulkhead
// itself puts there is no bundle.
func (o *Ops) evidence(ctx context.Context, prefix string) (bool, error) {
	if o.S3 == nil || o.Bucket == "" || prefix == "" {
		return false, nil
	}
	out, err := o.S3.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: &o.Bucket, Prefix: aws.String(prefix + "/"), MaxKeys: aws.Int32(10)})
	if err != nil {
		return false, fmt.Errorf("look for the evidence at %s: %w", prefix, err)
	}
	return slices.ContainsFunc(out.Contents, func(x s3object) bool { return !strings.HasSuffix(aws.ToString(x.Key), "/ledger.json") }), nil
}
