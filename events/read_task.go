package events

import "encoding/json"

// The task event is most of the traffic, so it is read by the cursor and not by
// reflection; the tests hold both ways against each other. What each member takes
// is decided by the same UnmarshalJSON methods.

func readTask(raw json.RawMessage) (Detail, error) {
	var d TaskState
	c := cursor{b: raw}
	err := c.object(func(name, value []byte) error { return d.member(name, value) })
	if err != nil {
		return detailAs[TaskState](raw) // slower, and its error names the member
	}
	return d, nil
}

func (d *TaskState) member(name, value []byte) error {
	switch string(name) {
	case "clusterArn":
		return d.ClusterArn.UnmarshalJSON(value)
	case "taskArn":
		return d.TaskArn.UnmarshalJSON(value)
	case "taskDefinitionArn":
		return d.TaskDefinitionArn.UnmarshalJSON(value)
	case "containerInstanceArn":
		return d.ContainerInstanceArn.UnmarshalJSON(value)
	case "capacityProviderName":
		return d.CapacityProviderName.UnmarshalJSON(value)
	case "availabilityZone":
		return d.AvailabilityZone.UnmarshalJSON(value)
	case "launchType":
		return d.LaunchType.UnmarshalJSON(value)
	case "group":
		return d.Group.UnmarshalJSON(value)
	case "startedBy":
		return d.StartedBy.UnmarshalJSON(value)
	case "lastStatus":
		return d.LastStatus.UnmarshalJSON(value)
	case "desiredStatus":
		return d.DesiredStatus.UnmarshalJSON(value)
	case "stopCode":
		return d.StopCode.UnmarshalJSON(value)
	case "stoppedReason":
		return d.StoppedReason.UnmarshalJSON(value)
	case "version":
		return d.Version.UnmarshalJSON(value)
	case "createdAt":
		return d.CreatedAt.UnmarshalJSON(value)
	case "startedAt":
		return d.StartedAt.UnmarshalJSON(value)
	case "stoppingAt":
		return d.StoppingAt.UnmarshalJSON(value)
	case "stoppedAt":
		return d.StoppedAt.UnmarshalJSON(value)
	case "executionStoppedAt":
		return d.ExecutionStoppedAt.UnmarshalJSON(value)
	case "pullStartedAt":
		return d.PullStartedAt.UnmarshalJSON(value)
	case "updatedAt":
		return d.UpdatedAt.UnmarshalJSON(value)
	case "attributes":
		return list(value, &d.Attributes, (*Attribute).member)
	case "containers":
		return list(value, &d.Containers, (*TaskContainer).member)
	case "overrides":
		d.Overrides = append(json.RawMessage{}, value...)
	}
	return nil
}

func (c *TaskContainer) member(name, value []byte) error {
	switch string(name) {
	case "name":
		return c.Name.UnmarshalJSON(value)
	case "containerArn":
		return c.Arn.UnmarshalJSON(value)
	case "lastStatus":
		return c.LastStatus.UnmarshalJSON(value)
	case "exitCode":
		return c.ExitCode.UnmarshalJSON(value)
	case "reason":
		return c.Reason.UnmarshalJSON(value)
	case "runtimeId":
		return c.RuntimeID.UnmarshalJSON(value)
	case "imageDigest":
		return c.Digest.UnmarshalJSON(value)
	case "gpuIds":
		return c.GpuIDs.UnmarshalJSON(value)
	case "gpuSharingStrategy":
		c.SharingStrategy = append(json.RawMessage{}, value...)
	}
	return nil
}

func (a *Attribute) member(name, value []byte) error {
	switch string(name) {
	case "name":
		return a.Name.UnmarshalJSON(value)
	case "value":
		return a.Value.UnmarshalJSON(value)
	}
	return nil
}
