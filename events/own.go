package events

import (
	"encoding/json"
	"time"
)

// SourceBulkhead is the source of the events that Bulkhead publishes.
const SourceBulkhead = "bulkhead"

// Detail types of Bulkhead's own events. schemas/ holds the JSON Schema of each.
const (
	TypeShare   = "GPU Share State Change"
	TypeHost    = "GPU Host State Change"
	TypeFinding = "GPU Finding"
)

// OwnHead is what each of Bulkhead's own events has. ID is the same whenever the
// same change is published again: drop doubles by it.
type OwnHead struct {
	Schema               int       `json:"schema"`
	ID                   string    `json:"id"`
	At                   time.Time `json:"at"`
	ClusterArn           string    `json:"clusterArn"`
	ContainerInstanceArn string    `json:"containerInstanceArn"`
	EC2InstanceID        string    `json:"ec2InstanceId"`
}

// ShareChange is the detail of TypeShare. An empty state is "did not exist".
type ShareChange struct {
	OwnHead
	GPU            string `json:"gpu"` // empty while ECS named no card
	TaskArn        string `json:"taskArn"`
	Reservation    string `json:"reservation,omitempty"`
	Container      string `json:"container"`
	Before         string `json:"before"`
	After          string `json:"after"`
	MemoryMiB      *int64 `json:"memoryMiB"` // null when not known
	ComputePercent int32  `json:"computePercent"`
	Tier           string `json:"tier"`
}

func (ShareChange) isDetail() {}

// HostChange is the detail of TypeHost: one fact of a host changed.
type HostChange struct {
	OwnHead
	What   string `json:"what"`
	Before string `json:"before"`
	After  string `json:"after"`
}

func (HostChange) isDetail() {}

// FindingChange is the detail of TypeFinding: a finding opened or closed.
type FindingChange struct {
	OwnHead
	Kind     string `json:"kind"`
	Severity string `json:"severity"`
	Subject  string `json:"subject"`
	Reason   string `json:"reason"`
	State    string `json:"state"` // open or closed
}

func (FindingChange) isDetail() {}

// kinds is the closed set.
var kinds = map[kind]func(json.RawMessage) (Detail, error){
	{"aws.ecs", "ECS Task State Change"}:                               detailAs[TaskState],
	{"aws.ecs", "ECS Container Instance State Change"}:                 detailAs[ContainerInstanceState],
	{"aws.ecs", "ECS Container Instance Health Change"}:                detailAs[ContainerInstanceHealth],
	{"aws.ecs", "ECS Service Action"}:                                  detailAs[ServiceAction],
	{"aws.ecs", "ECS Deployment State Change"}:                         detailAs[DeploymentState],
	{"aws.ecs", "AWS API Call via CloudTrail"}:                         detailAs[APICall],
	{"aws.ec2", "EC2 Instance State-change Notification"}:              detailAs[EC2State],
	{"aws.ec2", "EC2 Spot Instance Interruption Warning"}:              detailAs[SpotInterruption],
	{"aws.ec2", "EC2 Instance Rebalance Recommendation"}:               detailAs[Rebalance],
	{"aws.autoscaling", "EC2 Instance-terminate Lifecycle Action"}:     detailAs[Lifecycle],
	{"aws.autoscaling", "EC2 Instance-launch Lifecycle Action"}:        detailAs[Lifecycle],
	{"aws.ssm", "EC2 Command Status-change Notification"}:              detailAs[SSMCommand],
	{"aws.ssm", "EC2 Command Invocation Status-change Notification"}:   detailAs[SSMCommand],
	{"aws.ssm", "EC2 State Manager Instance Association State Change"}: detailAs[SSMAssociation],
	{"aws.health", "AWS Health Event"}:                                 detailAs[AWSHealth],
	{SourceBulkhead, TypeShare}:                                        detailAs[ShareChange],
	{SourceBulkhead, TypeHost}:                                         detailAs[HostChange],
	{SourceBulkhead, TypeFinding}:                                      detailAs[FindingChange],
}
