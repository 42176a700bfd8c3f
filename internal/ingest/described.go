package ingest

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

// The shapes below are the parts of ECS's Describe answers that the ledger reads,
// with ECS's own member names, so that a saved answer of the AWS CLI decodes into
// them and an adapter fills them from the SDK's types.

// DefinitionShape is a task definition (DescribeTaskDefinition).
type DefinitionShape struct {
	TaskDefinitionArn    string           `json:"taskDefinitionArn"`
	Family               string           `json:"family"`
	ContainerDefinitions []ContainerShape `json:"containerDefinitions"`
	Tags                 []TagShape       `json:"-"` // beside the definition in the answer
}

// ContainerShape is one of its containers.
type ContainerShape struct {
	Name                 string             `json:"name"`
	ResourceRequirements []RequirementShape `json:"resourceRequirements"`
	StopTimeout          *int32             `json:"stopTimeout"`
	DockerLabels         map[string]string  `json:"dockerLabels"`
}

// RequirementShape is a resource requirement.
type RequirementShape struct {
	Type            string `json:"type"`
	Value           string `json:"value"`
	SharingStrategy *struct {
		NvidiaMps *MpsShape `json:"nvidiaMps"`
	} `json:"sharingStrategy"`
}

// MpsShape is NvidiaMpsAllocation.
type MpsShape struct {
	Memory            int64  `json:"memory"`
	MaxComputePercent *int32 `json:"maxComputePercent"`
}

// TagShape is a resource tag.
type TagShape struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// DefinitionOf reads what the ledger needs of a task definition. The tag wins
// over the docker labels; among containers the first by name wins.
func DefinitionOf(s DefinitionShape) ledger.Definition {
	d := ledger.Definition{ARN: s.TaskDefinitionArn, Family: s.Family}
	containers := slices.Clone(s.ContainerDefinitions)
	slices.SortStableFunc(containers, func(a, b ContainerShape) int { return strings.Compare(a.Name, b.Name) })
	for _, c := range containers {
		if need, ok := needOf(c); ok && len(d.Containers) < MaxShares {
			d.Containers = append(d.Containers, need)
		}
		if c.StopTimeout != nil {
			d.StopTimeout = max(d.StopTimeout, time.Duration(*c.StopTimeout)*time.Second)
		}
		if v, ok := c.DockerLabels[TierTag]; ok && d.TierTag == "" {
			d.TierTag = Bounded(v, 2*gpu.MaxTierLen)
		}
	}
	for _, t := range s.Tags {
		if t.Key == TierTag {
			d.TierTag = Bounded(t.Value, 2*gpu.MaxTierLen)
		}
	}
	return d
}

func needOf(c ContainerShape) (ledger.ContainerNeed, bool) {
	for _, r := range c.ResourceRequirements {
		if !strings.EqualFold(r.Type, "GPU") {
			continue
		}
		need := ledger.ContainerNeed{Name: Bounded(c.Name, 255)}
		switch {
		case r.SharingStrategy != nil && r.SharingStrategy.NvidiaMps != nil:
			need.Need, need.Memory = ledger.NeedShare, gpu.MiB(r.SharingStrategy.NvidiaMps.Memory)
			if p := r.SharingStrategy.NvidiaMps.MaxComputePercent; p != nil {
				if need.Compute = gpu.Percent(*p); *p == 0 {
					need.Compute = gpu.DeclaredZero
				}
			}
		case strings.EqualFold(r.Value, "ALL"):
			need.Need = ledger.NeedAll
		default:
			// A fraction is a hardware slice (G6f), which MPS does not share: it asks for
			// a card all the same, of a size that nobody here knows.
			if n, err := strconv.Atoi(r.Value); err == nil && n > 0 {
				need.Need, need.Count = ledger.NeedWhole, n
			}
		}
		return need, true
	}
	return ledger.ContainerNeed{}, false
}

// TaskShape is a task (DescribeTasks).
type TaskShape struct {
	TaskArn              string `json:"taskArn"`
	ClusterArn           string `json:"clusterArn"`
	ContainerInstanceArn string `json:"containerInstanceArn"`
	TaskDefinitionArn    string `json:"taskDefinitionArn"`
	LaunchType           string `json:"launchType"`
	CapacityProviderName string `json:"capacityProviderName"`
	Group                string `json:"group"`
	StartedBy            string `json:"startedBy"`
	LastStatus           string `json:"lastStatus"`
	DesiredStatus        string `json:"desiredStatus"`
	StopCode             string `json:"stopCode"`
	StoppedReason        string `json:"stoppedReason"`
	Version              int64  `json:"version"`
	StoppingAt           Time   `json:"stoppingAt"`
	StoppedAt            Time   `json:"stoppedAt"`
	Containers           []struct {
		Name   string   `json:"name"`
		GpuIds []string `json:"gpuIds"`
	} `json:"containers"`
}

// TaskOf reads a described task. The second answer is its containers' cards. A
// version that cannot be one (negative, absurdly high) is refused by name, as in
// an event.
func TaskOf(s TaskShape, at time.Time) (ledger.HostID, ledger.Task, []ContainerGPUs, error) {
	f := taskFacts{
		arn: s.TaskArn, definition: s.TaskDefinitionArn, group: s.Group, startedBy: s.StartedBy, launchType: s.LaunchType,
		last: s.LastStatus, desired: s.DesiredStatus, stopCode: s.StopCode, stopReason: s.StoppedReason, version: s.Version,
		stopping: s.StoppingAt.Time, stopped: s.StoppedAt.Time, at: at,
	}
	if err := f.check(); err != nil {
		return ledger.HostID{}, ledger.Task{}, nil, err
	}
	var cs []ContainerGPUs
	for _, c := range s.Containers {
		cs = append(cs, ContainerGPUs{Name: Bounded(c.Name, 255), IDs: c.GpuIds})
	}
	return ledger.HostID{Cluster: s.ClusterArn, Instance: s.ContainerInstanceArn}, f.task(), cs, nil
}

// HostShape is a container instance (DescribeContainerInstances).
type HostShape struct {
	ContainerInstanceArn string           `json:"containerInstanceArn"`
	Ec2InstanceId        string           `json:"ec2InstanceId"`
	CapacityProviderName string           `json:"capacityProviderName"`
	Status               string           `json:"status"`
	AgentConnected       bool             `json:"agentConnected"`
	Version              int64            `json:"version"`
	RegisteredAt         Time             `json:"registeredAt"`
	VersionInfo          VersionShape     `json:"versionInfo"`
	Attributes           []AttributeShape `json:"attributes"`
	RegisteredResources  []ResourceShape  `json:"registeredResources"`
	GpuDevices           []GpuShape       `json:"gpuDevices"`
	HealthStatus         *struct {
		Details []HealthShape `json:"details"`
	} `json:"healthStatus"`
}

// VersionShape is VersionInfo.
type VersionShape struct {
	AgentVersion string `json:"agentVersion"`
}

// AttributeShape is an attribute of a container instance.
type AttributeShape struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// ResourceShape is a registered resource; only the GPU string set is read.
type ResourceShape struct {
	Name           string   `json:"name"`
	StringSetValue []string `json:"stringSetValue"`
}

// GpuShape is GpuDevice.
type GpuShape struct {
	GpuID            string `json:"gpuId"`
	SharingMode      string `json:"sharingMode"`
	TotalMemoryInMiB int64  `json:"totalMemoryInMiB"`
}

// HealthShape is InstanceHealthCheckResult.
type HealthShape struct {
	Type             string `json:"type"`
	Status           string `json:"status"`
	StatusReason     string `json:"statusReason"`
	LastStatusChange Time   `json:"lastStatusChange"`
}

// HostOf reads a described container instance of a cluster.
func HostOf(s HostShape, cluster string, at time.Time) (ledger.HostID, ledger.HostSeen, []ledger.HealthCheck, error) {
	if s.Version < 0 || s.Version > MaxVersion {
		return ledger.HostID{}, ledger.HostSeen{}, nil, absurdVersion(s.Version)
	}
	seen := ledger.HostSeen{
		Fixed: ledger.Fixed{EC2InstanceID: s.Ec2InstanceId, CapacityProvider: s.CapacityProviderName, RegisteredAt: ms(s.RegisteredAt.Time)},
		Registration: ledger.Registration{Version: s.Version, At: ms(at), Status: Bounded(s.Status, 32), AgentConnected: s.AgentConnected,
			AgentVersion: Bounded(s.VersionInfo.AgentVersion, 64)},
		GPUs: registeredGPUs(s.RegisteredResources),
	}
	readAttributes(&seen, s.Attributes)
	for _, g := range s.GpuDevices[:min(len(s.GpuDevices), MaxContainerGPUs)] {
		if u := gpu.UUID(g.GpuID); u.Valid() {
			seen.Described = append(seen.Described, ledger.DeviceTotal{UUID: u, Total: gpu.MiB(g.TotalMemoryInMiB), Mode: gpu.ModeOf(g.SharingMode)})
		}
	}
	var health []ledger.HealthCheck
	if s.HealthStatus != nil {
		for _, c := range s.HealthStatus.Details[:min(len(s.HealthStatus.Details), 16)] {
			health = append(health, ledger.HealthCheck{Type: Bounded(c.Type, 64), Status: Bounded(c.Status, 32),
				Reason: Bounded(c.StatusReason, 256), Changed: ms(c.LastStatusChange.Time)})
		}
	}
	return ledger.HostID{Cluster: cluster, Instance: s.ContainerInstanceArn}, seen, health, nil
}

// registeredGPUs are the cards of a registration, nil when the resources were not told.
func registeredGPUs(rs []ResourceShape) []gpu.UUID {
	if rs == nil {
		return nil
	}
	out := []gpu.UUID{}
	for _, r := range rs {
		if r.Name != "GPU" {
			continue
		}
		for _, id := range r.StringSetValue[:min(len(r.StringSetValue), MaxContainerGPUs)] {
			if u := gpu.UUID(id); u.Valid() {
				out = append(out, u)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// CapabilityMPS is the attribute of an instance whose agent can share its GPUs.
const CapabilityMPS = "ecs.capability.gpu-sharing-mps"

func readAttributes(seen *ledger.HostSeen, attrs []AttributeShape) {
	for _, a := range attrs {
		switch a.Name {
		case CapabilityMPS:
			seen.Registration.SharingCapable = true
		case "ecs.instance-type":
			seen.Fixed.InstanceType = Bounded(a.Value, 64)
		case "ecs.availability-zone":
			seen.Fixed.Zone = Bounded(a.Value, 64)
		case "ecs.ami-id":
			seen.Fixed.AMI = Bounded(a.Value, 64)
		}
	}
}
