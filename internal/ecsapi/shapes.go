package ecsapi

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/bulkhead-ecs/bulkhead/internal/ingest"
)

func at(t *time.Time) ingest.Time { return ingest.Time{Time: aws.ToTime(t)} }

func hostShape(c types.ContainerInstance) ingest.HostShape {
	s := ingest.HostShape{
		ContainerInstanceArn: aws.ToString(c.ContainerInstanceArn), Ec2InstanceId: aws.ToString(c.Ec2InstanceId),
		CapacityProviderName: aws.ToString(c.CapacityProviderName), Status: aws.ToString(c.Status), AgentConnected: c.AgentConnected,
		Version: c.Version, RegisteredAt: at(c.RegisteredAt), RegisteredResources: []ingest.ResourceShape{},
	}
	if c.VersionInfo != nil {
		s.VersionInfo.AgentVersion = aws.ToString(c.VersionInfo.AgentVersion)
	}
	for _, a := range c.Attributes {
		s.Attributes = append(s.Attributes, ingest.AttributeShape{Name: aws.ToString(a.Name), Value: aws.ToString(a.Value)})
	}
	for _, r := range c.RegisteredResources {
		s.RegisteredResources = append(s.RegisteredResources, ingest.ResourceShape{Name: aws.ToString(r.Name), StringSetValue: r.StringSetValue})
	}
	for _, g := range c.GpuDevices {
		s.GpuDevices = append(s.GpuDevices, ingest.GpuShape{GpuID: aws.ToString(g.GpuId), SharingMode: string(g.SharingMode),
			TotalMemoryInMiB: int64(aws.ToInt32(g.TotalMemoryInMiB))})
	}
	if c.HealthStatus != nil {
		s.HealthStatus = &struct {
			Details []ingest.HealthShape `json:"details"`
		}{}
		for _, d := range c.HealthStatus.Details {
			s.HealthStatus.Details = append(s.HealthStatus.Details, ingest.HealthShape{Type: string(d.Type), Status: string(d.Status),
				StatusReason: aws.ToString(d.StatusReason), LastStatusChange: at(d.LastStatusChange)})
		}
	}
	return s
}

func taskShape(t types.Task) ingest.TaskShape {
	s := ingest.TaskShape{
		TaskArn: aws.ToString(t.TaskArn), ClusterArn: aws.ToString(t.ClusterArn), ContainerInstanceArn: aws.ToString(t.ContainerInstanceArn),
		TaskDefinitionArn: aws.ToString(t.TaskDefinitionArn), LaunchType: string(t.LaunchType), CapacityProviderName: aws.ToString(t.CapacityProviderName),
		Group: aws.ToString(t.Group), StartedBy: aws.ToString(t.StartedBy), LastStatus: aws.ToString(t.LastStatus),
		DesiredStatus: aws.ToString(t.DesiredStatus), StopCode: string(t.StopCode), StoppedReason: aws.ToString(t.StoppedReason),
		Version: t.Version, StoppingAt: at(t.StoppingAt), StoppedAt: at(t.StoppedAt),
	}
	for _, c := range t.Containers {
		s.Containers = append(s.Containers, struct {
			Name   string   `json:"name"`
			GpuIds []string `json:"gpuIds"`
		}{aws.ToString(c.Name), c.GpuIds})
	}
	return s
}

func definitionShape(out *ecs.DescribeTaskDefinitionOutput) ingest.DefinitionShape {
	td := out.TaskDefinition
	s := ingest.DefinitionShape{TaskDefinitionArn: aws.ToString(td.TaskDefinitionArn), Family: aws.ToString(td.Family)}
	for _, t := range out.Tags {
		s.Tags = append(s.Tags, ingest.TagShape{Key: aws.ToString(t.Key), Value: aws.ToString(t.Value)})
	}
	for _, c := range td.ContainerDefinitions {
		k := ingest.ContainerShape{Name: aws.ToString(c.Name), StopTimeout: c.StopTimeout, DockerLabels: c.DockerLabels}
		for _, r := range c.ResourceRequirements {
			k.ResourceRequirements = append(k.ResourceRequirements, requirementShape(r))
		}
		s.ContainerDefinitions = append(s.ContainerDefinitions, k)
	}
	return s
}

func requirementShape(r types.ResourceRequirement) ingest.RequirementShape {
	s := ingest.RequirementShape{Type: string(r.Type), Value: aws.ToString(r.Value)}
	if mps, ok := r.SharingStrategy.(*types.SharingStrategyMemberNvidiaMps); ok {
		s.SharingStrategy = &struct {
			NvidiaMps *ingest.MpsShape `json:"nvidiaMps"`
		}{&ingest.MpsShape{Memory: int64(aws.ToInt32(mps.Value.Memory)), MaxComputePercent: mps.Value.MaxComputePercent}}
	}
	return s
}
