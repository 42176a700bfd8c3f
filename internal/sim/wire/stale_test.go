package wire_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"github.com/bulkhead-ecs/bulkhead/internal/sim"
	"github.com/bulkhead-ecs/bulkhead/internal/sim/wire"
)

func TestReadsLagBehindAndCatchUp(t *testing.T) {
	w := newRegion(t, sim.GroupConfig{Max: 2, Desired: 1})
	ctx, c := context.Background(), aws.String("gpu")
	d, err := w.f.RegisterDefinition(sim.Definition{Family: "x", Containers: []sim.Container{{Name: "a", Memory: 100}}})
	if err != nil {
		t.Fatal(err)
	}
	w.f.RegisterDocument("Fix", nil)
	w.server.Lag = 10 * time.Second
	run, err := w.ecs.RunTask(ctx, &ecs.RunTaskInput{Cluster: c, TaskDefinition: &d.ARN, StartedBy: aws.String("me")})
	if err != nil {
		t.Fatal(err)
	}
	arn := *run.Tasks[0].TaskArn
	look := func() (listed, described int) {
		l, err1 := w.ecs.ListTasks(ctx, &ecs.ListTasksInput{Cluster: c, StartedBy: aws.String("me")})
		k, err2 := w.ecs.DescribeTasks(ctx, &ecs.DescribeTasksInput{Cluster: c, Tasks: []string{arn}})
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		return len(l.TaskArns), len(k.Tasks)
	}
	if a, b := look(); a != 0 || b != 0 {
		t.Errorf("just started, %d are listed and %d described", a, b)
	}
	w.wait(t, 15*time.Second)
	if a, b := look(); a != 1 || b != 1 {
		t.Errorf("after the lag, %d are listed and %d described", a, b)
	}
	h := w.group.Members()[0]
	if _, err := w.ecs.UpdateContainerInstancesState(ctx, &ecs.UpdateContainerInstancesStateInput{Cluster: c, ContainerInstances: []string{h.ARN}, Status: "ACTIVE"}); err != nil {
		t.Fatal(err)
	}
	status := func() string {
		out, err := w.ecs.DescribeContainerInstances(ctx, &ecs.DescribeContainerInstancesInput{Cluster: c, ContainerInstances: []string{h.ARN}})
		if err != nil {
			t.Fatal(err)
		}
		return *out.ContainerInstances[0].Status
	}
	status()
	if _, err := w.ecs.UpdateContainerInstancesState(ctx, &ecs.UpdateContainerInstancesStateInput{Cluster: c, ContainerInstances: []string{h.ARN}, Status: "DRAINING"}); err != nil {
		t.Fatal(err)
	}
	if s := status(); s != "ACTIVE" {
		t.Errorf("within the lag the host is told to be %s", s)
	}
	w.wait(t, 11*time.Second)
	if s := status(); s != "DRAINING" {
		t.Errorf("after the lag it is told to be %s", s)
	}
	sent, err := w.ssm.SendCommand(ctx, &ssm.SendCommandInput{DocumentName: aws.String("Fix"), InstanceIds: []string{h.EC2}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.ssm.GetCommandInvocation(ctx, &ssm.GetCommandInvocationInput{CommandId: sent.Command.CommandId, InstanceId: &h.EC2})
	if code(err) != "InvocationDoesNotExist" {
		t.Errorf("asked at once: %v", err)
	}
}

func TestAStaleReadAnswersAsBeforeAndAWriteIsNotTroubled(t *testing.T) {
	w := newRegion(t, sim.GroupConfig{Max: 4, Desired: 1})
	ctx := context.Background()
	trouble := wire.None
	w.server.Fault = func(string) wire.Trouble { return trouble }
	desired := func() int32 {
		out, err := w.asg.DescribeAutoScalingGroups(ctx, &autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: []string{"gpu-a"}})
		if err != nil {
			t.Fatal(err)
		}
		return *out.AutoScalingGroups[0].DesiredCapacity
	}
	desired()
	trouble = wire.Stale
	if _, err := w.asg.SetDesiredCapacity(ctx, &autoscaling.SetDesiredCapacityInput{AutoScalingGroupName: aws.String("gpu-a"), DesiredCapacity: aws.Int32(3)}); err != nil || w.group.Desired != 3 {
		t.Fatal(w.group.Desired, err)
	}
	if n := desired(); n != 1 {
		t.Errorf("a stale read says %d", n)
	}
	trouble = wire.None
	if n := desired(); n != 3 {
		t.Errorf("a fresh one says %d", n)
	}
}

func TestCallsOfManyClientsAndTheFleetsTimeDoNotRace(t *testing.T) {
	w := newRegion(t, sim.GroupConfig{Max: 4, Desired: 3})
	w.server.Unmetered, w.server.Lag = true, time.Second
	d, err := w.f.RegisterDefinition(sim.Definition{Family: "x", Containers: []sim.Container{{Name: "a", Memory: 100}}})
	if err != nil {
		t.Fatal(err)
	}
	w.f.RegisterDocument("Fix", nil)
	ctx, c, id := context.Background(), aws.String("gpu"), w.group.Members()[0].EC2
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 10 {
				_, err1 := w.ecs.RunTask(ctx, &ecs.RunTaskInput{Cluster: c, TaskDefinition: &d.ARN})
				l, err2 := w.ecs.ListContainerInstances(ctx, &ecs.ListContainerInstancesInput{Cluster: c})
				_, err3 := w.ecs.DescribeContainerInstances(ctx, &ecs.DescribeContainerInstancesInput{Cluster: c, ContainerInstances: l.ContainerInstanceArns})
				_, err4 := w.asg.DescribeAutoScalingGroups(ctx, &autoscaling.DescribeAutoScalingGroupsInput{})
				_, err5 := w.ec2.DescribeInstances(ctx, &ec2.DescribeInstancesInput{})
				_, err6 := w.ssm.SendCommand(ctx, &ssm.SendCommandInput{DocumentName: aws.String("Fix"), InstanceIds: []string{id}, Parameters: map[string][]string{"a": {"b"}}})
				_, err7 := w.ssm.ListCommandInvocations(ctx, &ssm.ListCommandInvocationsInput{})
				if err := errors.Join(err1, err2, err3, err4, err5, err6, err7); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Go(func() {
		for range 100 {
			w.server.Do(func(f *sim.Fleet) { f.Advance(f.Now().Add(time.Second)) })
		}
	})
	all.Wait()
}
