package events

import "encoding/json"

// TaskState is the detail of "ECS Task State Change". Version is the task's; it
// grows with each change, and it is the only order these events have. gpuIds are
// UUIDs of cards, present once ECS assigned them.
type TaskState struct {
	ClusterArn           Text            `json:"clusterArn"`
	TaskArn              Text            `json:"taskArn"`
	TaskDefinitionArn    Text            `json:"taskDefinitionArn"`
	ContainerInstanceArn Text            `json:"containerInstanceArn"`
	CapacityProviderName Text            `json:"capacityProviderName"`
	AvailabilityZone     Text            `json:"availabilityZone"`
	LaunchType           Text            `json:"launchType"`
	Group                Text            `json:"group"`
	StartedBy            Text            `json:"startedBy"`
	LastStatus           Text            `json:"lastStatus"`
	DesiredStatus        Text            `json:"desiredStatus"`
	StopCode             Text            `json:"stopCode"`
	StoppedReason        Text            `json:"stoppedReason"`
	Version              Int             `json:"version"`
	CreatedAt            Time            `json:"createdAt"`
	StartedAt            Time            `json:"startedAt"`
	StoppingAt           Time            `json:"stoppingAt"`
	StoppedAt            Time            `json:"stoppedAt"`
	ExecutionStoppedAt   Time            `json:"executionStoppedAt"`
	PullStartedAt        Time            `json:"pullStartedAt"`
	UpdatedAt            Time            `json:"updatedAt"`
	Attributes           []Attribute     `json:"attributes"`
	Containers           []TaskContainer `json:"containers"`
	Overrides            json.RawMessage `json:"overrides"` // unread
}

// TaskContainer is a container of the task.
type TaskContainer struct {
	Name       Text  `json:"name"`
	Arn        Text  `json:"containerArn"`
	LastStatus Text  `json:"lastStatus"`
	ExitCode   Int   `json:"exitCode"`
	Reason     Text  `json:"reason"`
	RuntimeID  Text  `json:"runtimeId"`
	Digest     Text  `json:"imageDigest"`
	GpuIDs     Texts `json:"gpuIds"`
	// SharingStrategy is gpuSharingStrategy as it came, if it came: ECS documents it
	// for DescribeTasks and no copy of the event's schema has it.
	SharingStrategy json.RawMessage `json:"gpuSharingStrategy"`
}

func (TaskState) isDetail() {}

// detailAs reads a detail into one of the kinds.
func detailAs[T Detail](raw json.RawMessage) (Detail, error) {
	var d T
	err := json.Unmarshal(raw, &d)
	return d, err
}
