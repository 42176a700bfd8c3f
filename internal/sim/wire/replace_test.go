package wire_test

import (
	"bytes"
	"context"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"github.com/bulkhead-ecs/bulkhead/events"
	"github.com/bulkhead-ecs/bulkhead/internal/sim"
	"github.com/bulkhead-ecs/bulkhead/internal/sim/wire"
)

// regionWorld is a fleet with one group, and the real clients of every service.
type regionWorld struct {
	f      *sim.Fleet
	server *wire.Server
	group  *sim.Group
	asg    *autoscaling.Client
	ec2    *ec2.Client
	ssm    *ssm.Client
	ecs    *ecs.Client
	seen   []sim.Emitted
}

func newRegion(t *testing.T, c sim.GroupConfig) *regionWorld {
	t.Helper()
	f := sim.New(sim.Config{Seed: 11, Start: start})
	c.Name, c.Shape, c.Latency = "gpu-a", "g6.xlarge", time.Minute
	g, err := f.CreateGroup(c)
	if err != nil {
		t.Fatal(err)
	}
	s := wire.New(f)
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	url, cred := aws.String(srv.URL), credentials.NewStaticCredentialsProvider("a", "b", "")
	w := &regionWorld{f: f, server: s, group: g,
		asg: autoscaling.New(autoscaling.Options{Region: "us-east-1", BaseEndpoint: url, Credentials: cred, RetryMaxAttempts: 1}),
		ec2: ec2.New(ec2.Options{Region: "us-east-1", BaseEndpoint: url, Credentials: cred, RetryMaxAttempts: 1}),
		ssm: ssm.New(ssm.Options{Region: "us-east-1", BaseEndpoint: url, Credentials: cred, RetryMaxAttempts: 1}),
		ecs: ecs.New(ecs.Options{Region: "us-east-1", BaseEndpoint: url, Credentials: cred, RetryMaxAttempts: 1})}
	w.wait(t, 2*time.Minute)
	return w
}

// wait lets time pass; every event made must be one that the contract knows.
func (w *regionWorld) wait(t *testing.T, d time.Duration) {
	t.Helper()
	for _, e := range w.f.Advance(w.f.Now().Add(d)) {
		ev, err := events.Parse(e.Body, events.Limits{})
		if _, unknown := ev.Detail.(events.Unknown); err != nil || unknown {
			t.Fatalf("%v: %s", err, e.Body)
		}
		w.seen = append(w.seen, e)
	}
}

func (w *regionWorld) lifecycle(t *testing.T) map[string]string {
	t.Helper()
	out, err := w.asg.DescribeAutoScalingInstances(context.Background(), &autoscaling.DescribeAutoScalingInstancesInput{})
	if err != nil {
		t.Fatal(err)
	}
	states := map[string]string{}
	for _, x := range out.AutoScalingInstances {
		states[*x.InstanceId] = *x.LifecycleState
	}
	return states
}

func TestAnInstanceIsReplacedThroughItsGroupAndHeldByTheHook(t *testing.T) {
	w := newRegion(t, sim.GroupConfig{Min: 1, Max: 3, Desired: 2, Hooks: []sim.Hook{{Name: "bulkhead-terminate", Transition: sim.Terminating, Heartbeat: 10 * time.Minute, Default: "CONTINUE"}}})
	ctx, group := context.Background(), aws.String("gpu-a")
	id := w.group.Members()[0].EC2
	out, err := w.asg.TerminateInstanceInAutoScalingGroup(ctx, &autoscaling.TerminateInstanceInAutoScalingGroupInput{InstanceId: &id, ShouldDecrementDesiredCapacity: aws.Bool(false)})
	if err != nil || !strings.Contains(*out.Activity.Description, id) || *out.Activity.AutoScalingGroupName != "gpu-a" {
		t.Fatal(out, err)
	}
	w.wait(t, 3*time.Minute)
	states := w.lifecycle(t)
	if len(states) != 3 || states[id] != "Terminating:Wait" {
		t.Fatalf("%v: want the old one waiting and two in service", states)
	}
	if i := slices.IndexFunc(w.seen, func(e sim.Emitted) bool {
		return bytes.Contains(e.Body, []byte("EC2 Instance-terminate Lifecycle Action"))
	}); i < 0 {
		t.Fatal("no lifecycle event")
	}
	if _, err := w.asg.RecordLifecycleActionHeartbeat(ctx, &autoscaling.RecordLifecycleActionHeartbeatInput{AutoScalingGroupName: group, LifecycleHookName: aws.String("bulkhead-terminate"), InstanceId: &id}); err != nil {
		t.Fatal(err)
	}
	w.wait(t, 8*time.Minute) // longer than the first heartbeat
	if s := w.lifecycle(t)[id]; s != "Terminating:Wait" {
		t.Fatalf("a heartbeat did not hold it: %s", s)
	}
	if _, err := w.asg.CompleteLifecycleAction(ctx, &autoscaling.CompleteLifecycleActionInput{AutoScalingGroupName: group, LifecycleHookName: aws.String("bulkhead-terminate"), InstanceId: &id, LifecycleActionResult: aws.String("CONTINUE")}); err != nil {
		t.Fatal(err)
	}
	_, err = w.asg.CompleteLifecycleAction(ctx, &autoscaling.CompleteLifecycleActionInput{AutoScalingGroupName: group, LifecycleHookName: aws.String("bulkhead-terminate"), InstanceId: &id, LifecycleActionResult: aws.String("CONTINUE")})
	if code(err) != "ValidationError" {
		t.Errorf("a hook that holds nobody: %v", err)
	}
	w.wait(t, time.Minute)
	if states = w.lifecycle(t); len(states) != 2 || states[id] != "" {
		t.Fatalf("%v", states)
	}
	got, err := w.ec2.DescribeInstances(ctx, &ec2.DescribeInstancesInput{InstanceIds: []string{id}})
	if err != nil || got.Reservations[0].Instances[0].State.Name != ec2types.InstanceStateNameTerminated {
		t.Fatal(got, err)
	}
}

func TestAHookThatNobodyCompletesEndsByItsTimeout(t *testing.T) {
	w := newRegion(t, sim.GroupConfig{Max: 2, Desired: 1, Hooks: []sim.Hook{
		{Name: "in", Transition: sim.Launching, Heartbeat: 30 * time.Minute}, {Name: "out", Transition: sim.Terminating, Heartbeat: 5 * time.Minute}}})
	h := w.group.Members()[0]
	if h.Lifecycle != "Pending:Wait" || len(h.Waits()) != 1 {
		t.Fatalf("a newcomer is %s", h.Lifecycle)
	}
	w.wait(t, time.Hour) // ABANDON, the default: ended, and another one is tried
	if h.EC2State != "terminated" || len(w.group.Members()) == 0 {
		t.Fatalf("abandoned, it is %s; members %d", h.EC2State, len(w.group.Members()))
	}
}

func TestDetachedInstancesGoOnAndAreReplaced(t *testing.T) {
	w := newRegion(t, sim.GroupConfig{Min: 2, Max: 4, Desired: 2})
	ctx, id := context.Background(), w.group.Members()[0].EC2
	_, err := w.asg.DetachInstances(ctx, &autoscaling.DetachInstancesInput{AutoScalingGroupName: aws.String("gpu-a"), InstanceIds: []string{id}, ShouldDecrementDesiredCapacity: aws.Bool(true)})
	if code(err) != "ValidationError" {
		t.Fatalf("detaching below the minimum: %v", err)
	}
	out, err := w.asg.DetachInstances(ctx, &autoscaling.DetachInstancesInput{AutoScalingGroupName: aws.String("gpu-a"), InstanceIds: []string{id}, ShouldDecrementDesiredCapacity: aws.Bool(false)})
	if err != nil || len(out.Activities) != 1 {
		t.Fatal(out, err)
	}
	w.wait(t, 3*time.Minute)
	states := w.lifecycle(t)
	h, err := w.f.Instance(id)
	if err != nil || h.EC2State != "running" || h.Status != "ACTIVE" || states[id] != "" || len(states) != 2 {
		t.Fatalf("%+v %v %v", h, err, states)
	}
	if _, err := w.ec2.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: []string{id}}); err != nil {
		t.Fatal(err)
	}
	w.wait(t, time.Minute)
	if h.EC2State != "terminated" || len(w.lifecycle(t)) != 2 {
		t.Error(h.EC2State)
	}
}

func TestScaleInSparesTheProtected(t *testing.T) {
	w := newRegion(t, sim.GroupConfig{Max: 4, Desired: 4})
	ctx, keep := context.Background(), w.group.Members()[0].EC2
	if _, err := w.asg.SetInstanceProtection(ctx, &autoscaling.SetInstanceProtectionInput{AutoScalingGroupName: aws.String("gpu-a"), InstanceIds: []string{keep}, ProtectedFromScaleIn: aws.Bool(true)}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.asg.SetDesiredCapacity(ctx, &autoscaling.SetDesiredCapacityInput{AutoScalingGroupName: aws.String("gpu-a"), DesiredCapacity: aws.Int32(0)}); err != nil {
		t.Fatal(err)
	}
	w.wait(t, 2*time.Minute)
	groups, err := w.asg.DescribeAutoScalingGroups(ctx, &autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: []string{"gpu-a", "none"}})
	if err != nil || len(groups.AutoScalingGroups) != 1 {
		t.Fatal(groups, err)
	}
	g := groups.AutoScalingGroups[0]
	if len(g.Instances) != 1 || *g.Instances[0].InstanceId != keep || !*g.Instances[0].ProtectedFromScaleIn || *g.DesiredCapacity != 0 {
		t.Fatalf("%+v", g.Instances)
	}
}

func TestAGroupReplacesWhatIsLostOrImpaired(t *testing.T) {
	w := newRegion(t, sim.GroupConfig{Max: 4, Desired: 3})
	for i, kind := range []string{"spot", "ec2-impaired", "host-terminate"} {
		h := w.group.Members()[0]
		if err := w.f.Inject(sim.Fault{Kind: kind, Host: h.EC2}); err != nil {
			t.Fatal(err)
		}
		if kind == "ec2-impaired" {
			got, err := w.ec2.DescribeInstanceStatus(context.Background(), &ec2.DescribeInstanceStatusInput{InstanceIds: []string{h.EC2}})
			if err != nil || got.InstanceStatuses[0].InstanceStatus.Status != ec2types.SummaryStatusImpaired {
				t.Fatal(got, err)
			}
		}
		w.wait(t, 8*time.Minute)
		if h.EC2State != "terminated" || len(w.group.Members()) != 3 {
			t.Errorf("%d %s: the lost one is %s, members %d", i, kind, h.EC2State, len(w.group.Members()))
		}
	}
}

func TestARebootKeepsTheCardsAndAStopDoesNot(t *testing.T) {
	w := newRegion(t, sim.GroupConfig{Max: 2, Desired: 1})
	ctx, h := context.Background(), w.group.Members()[0]
	cards, boot := h.UUIDs(), h.Boot
	if _, err := w.ec2.RebootInstances(ctx, &ec2.RebootInstancesInput{InstanceIds: []string{h.EC2}}); err != nil {
		t.Fatal(err)
	}
	w.wait(t, time.Second)
	if h.Connected {
		t.Error("the agent of a rebooting host is connected")
	}
	w.wait(t, 3*time.Minute)
	if !h.Connected || h.Boot == boot || !slices.Equal(cards, h.UUIDs()) {
		t.Errorf("after a reboot: %v %s %v", h.Connected, h.Boot, h.UUIDs())
	}
	boot = h.Boot
	if err := w.f.Inject(sim.Fault{Kind: "reboot-new-uuids", Host: h.EC2}); err != nil {
		t.Fatal(err)
	}
	w.wait(t, 5*time.Minute)
	if !h.Connected || h.Boot == boot || slices.Equal(cards, h.UUIDs()) || h.EC2State != "running" {
		t.Errorf("after stop and start: %v %s %v", h.Connected, h.EC2State, h.UUIDs())
	}
	_, err := w.ec2.RebootInstances(ctx, &ec2.RebootInstancesInput{InstanceIds: []string{"i-00000000000000000"}})
	if code(err) != "InvalidInstanceID.NotFound" {
		t.Error(err)
	}
	_, err = w.ec2.RebootInstances(ctx, &ec2.RebootInstancesInput{InstanceIds: []string{"x"}})
	if code(err) != "InvalidInstanceID.Malformed" {
		t.Error(err)
	}
}

func TestRunCommandRunsTheDocumentOnTheHost(t *testing.T) {
	w := newRegion(t, sim.GroupConfig{Max: 2, Desired: 2})
	ctx, hosts := context.Background(), w.group.Members()
	var ran []string
	w.f.RegisterDocument("Fix", func(h *sim.Host, p map[string][]string) sim.Answer {
		ran = append(ran, h.EC2)
		if p["Fail"] != nil {
			return sim.Answer{Code: 3, Err: "no"}
		}
		return sim.Answer{Out: "done " + p["CaseId"][0]}
	})
	send := func(p map[string][]string, h *sim.Host) (string, error) {
		out, err := w.ssm.SendCommand(ctx, &ssm.SendCommandInput{DocumentName: aws.String("Fix"), InstanceIds: []string{h.EC2}, Parameters: p, Comment: aws.String("key|1"), TimeoutSeconds: aws.Int32(60)})
		if err != nil {
			return "", err
		}
		return *out.Command.CommandId, nil
	}
	result := func(id string, h *sim.Host) *ssm.GetCommandInvocationOutput {
		got, err := w.ssm.GetCommandInvocation(ctx, &ssm.GetCommandInvocationInput{CommandId: &id, InstanceId: &h.EC2})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	id, err := send(map[string][]string{"CaseId": {"c1"}}, hosts[0])
	if err != nil || result(id, hosts[0]).Status != ssmtypes.CommandInvocationStatusPending {
		t.Fatal(err)
	}
	w.wait(t, time.Minute)
	if got := result(id, hosts[0]); got.Status != ssmtypes.CommandInvocationStatusSuccess || *got.StandardOutputContent != "done c1" || len(ran) != 1 {
		t.Fatalf("%+v, ran %v", got, ran)
	}
	id, _ = send(map[string][]string{"Fail": {"y"}}, hosts[0])
	w.wait(t, time.Minute)
	if got := result(id, hosts[0]); got.Status != ssmtypes.CommandInvocationStatusFailed || got.ResponseCode != 3 {
		t.Fatalf("%+v", got)
	}
	hosts[1].SSMOffline = true
	id, _ = send(map[string][]string{"CaseId": {"c2"}}, hosts[1])
	w.wait(t, 3*time.Minute)
	if got := result(id, hosts[1]); got.Status != ssmtypes.CommandInvocationStatusTimedOut || *got.StatusDetails != "Delivery Timed Out" {
		t.Fatalf("%+v", got)
	}
	list, err := w.ssm.ListCommandInvocations(ctx, &ssm.ListCommandInvocationsInput{InstanceId: &hosts[0].EC2, Filters: []ssmtypes.CommandFilter{{Key: "InvokedAfter", Value: aws.String(start.Format(time.RFC3339))}}})
	if err != nil || len(list.CommandInvocations) != 2 || *list.CommandInvocations[0].Comment != "key|1" {
		t.Fatal(list, err)
	}
	_, err = w.ssm.SendCommand(ctx, &ssm.SendCommandInput{DocumentName: aws.String("None"), InstanceIds: []string{hosts[0].EC2}})
	if code(err) != "InvalidDocument" {
		t.Error(err)
	}
	_, err = w.ssm.SendCommand(ctx, &ssm.SendCommandInput{DocumentName: aws.String("Fix"), InstanceIds: []string{"i-00000000000000000"}})
	if code(err) != "InvalidInstanceId" {
		t.Error(err)
	}
	info, err := w.ssm.DescribeInstanceInformation(ctx, &ssm.DescribeInstanceInformationInput{})
	if err != nil || len(info.InstanceInformationList) != 2 {
		t.Fatal(info, err)
	}
}

func TestThrottlesAreWordedAsEachServiceWordsThem(t *testing.T) {
	w := newRegion(t, sim.GroupConfig{Max: 1, Desired: 1})
	w.server.Fault = func(string) wire.Trouble { return wire.Throttle }
	ctx := context.Background()
	_, a := w.asg.DescribeAutoScalingGroups(ctx, &autoscaling.DescribeAutoScalingGroupsInput{})
	_, b := w.ec2.DescribeInstances(ctx, &ec2.DescribeInstancesInput{})
	_, c := w.ssm.ListCommands(ctx, &ssm.ListCommandsInput{})
	if code(a) != "Throttling" || code(b) != "RequestLimitExceeded" || code(c) != "ThrottlingException" {
		t.Error(a, b, c)
	}
}
