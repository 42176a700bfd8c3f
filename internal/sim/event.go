package sim

import (
	"encoding/json"
	"fmt"
	"time"
)

// Emitted is one EventBridge event and the virtual time at which it was made.
type Emitted struct {
	At   time.Time
	Body []byte
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

func (f *Fleet) emit(source, kind, resource string, detail map[string]any) {
	f.events++
	if f.now.Before(f.lostUntil) {
		return
	}
	body, err := json.Marshal(map[string]any{"version": "0", "id": fmt.Sprintf("%08x-0000-4000-8000-%012x", f.cfg.Seed&0xffffffff, f.events), "detail-type": kind,
		"source": source, "account": account, "time": f.now.UTC().Format(time.RFC3339), "region": region, "resources": []string{resource}, "detail": detail})
	if err != nil {
		panic(err) // only texts and numbers are written
	}
	f.out = append(f.out, Emitted{f.now, body})
}

func (f *Fleet) ec2ARN(h *Host) string {
	return instanceARN(h.EC2)
}

func (f *Fleet) ec2Event(h *Host) {
	f.emit("aws.ec2", "EC2 Instance State-change Notification", f.ec2ARN(h), map[string]any{"instance-id": h.EC2, "state": h.EC2State})
}

func (f *Fleet) hostEvent(h *Host) {
	h.Version++
	f.emit("aws.ecs", "ECS Container Instance State Change", h.ARN, map[string]any{
		"clusterArn": f.Cluster(), "containerInstanceArn": h.ARN, "ec2InstanceId": h.EC2, "status": h.Status, "agentConnected": h.Connected, "version": h.Version,
		"registeredAt": stamp(h.Registered), "updatedAt": stamp(f.now), "versionInfo": map[string]string{"agentVersion": h.AgentVersion},
		"attributes": h.AllAttributes(), "runningTasksCount": h.count("RUNNING"), "pendingTasksCount": h.count("PENDING"),
		"registeredResources": []any{map[string]any{"name": "GPU", "type": "STRINGSET", "stringSetValue": h.UUIDs()}},
	})
}

// providerName is the name of a host's capacity provider, or null.
func providerName(h *Host) any {
	if p := h.Provider(); p != nil {
		return p.Name
	}
	return nil
}

func (f *Fleet) healthEvent(h *Host) {
	check := map[string]any{"type": "ACCELERATED_COMPUTE", "status": h.Health, "lastStatusChange": stamp(h.HealthAt), "lastUpdated": stamp(f.now)}
	if h.HealthReason != "" {
		check["statusReason"] = h.HealthReason
	}
	f.emit("aws.ecs", "ECS Container Instance Health Change", h.ARN, map[string]any{
		"clusterArn": f.Cluster(), "containerInstanceArn": h.ARN, "ec2InstanceId": h.EC2, "overallStatus": h.Health, "healthChecks": []any{check}, "capacityProviderName": providerName(h)})
}

func (f *Fleet) taskEvent(t *Task) {
	t.Version++
	d := map[string]any{"clusterArn": f.Cluster(), "taskArn": t.ARN, "containerInstanceArn": t.Host.ARN, "taskDefinitionArn": t.Definition.ARN, "launchType": "EC2",
		"group": t.Group, "startedBy": t.StartedBy, "lastStatus": t.Last, "desiredStatus": t.Desired, "version": t.Version,
		"createdAt": stamp(t.Created), "updatedAt": stamp(f.now)}
	var cs []any
	for _, c := range t.Definition.Containers {
		k := map[string]any{"name": c.Name, "lastStatus": t.Last, "gpuIds": t.GPUs(c.Name)}
		if t.Last == "STOPPED" && !t.Started.IsZero() {
			k["exitCode"] = t.ExitCode
		}
		cs = append(cs, k)
	}
	d["containers"] = cs
	if !t.Started.IsZero() {
		d["startedAt"] = stamp(t.Started)
	}
	if p := t.Host.Provider(); p != nil {
		d["capacityProviderName"] = p.Name
	}
	if t.Desired == "STOPPED" {
		d["stoppingAt"], d["stoppedReason"] = stamp(t.Stopping), t.Reason
		if t.StopCode != "" {
			d["stopCode"] = t.StopCode
		}
	}
	if t.Last == "STOPPED" {
		d["stoppedAt"] = stamp(t.Stopped)
	}
	f.emit("aws.ecs", "ECS Task State Change", t.ARN, d)
}

func (f *Fleet) serviceEvent(s *Service, severity, name, reason string) {
	d := map[string]any{"eventType": severity, "eventName": name, "clusterArn": f.Cluster(), "createdAt": stamp(f.now)}
	if reason != "" {
		d["reason"] = reason
	}
	f.emit("aws.ecs", "ECS Service Action", f.ServiceARN(s), d)
}
