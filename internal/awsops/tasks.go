package awsops

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/bulkhead-ecs/bulkhead/internal/remedy"
)

// Bounds of ECS's own: ids of DescribeTasks and GetTaskProtection, names of
// DescribeServices.
const (
	describeTasks    = 100
	describeServices = 10
)

// tasks are all on a container instance that are not STOPPED. Those that are on
// their way down have the desired status STOPPED, so both lists are read.
func (o *Ops) tasks(ctx context.Context, cluster, host string) ([]remedy.Task, error) {
	var arns []string
	for _, desired := range []types.DesiredStatus{types.DesiredStatusRunning, types.DesiredStatusStopped} {
		pages := ecs.NewListTasksPaginator(o.ECS, &ecs.ListTasksInput{Cluster: &cluster, ContainerInstance: &host, DesiredStatus: desired})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return nil, fmt.Errorf("list tasks on %s: %w", host, err)
			}
			arns = append(arns, page.TaskArns...)
		}
	}
	slices.Sort(arns)
	arns = slices.Compact(arns)
	var out []remedy.Task
	for chunk := range slices.Chunk(arns, describeTasks) {
		got, err := o.ECS.DescribeTasks(ctx, &ecs.DescribeTasksInput{Cluster: &cluster, Tasks: chunk})
		if err != nil {
			return nil, fmt.Errorf("describe %d tasks on %s: %w", len(chunk), host, err)
		}
		for _, t := range got.Tasks {
			if aws.ToString(t.LastStatus) != "STOPPED" {
				out = append(out, taskOf(t))
			}
		}
	}
	if err := o.daemons(ctx, cluster, out); err != nil {
		return nil, err
	}
	return out, o.protections(ctx, cluster, out)
}

func taskOf(t types.Task) remedy.Task {
	service, ok := strings.CutPrefix(aws.ToString(t.Group), "service:")
	if !ok {
		service = ""
	}
	def := aws.ToString(t.TaskDefinitionArn)
	return remedy.Task{ARN: aws.ToString(t.TaskArn), Family: def[strings.LastIndexByte(def, '/')+1:], Service: service,
		Stopping: aws.ToString(t.DesiredStatus) == "STOPPED"}
}

// daemons marks the tasks of daemon services: they never keep a host occupied.
func (o *Ops) daemons(ctx context.Context, cluster string, tasks []remedy.Task) error {
	var names []string
	for _, t := range tasks {
		if t.Service != "" && !slices.Contains(names, t.Service) {
			names = append(names, t.Service)
		}
	}
	slices.Sort(names)
	for chunk := range slices.Chunk(names, describeServices) {
		got, err := o.ECS.DescribeServices(ctx, &ecs.DescribeServicesInput{Cluster: &cluster, Services: chunk})
		if err != nil {
			return fmt.Errorf("describe services of %s: %w", cluster, err)
		}
		for _, s := range got.Services {
			if s.SchedulingStrategy != types.SchedulingStrategyDaemon {
				continue
			}
			for i := range tasks {
				tasks[i].Daemon = tasks[i].Daemon || tasks[i].Service == aws.ToString(s.ServiceName)
			}
		}
	}
	return nil
}

// protections asks which tasks protect themselves. Only tasks of services can.
func (o *Ops) protections(ctx context.Context, cluster string, tasks []remedy.Task) error {
	var arns []string
	for _, t := range tasks {
		if t.Service != "" && !t.Daemon && !t.Stopping {
			arns = append(arns, t.ARN)
		}
	}
	for chunk := range slices.Chunk(arns, describeTasks) {
		got, err := o.ECS.GetTaskProtection(ctx, &ecs.GetTaskProtectionInput{Cluster: &cluster, Tasks: chunk})
		if err != nil {
			return fmt.Errorf("protection of %d tasks: %w", len(chunk), err)
		}
		for _, p := range got.ProtectedTasks {
			i := slices.IndexFunc(tasks, func(t remedy.Task) bool { return t.ARN == aws.ToString(p.TaskArn) })
			if i >= 0 && p.ProtectionEnabled {
				tasks[i].Protected, tasks[i].ProtectedUntil = true, aws.ToTime(p.ExpirationDate)
			}
		}
	}
	return nil
}
