package events

import "time"

// SourceBulkhead is the source of the events that Bulkhead publishes.
const SourceBulkhead = "bulkhead"

// Detail types of Bulkhead's own events. schemas/ holds the JSON Schema of each.
const (
	TypeShare     = "GPU Share State Change"
	TypeHost      = "GPU Host State Change"
	TypeFinding   = "GPU Finding"
	TypePlacement = "GPU Placement State Change"
	TypeCase      = "GPU Case State Change"
	TypeAdmission = "GPU Admission Finding"
	TypeBreaker   = "GPU Breaker State Change"
)

// SchemaVersion is the version of the details below. A member may be added to it;
// one that changes its meaning or goes makes a new version.
const SchemaVersion = 1

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

// PlacementChange is the detail of TypePlacement: a placement request moved on.
type PlacementChange struct {
	OwnHead
	RequestID         string `json:"requestId"`
	TaskDefinitionArn string `json:"taskDefinitionArn"`
	TaskArn           string `json:"taskArn"` // empty until ECS started it
	Before            string `json:"before"`
	After             string `json:"after"`
	Reason            string `json:"reason"`
}

func (PlacementChange) isDetail() {}

// CaseChange is the detail of TypeCase: a case about a sick host moved on.
type CaseChange struct {
	OwnHead
	CaseID  string `json:"caseId"`
	GPU     string `json:"gpu"` // empty when it is about the host
	Before  string `json:"before"`
	After   string `json:"after"`
	Mode    string `json:"mode"`    // observe, recommend or act
	Blocker string `json:"blocker"` // why it does not move; empty when it does
	Reason  string `json:"reason"`
}

func (CaseChange) isDetail() {}

// AdmissionFinding is the detail of TypeAdmission: what a registered task
// definition does that sharing does not bear.
type AdmissionFinding struct {
	OwnHead
	TaskDefinitionArn string `json:"taskDefinitionArn"`
	Container         string `json:"container"` // empty when it is about the whole
	Rule              string `json:"rule"`
	Severity          string `json:"severity"`
	Reason            string `json:"reason"`
}

func (AdmissionFinding) isDetail() {}

// BreakerChange is the detail of TypeBreaker: replacing hosts for one cause was
// halted, tried or allowed again.
type BreakerChange struct {
	OwnHead
	Scope      string `json:"scope"`
	Cause      string `json:"cause"`
	Before     string `json:"before"`
	After      string `json:"after"` // closed, open or half-open
	Detections int64  `json:"detections"`
	Reason     string `json:"reason"`
}

func (BreakerChange) isDetail() {}
