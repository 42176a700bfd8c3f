package wire

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bulkhead-ecs/bulkhead/internal/sim"
)

type tasksInput struct {
	Cluster, NextToken, DesiredStatus, ContainerInstance, ServiceName, StartedBy string
	Task, Reason, TaskDefinition, Group                                          string
	Tasks, ContainerInstances                                                    []string
	Family, ClientToken                                                          string
	Count                                                                        *int
	PlacementConstraints                                                         []sim.Constraint
}

func listTasks(f *sim.Fleet, in tasksInput) (object, error) {
	if err := named(f, in.Cluster); err != nil {
		return nil, err
	}
	want := in.DesiredStatus
	if want == "" {
		want = "RUNNING"
	}
	var all []string
	if want != "RUNNING" && want != "STOPPED" {
		return nil, invalid("desiredStatus must be RUNNING or STOPPED")
	}
	host := in.ContainerInstance
	if h, err := f.ContainerInstance(host); host != "" && err == nil {
		host = h.ARN
	}
	service := in.ServiceName[strings.LastIndex(in.ServiceName, "/")+1:]
	for _, t := range append(f.Tasks(), f.Stopped()...) {
		if t.Desired == want && (host == "" || host == t.Host.ARN) && (in.Family == "" || in.Family == t.Definition.Family) &&
			(service == "" || t.Group == "service:"+service) && (in.StartedBy == "" || in.StartedBy == t.StartedBy) {
			all = append(all, t.ARN)
		}
	}
	slices.Sort(all)
	return pageOf(all, in.NextToken, "taskArns")
}

func describeTasks(f *sim.Fleet, in tasksInput) (object, error) {
	if err := named(f, in.Cluster); err != nil {
		return nil, err
	}
	if n := len(in.Tasks); n == 0 || n > most {
		return nil, invalid("Tasks must be from 1 to 100.")
	}
	found, failures := []object{}, []object{}
	for _, arn := range in.Tasks {
		if t, ok := taskOf(f, arn); ok {
			found = append(found, taskObject(f, t))
		} else {
			failures = append(failures, missing(arn))
		}
	}
	return object{"tasks": found, "failures": failures}, nil
}

// taskOf finds a task by ARN or by id.
func taskOf(f *sim.Fleet, name string) (*sim.Task, bool) {
	if !strings.HasPrefix(name, "arn:") {
		name = strings.Replace(f.Cluster(), ":cluster/", ":task/", 1) + "/" + name
	}
	return f.Task(name)
}

func taskObject(f *sim.Fleet, t *sim.Task) object {
	cs := []object{}
	for _, c := range t.Definition.Containers {
		k := object{"name": c.Name, "lastStatus": t.Last, "taskArn": t.ARN, "gpuIds": t.GPUs(c.Name)}
		if c.Memory > 0 {
			k["gpuSharingStrategy"] = sharing(c)
		}
		if t.Last == "STOPPED" && !t.Started.IsZero() {
			k["exitCode"] = t.ExitCode
		}
		cs = append(cs, k)
	}
	out := object{"taskArn": t.ARN, "clusterArn": f.Cluster(), "containerInstanceArn": t.Host.ARN, "taskDefinitionArn": t.Definition.ARN, "launchType": "EC2",
		"group": t.Group, "startedBy": t.StartedBy, "lastStatus": t.Last, "desiredStatus": t.Desired, "version": t.Version, "createdAt": seconds(t.Created), "containers": cs}
	if !t.Started.IsZero() {
		out["startedAt"] = seconds(t.Started)
	}
	if p := t.Host.Provider(); p != nil {
		out["capacityProviderName"] = p.Name
	}
	if t.Desired == "STOPPED" {
		out["stoppingAt"], out["stoppedReason"] = seconds(t.Stopping), t.Reason
		if t.StopCode != "" {
			out["stopCode"] = t.StopCode
		}
	}
	if t.Last == "STOPPED" {
		out["stoppedAt"] = seconds(t.Stopped)
	}
	return out
}

func runTask(f *sim.Fleet, in tasksInput) (object, error) {
	count := 1
	if in.Count != nil {
		count = *in.Count
	}
	if count < 1 || count > 10 {
		return nil, invalid("Count must be from 1 to 10.")
	}
	if len(in.ClientToken) > 64 {
		return nil, invalid("clientToken must not be longer than 64 characters.")
	}
	request := fmt.Sprint(in.TaskDefinition, in.Group, in.StartedBy, count, in.PlacementConstraints)
	if in.ClientToken != "" {
		if before, ok, err := f.Ran(in.ClientToken, request); err != nil || ok {
			return startedObject(f, before, []object{}), err
		}
	}
	var tasks []*sim.Task
	out, err := started(f, in, count, "", func(int) (*sim.Task, error) {
		t, err := f.Run(in.TaskDefinition, in.Group, in.StartedBy, in.PlacementConstraints...)
		if err == nil {
			tasks = append(tasks, t)
		}
		return t, err
	})
	if err == nil && in.ClientToken != "" {
		f.KeepRan(in.ClientToken, request, tasks)
	}
	return out, err
}

func startedObject(f *sim.Fleet, started []*sim.Task, failures []object) object {
	tasks := []object{}
	for _, t := range started {
		tasks = append(tasks, taskObject(f, t))
	}
	return object{"tasks": tasks, "failures": failures}
}

func startTask(f *sim.Fleet, in tasksInput) (object, error) {
	if n := len(in.ContainerInstances); n < 1 || n > 10 {
		return nil, invalid("Container instances must be from 1 to 10.")
	}
	return started(f, in, len(in.ContainerInstances), "instances", func(i int) (*sim.Task, error) {
		return f.Start(in.TaskDefinition, in.ContainerInstances[i], in.StartedBy)
	})
}

// started runs tasks; one that has no room is a failure in the answer, no error.
func started(f *sim.Fleet, in tasksInput, n int, of string, run func(int) (*sim.Task, error)) (object, error) {
	if err := named(f, in.Cluster); err != nil {
		return nil, err
	}
	var tasks []*sim.Task
	failures := []object{}
	for i := range n {
		t, err := run(i)
		var refused *sim.Error
		if errors.As(err, &refused) && refused.Unplaced {
			failed := object{"reason": refused.Code}
			if of != "" {
				failed["arn"] = in.ContainerInstances[i]
			}
			failures = append(failures, failed)
			continue
		}
		if err != nil {
			return nil, err
		}
		tasks = append(tasks, t)
	}
	return startedObject(f, tasks, failures), nil
}

func stopTask(f *sim.Fleet, in tasksInput) (object, error) {
	if err := named(f, in.Cluster); err != nil {
		return nil, err
	}
	arn := in.Task
	if t, ok := taskOf(f, arn); ok {
		arn = t.ARN
	}
	t, err := f.Stop(arn, in.Reason)
	if err != nil {
		return nil, err
	}
	return object{"task": taskObject(f, t)}, nil
}
