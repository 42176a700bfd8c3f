package wire

import (
	"errors"
	"maps"
	"slices"
	"strconv"

	"github.com/bulkhead-ecs/bulkhead/internal/sim"
)

type tasksInput struct {
	Cluster, NextToken, DesiredStatus, ContainerInstance, ServiceName, StartedBy string
	Task, Reason, TaskDefinition, Group                                          string
	Tasks, ContainerInstances                                                    []string
	Count                                                                        *int
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
	for _, t := range append(f.Tasks(), f.Stopped()...) {
		if t.Desired == want && (in.ContainerInstance == "" || in.ContainerInstance == t.Host.ARN) &&
			(in.ServiceName == "" || t.Group == "service:"+in.ServiceName) && (in.StartedBy == "" || in.StartedBy == t.StartedBy) {
			all = append(all, t.ARN)
		}
	}
	slices.Sort(all)
	return page(all, in.NextToken, "taskArns")
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
		if t, ok := f.Task(arn); ok {
			found = append(found, taskObject(f, t))
		} else {
			failures = append(failures, missing(arn))
		}
	}
	return object{"tasks": found, "failures": failures}, nil
}

func taskObject(f *sim.Fleet, t *sim.Task) object {
	cs := []object{}
	for _, c := range t.Definition.Containers {
		cs = append(cs, object{"name": c.Name, "lastStatus": t.Last, "taskArn": t.ARN, "gpuIds": t.GPUs(c.Name)})
	}
	out := object{"taskArn": t.ARN, "clusterArn": f.Cluster(), "containerInstanceArn": t.Host.ARN, "taskDefinitionArn": t.Definition.ARN, "launchType": "EC2",
		"group": t.Group, "startedBy": t.StartedBy, "lastStatus": t.Last, "desiredStatus": t.Desired, "version": t.Version, "createdAt": seconds(t.Created), "containers": cs}
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
	return started(f, in, count, func(int) (*sim.Task, error) { return f.Run(in.TaskDefinition, in.Group, in.StartedBy) })
}

func startTask(f *sim.Fleet, in tasksInput) (object, error) {
	if n := len(in.ContainerInstances); n < 1 || n > 10 {
		return nil, invalid("Container instances must be from 1 to 10.")
	}
	return started(f, in, len(in.ContainerInstances), func(i int) (*sim.Task, error) {
		return f.Start(in.TaskDefinition, in.ContainerInstances[i], in.StartedBy)
	})
}

// started runs tasks; one that has no room is a failure in the answer, no error.
func started(f *sim.Fleet, in tasksInput, n int, run func(int) (*sim.Task, error)) (object, error) {
	if err := named(f, in.Cluster); err != nil {
		return nil, err
	}
	tasks, failures := []object{}, []object{}
	for i := range n {
		t, err := run(i)
		var refused *sim.Error
		if errors.As(err, &refused) && refused.Code == "RESOURCE:GPU" {
			failures = append(failures, object{"reason": refused.Code})
			continue
		}
		if err != nil {
			return nil, err
		}
		tasks = append(tasks, taskObject(f, t))
	}
	return object{"tasks": tasks, "failures": failures}, nil
}

func stopTask(f *sim.Fleet, in tasksInput) (object, error) {
	if err := named(f, in.Cluster); err != nil {
		return nil, err
	}
	t, err := f.Stop(in.Task, in.Reason)
	if err != nil {
		return nil, err
	}
	return object{"task": taskObject(f, t)}, nil
}

func describeDefinition(f *sim.Fleet, in tasksInput) (object, error) {
	d, err := f.Definition(in.TaskDefinition)
	if err != nil {
		return nil, err
	}
	cs, tags := []object{}, []object{}
	for _, c := range d.Containers {
		k := object{"name": c.Name, "stopTimeout": int(d.StopTimeout.Seconds())}
		switch {
		case c.Whole > 0:
			k["resourceRequirements"] = []object{{"type": "GPU", "value": strconv.Itoa(c.Whole)}}
		case c.Memory > 0:
			mps := object{"memory": int64(c.Memory)}
			if c.Compute > 0 {
				mps["maxComputePercent"] = int(c.Compute)
			}
			k["resourceRequirements"] = []object{{"type": "GPU", "sharingStrategy": object{"nvidiaMps": mps}}}
		}
		cs = append(cs, k)
	}
	for _, k := range slices.Sorted(maps.Keys(d.Tags)) {
		tags = append(tags, object{"key": k, "value": d.Tags[k]})
	}
	return object{"taskDefinition": object{"taskDefinitionArn": d.ARN, "family": d.Family, "revision": d.Revision, "containerDefinitions": cs}, "tags": tags}, nil
}

type servicesInput struct {
	Cluster, Service, TaskDefinition string
	Services                         []string
	DesiredCount                     *int
}

func updateService(f *sim.Fleet, in servicesInput) (object, error) {
	if err := named(f, in.Cluster); err != nil {
		return nil, err
	}
	s, err := f.Service(in.Service)
	if err != nil {
		return nil, err
	}
	desired := s.Desired
	if in.DesiredCount != nil {
		desired = *in.DesiredCount
	}
	if err := f.UpdateService(in.Service, in.TaskDefinition, desired); err != nil {
		return nil, err
	}
	return object{"service": serviceObject(s)}, nil
}

func serviceObject(s *sim.Service) object {
	return object{"serviceName": s.Name, "status": "ACTIVE", "desiredCount": s.Desired, "taskDefinition": s.Definition.ARN}
}

func describeServices(f *sim.Fleet, in servicesInput) (object, error) {
	if err := named(f, in.Cluster); err != nil {
		return nil, err
	}
	if len(in.Services) > 10 {
		return nil, invalid("Services cannot be more than 10.")
	}
	found, failures := []object{}, []object{}
	for _, name := range in.Services {
		if s, err := f.Service(name); err == nil {
			found = append(found, serviceObject(s))
		} else {
			failures = append(failures, missing(name))
		}
	}
	return object{"services": found, "failures": failures}, nil
}
