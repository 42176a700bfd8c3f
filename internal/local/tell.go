package local

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/fleet"
	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

func (d *day) hostEvent(h *dayHost) {
	h.version++
	d.event("aws.ecs", "ECS Container Instance State Change", h.arn, map[string]any{
		"clusterArn": dayCluster, "containerInstanceArn": h.arn, "ec2InstanceId": h.ec2, "status": h.status, "agentConnected": h.connected, "version": h.version,
		"registeredAt": h.registered.Format(time.RFC3339Nano), "updatedAt": d.now.Format(time.RFC3339Nano), "versionInfo": map[string]string{"agentVersion": "1.107.0"},
		"attributes": []any{map[string]string{"name": "ecs.capability.gpu-sharing-mps"}, map[string]string{"name": "ecs.instance-type", "value": h.shape.name},
			map[string]string{"name": "ecs.availability-zone", "value": h.zone}},
		"registeredResources": []any{map[string]any{"name": "GPU", "type": "STRINGSET", "stringSetValue": h.uuids()}},
	})
}

func (h *dayHost) uuids() []string {
	var out []string
	for _, c := range h.cards {
		out = append(out, c.uuid)
	}
	return out
}

func (d *day) taskEvent(t *dayTask) {
	t.version++
	detail := map[string]any{"clusterArn": dayCluster, "taskArn": t.arn, "containerInstanceArn": t.host.arn, "taskDefinitionArn": t.service.definition(), "launchType": "EC2",
		"group": "service:" + t.service.name, "startedBy": "ecs-svc/0987654321098765432", "lastStatus": t.last, "desiredStatus": t.desired, "version": t.version,
		"createdAt": t.created.Format(time.RFC3339Nano), "updatedAt": d.now.Format(time.RFC3339Nano), "containers": t.containers()}
	if t.desired == "STOPPED" {
		detail["stoppingAt"], detail["stoppedReason"], detail["stopCode"] = t.stopping.Format(time.RFC3339Nano), t.reason, t.stopCode
	}
	if t.last == "STOPPED" {
		detail["stoppedAt"] = t.stopped.Format(time.RFC3339Nano)
	}
	d.event("aws.ecs", "ECS Task State Change", t.arn, detail)
}

func (t *dayTask) containers() []any {
	var out []any
	for _, c := range t.service.containers {
		out = append(out, map[string]any{"name": c.name, "lastStatus": t.last, "gpuIds": []string{t.card.uuid}})
	}
	return out
}

func (s *dayService) definition() string {
	return dayHead + fmt.Sprintf("task-definition/%s:%d", s.name, len(s.name))
}

// Definition implements fleet.Definitions, as DescribeTaskDefinition would answer.
func (d *day) Definition(_ context.Context, arn string) (ledger.Definition, error) {
	for _, s := range d.services {
		if s.definition() != arn {
			continue
		}
		def := ledger.Definition{ARN: arn, Family: s.name, TierTag: s.tier, StopTimeout: s.stop}
		for _, c := range s.containers {
			need := ledger.ContainerNeed{Name: c.name, Need: ledger.NeedShare, Memory: gpu.MiB(c.mib), Compute: gpu.Percent(c.percent)}
			if c.whole {
				need = ledger.ContainerNeed{Name: c.name, Need: ledger.NeedWhole, Count: 1}
			}
			def.Containers = append(def.Containers, need)
		}
		return def, nil
	}
	return ledger.Definition{}, ledger.ErrNotFound
}

// ListHosts implements fleet.ECS.
func (d *day) ListHosts(context.Context, string, string) ([]string, string, error) {
	var out []string
	for _, h := range d.hosts {
		if h.status != "INACTIVE" && h.version > 0 {
			out = append(out, h.arn)
		}
	}
	return out, "", nil
}

// DescribeHosts implements fleet.ECS.
func (d *day) DescribeHosts(_ context.Context, _ string, arns []string) (found []fleet.SeenHost, missing []string, err error) {
	for _, arn := range arns {
		i := slices.IndexFunc(d.hosts, func(h *dayHost) bool { return h.arn == arn })
		if i < 0 {
			missing = append(missing, arn)
			continue
		}
		h := d.hosts[i]
		x := fleet.SeenHost{ID: ledger.HostID{Cluster: dayCluster, Instance: arn}, Seen: ledger.HostSeen{
			Fixed:        ledger.Fixed{EC2InstanceID: h.ec2, InstanceType: h.shape.name, Zone: h.zone, CapacityProvider: "gpu-local", RegisteredAt: h.registered},
			Registration: ledger.Registration{Version: int64(h.version), Status: h.status, AgentConnected: h.connected, AgentVersion: "1.107.0", SharingCapable: true}}}
		for _, c := range h.cards {
			x.Seen.GPUs = append(x.Seen.GPUs, gpu.UUID(c.uuid))
			x.Seen.Described = append(x.Seen.Described, ledger.DeviceTotal{UUID: gpu.UUID(c.uuid), Total: gpu.MiB(h.shape.mib), Mode: gpu.ModeUnknown})
		}
		slices.Sort(x.Seen.GPUs)
		found = append(found, x)
	}
	return found, missing, nil
}

// ListTasks implements fleet.ECS.
func (d *day) ListTasks(_ context.Context, _, desired, _ string) ([]string, string, error) {
	var out []string
	for _, t := range d.sorted() {
		if t.desired == desired {
			out = append(out, t.arn)
		}
	}
	return out, "", nil
}

// Tasks implements fleet.TaskOracle.
func (d *day) Tasks(_ context.Context, _ string, arns []string) (found []fleet.SeenTask, missing []string, err error) {
	for _, arn := range arns {
		t, ok := d.tasks[arn]
		if !ok {
			missing = append(missing, arn)
			continue
		}
		x := fleet.SeenTask{Host: ledger.HostID{Cluster: dayCluster, Instance: t.host.arn}, Task: ledger.Task{ARN: arn, Version: int64(t.version), LastStatus: t.last,
			Definition: t.service.definition(), Group: "service:" + t.service.name, StartedBy: "ecs-svc/0987654321098765432", Capacity: ledger.CapacityEC2,
			StoppingAt: t.stopping, StoppedAt: t.stopped, StopCode: t.stopCode, StopReason: t.reason}}
		switch {
		case t.last == "STOPPED":
			x.Task.Phase = ledger.PhaseStopped
		case t.desired == "STOPPED":
			x.Task.Phase = ledger.PhaseStopping
		}
		for _, c := range t.service.containers {
			x.Containers = append(x.Containers, fleet.SeenContainer{Name: c.name, GPUs: []string{t.card.uuid}})
		}
		found = append(found, x)
	}
	return found, missing, nil
}
