package ledger

import (
	"slices"
	"strings"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
)

// HostID names one registration of one container instance, by its ARNs.
type HostID struct {
	Cluster  string // cluster ARN
	Instance string // container instance ARN
}

// String is the container instance ARN: it is unique by itself.
func (id HostID) String() string { return id.Instance }

// Host is one registration of one container instance and all that is known of
// it. It is a value: functions that change it return a new one, and slices
// inside are never written in place.
type Host struct {
	ID HostID
	// Revision counts commits. Zero means that no store holds this host yet.
	// It is the store's fence, not a fact of ECS.
	Revision int64
	// Schema is the form of the item that the host was read from. A store refuses to
	// write over a newer form than it knows; zero is its own.
	Schema int
	// Damaged is true when the item could not be decoded: nothing is known of the
	// host but its id, until ECS tells of it again.
	Damaged bool

	// Fixed are facts that stay true as long as the registration lasts.
	Fixed Fixed
	// BootID is the kernel's, told by the host's own report; empty until one came.
	// GPU UUIDs can change across boots, so state about cards is read with it.
	BootID string

	Registration Registration
	EC2          EC2State
	Health       []HealthCheck // one a type, ordered by type
	Leaving      []Leaving     // one a cause, ordered by cause
	// Listed is one more than the newest registration version that listed the
	// cards; zero when none did. A card whose own Registered is lower has vanished.
	Listed       int64
	Devices      []DeviceFacts // ordered by UUID
	Tasks        []Task        // ordered by ARN; stopped ones are tombstones
	Reservations []Reservation // ordered by ID
}

// Fixed holds what does not change while a registration lasts. No event tells
// all of it, so each fact is kept once anything told it; a contradiction keeps
// the greater word, whichever came first.
type Fixed struct {
	EC2InstanceID    string
	InstanceType     string
	Zone             string
	AMI              string
	CapacityProvider string
	CapacityType     CapacityType
	RegisteredAt     time.Time
}

// Registration is what ECS says of the container instance at ECS's own version
// of it (detail.version, ContainerInstance.version).
type Registration struct {
	Version int64
	// At orders sayings only where Version is zero, as in Task.
	At             time.Time
	Status         string // ACTIVE, DRAINING, REGISTERING, DEREGISTERING, REGISTRATION_FAILED, INACTIVE
	AgentConnected bool
	AgentVersion   string
	// SharingCapable: the instance has the attribute ecs.capability.gpu-sharing-mps.
	SharingCapable bool
}

// CapacityType tells who owns the instance: the difference decides who watches
// its MPS daemon and who may replace it.
type CapacityType string

// The two capacities that can share a GPU. Unknown until a task or a description says.
const (
	CapacityUnknown CapacityType = ""
	CapacityEC2     CapacityType = "EC2"
	CapacityManaged CapacityType = "MANAGED_INSTANCES"
)

// EC2State is the latest state of the instance that EC2 told, by event time:
// these events carry no version.
type EC2State struct {
	State string // pending, running, shutting-down, stopped, stopping, terminated
	At    time.Time
}

// HealthCheck is one check of an "ECS Container Instance Health Change" event.
// Such events carry no version; the change time orders them.
type HealthCheck struct {
	Type    string // ACCELERATED_COMPUTE, AGENT_CONNECTIVITY, CONTAINER_RUNTIME, DAEMON
	Status  string // OK, IMPAIRED, INSUFFICIENT_DATA, INITIALIZING
	Reason  string // bounded free text
	Changed time.Time
}

// Leaving is one notice that the instance will go soon.
type Leaving struct {
	Cause string // spot-interruption, rebalance, lifecycle-terminating, scheduled-event
	At    time.Time
}

// DeviceFacts is what was said of one card.
type DeviceFacts struct {
	UUID gpu.UUID
	// Registered is one more than the newest registration version that listed the
	// card; see Host.Listed. Zero when only a task named it.
	Registered int64
	// Total is the memory that the ECS agent reported, told only by
	// DescribeContainerInstances (gpuDevices); zero when never told.
	Total gpu.MiB
	// Described is one more than the registration version that Total and Mode come from.
	Described int64
	// Mode is ECS's own word for the card at Described.
	Mode gpu.Mode
}

// Gone reports whether the registration has ended: then nothing on it holds
// anything any more.
func (h Host) Gone() bool {
	return h.Registration.Status == "INACTIVE" || h.EC2.State == "terminated"
}

// Task finds a task by ARN.
func (h Host) Task(arn string) (Task, bool) {
	i, ok := slices.BinarySearchFunc(h.Tasks, arn, func(t Task, a string) int { return strings.Compare(t.ARN, a) })
	if !ok {
		return Task{}, false
	}
	return h.Tasks[i], true
}

// Device finds what was said of a card.
func (h Host) Device(u gpu.UUID) (DeviceFacts, bool) {
	i, ok := slices.BinarySearchFunc(h.Devices, u, compareDevice)
	if !ok {
		return DeviceFacts{}, false
	}
	return h.Devices[i], true
}

func compareDevice(d DeviceFacts, u gpu.UUID) int { return strings.Compare(string(d.UUID), string(u)) }

// Cards are the registered cards of the host.
func (h Host) Cards() []gpu.UUID {
	var out []gpu.UUID
	for _, d := range h.Devices {
		if !h.vanished(d) {
			out = append(out, d.UUID)
		}
	}
	return out
}
