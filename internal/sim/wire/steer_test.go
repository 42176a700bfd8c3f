package wire_test

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/bulkhead-ecs/bulkhead/internal/sim"
)

func TestDefinitionsServicesAndAttributesLiveOnTheWire(t *testing.T) {
	w := newRegion(t, sim.GroupConfig{Max: 3, Desired: 3})
	ctx, c := context.Background(), aws.String("gpu")
	reg, err := w.ecs.RegisterTaskDefinition(ctx, &ecs.RegisterTaskDefinitionInput{Family: aws.String("chat"), Cpu: aws.String("512"), Memory: aws.String("1024"),
		Tags: []types.Tag{{Key: aws.String("bulkhead:tier"), Value: aws.String("batch")}},
		ContainerDefinitions: []types.ContainerDefinition{{Name: aws.String("app"), Image: aws.String("app"), ResourceRequirements: []types.ResourceRequirement{{Type: "GPU",
			SharingStrategy: &types.SharingStrategyMemberNvidiaMps{Value: types.NvidiaMpsAllocation{Memory: aws.Int32(4096), MaxComputePercent: aws.Int32(40)}}}}}}})
	if err != nil || reg.TaskDefinition.Revision != 1 {
		t.Fatal(reg, err)
	}
	_, err = w.ecs.RegisterTaskDefinition(ctx, &ecs.RegisterTaskDefinitionInput{Family: aws.String("bad"), ContainerDefinitions: []types.ContainerDefinition{{Name: aws.String("app"), ResourceRequirements: []types.ResourceRequirement{{Type: "GPU", Value: aws.String("0.5x")}}}}})
	if code(err) != "ClientException" {
		t.Error(err)
	}
	admit := types.PlacementConstraint{Type: types.PlacementConstraintTypeMemberOf, Expression: aws.String("attribute:bulkhead.admit == true")}
	svc, err := w.ecs.CreateService(ctx, &ecs.CreateServiceInput{Cluster: c, ServiceName: aws.String("chat"), TaskDefinition: aws.String("chat"), DesiredCount: aws.Int32(3), PlacementConstraints: []types.PlacementConstraint{admit}})
	if err != nil || len(svc.Service.PlacementConstraints) != 1 {
		t.Fatal(svc, err)
	}
	w.wait(t, 2*time.Minute)
	run, err := w.ecs.RunTask(ctx, &ecs.RunTaskInput{Cluster: c, TaskDefinition: aws.String("chat:1"), PlacementConstraints: []types.PlacementConstraint{admit}})
	if err != nil || len(run.Failures) != 1 || *run.Failures[0].Reason != sim.Unsatisfied {
		t.Fatal(run, err)
	}
	h := w.group.Members()[1]
	if _, err := w.ecs.PutAttributes(ctx, &ecs.PutAttributesInput{Cluster: c, Attributes: []types.Attribute{{Name: aws.String("bulkhead.admit"), Value: aws.String("true"), TargetId: &h.ARN}}}); err != nil {
		t.Fatal(err)
	}
	have, err := w.ecs.ListAttributes(ctx, &ecs.ListAttributesInput{Cluster: c, TargetType: types.TargetTypeContainerInstance, AttributeName: aws.String("bulkhead.admit")})
	if err != nil || len(have.Attributes) != 1 || *have.Attributes[0].TargetId != h.ARN {
		t.Fatal(have, err)
	}
	sel, err := w.ecs.ListContainerInstances(ctx, &ecs.ListContainerInstancesInput{Cluster: c, Filter: admit.Expression})
	if err != nil || len(sel.ContainerInstanceArns) != 1 {
		t.Fatal(sel, err)
	}
	w.wait(t, 2*time.Minute)
	tasks, err := w.ecs.ListTasks(ctx, &ecs.ListTasksInput{Cluster: c, ServiceName: aws.String("chat"), ContainerInstance: &h.ARN})
	if err != nil || len(tasks.TaskArns) != 3 {
		t.Fatal(tasks, err)
	}
	hosts, err := w.ecs.DescribeContainerInstances(ctx, &ecs.DescribeContainerInstancesInput{Cluster: c, ContainerInstances: []string{h.ARN}})
	if err != nil {
		t.Fatal(err)
	}
	if g := hosts.ContainerInstances[0].GpuDevices[0]; g.SharingMode != types.GpuSharingModeNvidiaMps || *g.ContainerCount != 3 || *g.RemainingMemoryInMiB != *g.TotalMemoryInMiB-3*4096 {
		t.Errorf("%+v", g)
	}
	held, err := w.ecs.UpdateTaskProtection(ctx, &ecs.UpdateTaskProtectionInput{Cluster: c, Tasks: tasks.TaskArns[:1], ProtectionEnabled: true, ExpiresInMinutes: aws.Int32(60)})
	if err != nil || len(held.ProtectedTasks) != 1 || !held.ProtectedTasks[0].ProtectionEnabled {
		t.Fatal(held, err)
	}
	if _, err := w.ecs.UpdateService(ctx, &ecs.UpdateServiceInput{Cluster: c, Service: aws.String("chat"), DesiredCount: aws.Int32(0)}); err != nil {
		t.Fatal(err)
	}
	w.wait(t, 5*time.Minute)
	if got, err := w.ecs.GetTaskProtection(ctx, &ecs.GetTaskProtectionInput{Cluster: c, Tasks: tasks.TaskArns}); err != nil || len(got.ProtectedTasks) != 1 || len(w.f.Tasks()) != 1 {
		t.Fatal(got, err, len(w.f.Tasks()))
	}
	_, err = w.ecs.DeregisterContainerInstance(ctx, &ecs.DeregisterContainerInstanceInput{Cluster: c, ContainerInstance: &h.ARN})
	if code(err) != "InvalidParameterException" {
		t.Errorf("deregistering a host with tasks: %v", err)
	}
	if _, err := w.ecs.DeregisterContainerInstance(ctx, &ecs.DeregisterContainerInstanceInput{Cluster: c, ContainerInstance: &h.ARN, Force: aws.Bool(true)}); err != nil {
		t.Fatal(err)
	}
	if list, err := w.ecs.ListServices(ctx, &ecs.ListServicesInput{Cluster: c}); err != nil || len(list.ServiceArns) != 1 {
		t.Fatal(list, err)
	}
	one, err := w.ecs.StartTask(ctx, &ecs.StartTaskInput{Cluster: c, TaskDefinition: aws.String("chat"), ContainerInstances: []string{h.ARN}})
	if err != nil || len(one.Failures) != 1 || *one.Failures[0].Arn != h.ARN || *one.Failures[0].Reason != "MISSING" {
		t.Fatal(one, err)
	}
}

func TestAClientTokenStartsItsTasksOnce(t *testing.T) {
	w := newRegion(t, sim.GroupConfig{Max: 1, Desired: 1})
	d, err := w.f.RegisterDefinition(sim.Definition{Family: "x", Containers: []sim.Container{{Name: "a", Memory: 100}}})
	if err != nil {
		t.Fatal(err)
	}
	in := &ecs.RunTaskInput{Cluster: aws.String("gpu"), TaskDefinition: &d.ARN, ClientToken: aws.String("once"), Count: aws.Int32(2)}
	first, err1 := w.ecs.RunTask(context.Background(), in)
	again, err2 := w.ecs.RunTask(context.Background(), in)
	if err1 != nil || err2 != nil || len(w.f.Tasks()) != 2 || *first.Tasks[1].TaskArn != *again.Tasks[1].TaskArn {
		t.Fatal(err1, err2, len(w.f.Tasks()))
	}
	in.Count = aws.Int32(1)
	if _, err := w.ecs.RunTask(context.Background(), in); code(err) != "ConflictException" {
		t.Errorf("other parameters: %v", err)
	}
	in.ClientToken = nil
	if _, err := w.ecs.RunTask(context.Background(), in); err != nil || len(w.f.Tasks()) != 3 {
		t.Error(err, len(w.f.Tasks()))
	}
}
