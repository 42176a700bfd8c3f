package httpapi

import (
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/fleet"
	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

// HostDoc is a host in answers of the API and of replay. Amounts are MiB; null
// means that nothing told the figure.
type HostDoc struct {
	ContainerInstanceARN string      `json:"containerInstanceArn"`
	EC2InstanceID        string      `json:"ec2InstanceId"`
	ClusterARN           string      `json:"clusterArn"`
	Status               string      `json:"status"`
	AgentConnected       bool        `json:"agentConnected"`
	AgentVersion         string      `json:"agentVersion"`
	CapacityType         string      `json:"capacityType"`
	CapacityProvider     string      `json:"capacityProvider,omitempty"`
	InstanceType         string      `json:"instanceType,omitempty"`
	AvailabilityZone     string      `json:"availabilityZone,omitempty"`
	AMI                  string      `json:"ami,omitempty"`
	SharingCapable       bool        `json:"sharingCapable"`
	EC2State             string      `json:"ec2State,omitempty"`
	Leaving              []LeaveDoc  `json:"leaving,omitempty"`
	Health               []HealthDoc `json:"health,omitempty"`
	Devices              []DeviceDoc `json:"devices"`
	// Unplaced are shares on the host that no card is named for yet.
	Unplaced []ShareDoc `json:"unplaced,omitempty"`
}

// LeaveDoc says that the instance will go.
type LeaveDoc struct {
	Cause string    `json:"cause"`
	At    time.Time `json:"at"`
}

// HealthDoc is one of ECS's health checks of the instance.
type HealthDoc struct {
	Type    string    `json:"type"`
	Status  string    `json:"status"`
	Reason  string    `json:"reason,omitempty"`
	Changed time.Time `json:"changed"`
}

// DeviceDoc is one card.
type DeviceDoc struct {
	UUID           gpu.UUID   `json:"uuid"`
	Mode           gpu.Mode   `json:"mode"`
	TotalMiB       *gpu.MiB   `json:"totalMiB"`
	HeldMiB        gpu.MiB    `json:"heldMiB"`
	FreeMiB        *gpu.MiB   `json:"freeMiB"`
	ComputePercent int32      `json:"computePercent"`
	Clients        int        `json:"clients"`
	Registered     bool       `json:"registered"`
	Shares         []ShareDoc `json:"shares"`
}

// ShareDoc is what one container of one task holds.
type ShareDoc struct {
	TaskARN        string       `json:"taskArn"`
	Container      string       `json:"container"`
	MemoryMiB      *gpu.MiB     `json:"memoryMiB"`
	ComputePercent int32        `json:"computePercent"`
	Tier           gpu.Tier     `json:"tier"`
	State          ledger.State `json:"state"`
	Service        string       `json:"service,omitempty"`
	Definition     string       `json:"taskDefinition,omitempty"`
	LastStatus     string       `json:"lastStatus,omitempty"`
	Reservation    string       `json:"reservation,omitempty"`
	LeaseUntil     *time.Time   `json:"leaseUntil,omitempty"`
	StoppingAt     *time.Time   `json:"stoppingAt,omitempty"`
}

// FindingDoc is a named breach or doubt.
type FindingDoc struct {
	Kind     ledger.Kind     `json:"kind"`
	Severity ledger.Severity `json:"severity"`
	Subject  string          `json:"subject"`
	Reason   string          `json:"reason"`
	Host     string          `json:"host,omitempty"`
	Cluster  string          `json:"cluster,omitempty"`
}

// TenantDoc is a share with the card and host it stands on.
type TenantDoc struct {
	ShareDoc
	Device               gpu.UUID `json:"device"`
	ContainerInstanceARN string   `json:"containerInstanceArn"`
	EC2InstanceID        string   `json:"ec2InstanceId"`
}

// GPUDoc is a card with the host it sits in.
type GPUDoc struct {
	DeviceDoc
	ContainerInstanceARN string `json:"containerInstanceArn"`
	EC2InstanceID        string `json:"ec2InstanceId"`
	ClusterARN           string `json:"clusterArn"`
	HostStatus           string `json:"hostStatus"`
	Index                int    `json:"index"` // for display only: the order of UUIDs on the host
}

// SummaryDoc adds up a cluster.
type SummaryDoc struct {
	ClusterARN     string  `json:"clusterArn"`
	Hosts          int     `json:"hosts"`
	GPUs           int     `json:"gpus"`
	IdleGPUs       int     `json:"idleGpus"`
	SharedGPUs     int     `json:"sharedGpus"`
	DedicatedGPUs  int     `json:"dedicatedGpus"`
	TotalMiB       gpu.MiB `json:"totalMiB"`
	HeldMiB        gpu.MiB `json:"heldMiB"`
	ComputePercent int32   `json:"computePercent"`
	Tasks          int     `json:"tasks"`
	SharingTasks   int     `json:"sharingTasks"`
	// GPUsSaved is how many cards more the sharing tasks would take one each.
	GPUsSaved int `json:"gpusSaved"`
	Errors    int `json:"errors"`
	Warnings  int `json:"warnings"`
}

// DocOf writes a view as a document.
func DocOf(v ledger.View) HostDoc {
	h := v.Host
	d := HostDoc{
		ContainerInstanceARN: h.ID.Instance, ClusterARN: h.ID.Cluster, EC2InstanceID: h.Fixed.EC2InstanceID,
		Status: h.Registration.Status, AgentConnected: h.Registration.AgentConnected, AgentVersion: h.Registration.AgentVersion,
		CapacityType: string(h.Fixed.CapacityType), CapacityProvider: h.Fixed.CapacityProvider, InstanceType: h.Fixed.InstanceType,
		AvailabilityZone: h.Fixed.Zone, AMI: h.Fixed.AMI, SharingCapable: h.Registration.SharingCapable, EC2State: h.EC2.State,
		Devices: []DeviceDoc{},
	}
	for _, l := range h.Leaving {
		d.Leaving = append(d.Leaving, LeaveDoc(l))
	}
	for _, c := range h.Health {
		d.Health = append(d.Health, HealthDoc(c))
	}
	for _, dev := range v.Devices {
		d.Devices = append(d.Devices, deviceDoc(dev))
	}
	for _, s := range v.Unplaced {
		d.Unplaced = append(d.Unplaced, shareDoc(s))
	}
	return d
}

func deviceDoc(d ledger.Device) DeviceDoc {
	doc := DeviceDoc{UUID: d.UUID, Mode: d.Mode, HeldMiB: d.Held, ComputePercent: int32(d.Compute), Clients: d.Clients,
		Registered: d.Registered, Shares: []ShareDoc{}}
	if d.Total > 0 {
		doc.TotalMiB = &d.Total
	}
	if free, ok := d.Free(); ok {
		doc.FreeMiB = &free
	}
	for _, s := range d.Shares {
		doc.Shares = append(doc.Shares, shareDoc(s))
	}
	return doc
}

func shareDoc(s ledger.Share) ShareDoc {
	doc := ShareDoc{TaskARN: s.TaskARN, Container: s.Container, ComputePercent: int32(s.Compute), Tier: s.Tier, State: s.State,
		Service: serviceOf(s.Group), Definition: s.Definition, LastStatus: s.LastStatus, Reservation: s.Reservation}
	if s.Sized {
		doc.MemoryMiB = &s.Memory
	}
	if !s.LeaseUntil.IsZero() {
		doc.LeaseUntil = &s.LeaseUntil
	}
	if !s.StoppingAt.IsZero() && s.State.Holds() {
		doc.StoppingAt = &s.StoppingAt
	}
	return doc
}

// FindingDocs writes findings as documents.
func FindingDocs(fs []ledger.Finding) []FindingDoc {
	out := []FindingDoc{}
	for _, f := range fs {
		out = append(out, FindingDoc(f))
	}
	return out
}

func tenantDoc(t fleet.Tenant) TenantDoc {
	return TenantDoc{ShareDoc: shareDoc(t.Share), Device: t.Device, ContainerInstanceARN: t.Host.Instance, EC2InstanceID: t.EC2}
}

func gpuDocs(v ledger.View) []GPUDoc {
	var out []GPUDoc
	for i, d := range v.Devices {
		out = append(out, GPUDoc{DeviceDoc: deviceDoc(d), ContainerInstanceARN: v.Host.ID.Instance, EC2InstanceID: v.Host.Fixed.EC2InstanceID,
			ClusterARN: v.Host.ID.Cluster, HostStatus: v.Host.Registration.Status, Index: i})
	}
	return out
}

func summaryDoc(s fleet.Summary) SummaryDoc {
	return SummaryDoc{ClusterARN: s.Cluster, Hosts: s.Hosts, GPUs: s.GPUs, IdleGPUs: s.Idle, SharedGPUs: s.Shared, DedicatedGPUs: s.Dedicated,
		TotalMiB: s.Total, HeldMiB: s.Held, ComputePercent: int32(s.Compute), Tasks: s.Tasks, SharingTasks: s.SharedTasks,
		GPUsSaved: max(0, s.SharedTasks-s.Shared), Errors: s.Errors, Warnings: s.Warnings}
}
