package wire

import (
	"fmt"
	"slices"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/sim"
)

var scalingOperations = map[string]queryOperation{
	"DescribeAutoScalingGroups": describeGroups, "DescribeAutoScalingInstances": describeMembers, "DescribeLifecycleHooks": describeHooks,
	"DetachInstances": detachInstances, "TerminateInstanceInAutoScalingGroup": terminateInGroup, "SetInstanceProtection": setProtection,
	"CompleteLifecycleAction": completeLifecycle, "RecordLifecycleActionHeartbeat": heartbeat, "PutLifecycleHook": putHook,
	"SetDesiredCapacity": setDesired, "UpdateAutoScalingGroup": updateGroup, "SuspendProcesses": suspend, "ResumeProcesses": resume,
}

const groupName = "AutoScalingGroupName"

func describeGroups(f *sim.Fleet, q form) (object, error) {
	names, all := q.list("AutoScalingGroupNames.member"), []object{}
	for _, g := range f.Groups() {
		if len(names) == 0 || slices.Contains(names, g.Name) {
			all = append(all, groupObject(g))
		}
	}
	got, next, err := cut(all, q, "NextToken", "MaxRecords", 100)
	return object{"AutoScalingGroups": got, "NextToken": next}, err
}

func groupObject(g *sim.Group) object {
	members, tags, suspended := []object{}, []object{}, []object{}
	for _, h := range g.Members() {
		members = append(members, memberObject(h))
	}
	for _, k := range sortedKeys(g.Tags) {
		tags = append(tags, object{"Key": k, "Value": g.Tags[k], "PropagateAtLaunch": true, "ResourceId": g.Name, "ResourceType": "auto-scaling-group"})
	}
	for _, p := range g.Suspended {
		suspended = append(suspended, object{"ProcessName": p, "SuspensionReason": "User suspended"})
	}
	return object{groupName: g.Name, "AutoScalingGroupARN": g.ARN, "MinSize": g.Min, "MaxSize": g.Max, "DesiredCapacity": g.Desired, "DefaultCooldown": 300,
		"AvailabilityZones": sim.Zones(), "HealthCheckType": "EC2", "CreatedTime": g.Created, "Instances": members, "Tags": tags, "SuspendedProcesses": suspended,
		"NewInstancesProtectedFromScaleIn": g.Protect}
}

func memberObject(h *sim.Host) object {
	health := "Healthy"
	if h.Unhealthy {
		health = "Unhealthy"
	}
	return object{"InstanceId": h.EC2, "InstanceType": h.Shape.Name, "AvailabilityZone": h.Zone, "LifecycleState": h.Lifecycle, "HealthStatus": health,
		"ProtectedFromScaleIn": h.ScaleInProtected, "ImageId": h.AMI}
}

func describeMembers(f *sim.Fleet, q form) (object, error) {
	ids, all := q.list("InstanceIds.member"), []object{}
	if len(ids) > 50 {
		return nil, validation("The number of instance ids must be at most 50")
	}
	for _, g := range f.Groups() {
		for _, h := range g.Members() {
			if len(ids) == 0 || slices.Contains(ids, h.EC2) {
				m := memberObject(h)
				m[groupName] = g.Name
				all = append(all, m)
			}
		}
	}
	got, next, err := cut(all, q, "NextToken", "MaxRecords", 50)
	return object{"AutoScalingInstances": got, "NextToken": next}, err
}

func describeHooks(f *sim.Fleet, q form) (object, error) {
	g, err := f.Group(q.Get(groupName))
	if err != nil {
		return nil, err
	}
	names, out := q.list("LifecycleHookNames.member"), []object{}
	for _, h := range g.Hooks {
		if len(names) == 0 || slices.Contains(names, h.Name) {
			out = append(out, object{"LifecycleHookName": h.Name, groupName: g.Name, "LifecycleTransition": h.Transition, "NotificationMetadata": h.Metadata,
				"HeartbeatTimeout": int(h.Heartbeat.Seconds()), "GlobalTimeout": int(h.Global().Seconds()), "DefaultResult": h.Default})
		}
	}
	return object{"LifecycleHooks": out}, nil
}

// activity is the scaling activity that a change of one instance begins.
func activity(f *sim.Fleet, group, verb string, h *sim.Host) object {
	return object{"ActivityId": fmt.Sprintf("%s-%d", h.EC2, f.Now().Unix()), groupName: group, "Cause": "user request", "Description": verb + " EC2 instance: " + h.EC2,
		"StartTime": f.Now(), "StatusCode": "InProgress", "Progress": 0}
}

// decrements reads the flag that these calls must be given.
func decrements(q form) (bool, error) {
	if !q.Has("ShouldDecrementDesiredCapacity") {
		return false, validation("ShouldDecrementDesiredCapacity must not be null")
	}
	return q.flag("ShouldDecrementDesiredCapacity"), nil
}

func detachInstances(f *sim.Fleet, q form) (object, error) {
	less, err := decrements(q)
	if err != nil {
		return nil, err
	}
	hosts, err := f.Detach(q.Get(groupName), q.list("InstanceIds.member"), less)
	if err != nil {
		return nil, err
	}
	out := []object{}
	for _, h := range hosts {
		out = append(out, activity(f, q.Get(groupName), "Detaching", h))
	}
	return object{"Activities": out}, nil
}

func terminateInGroup(f *sim.Fleet, q form) (object, error) {
	less, err := decrements(q)
	if err != nil {
		return nil, err
	}
	if len(q.list("InstanceIds.member")) > 0 {
		return nil, validation("the simulator takes one InstanceId")
	}
	h, err := f.TerminateInGroup(q.Get("InstanceId"), less)
	if err != nil {
		return nil, err
	}
	return object{"Activity": activity(f, h.Group.Name, "Terminating", h)}, nil
}

func setProtection(f *sim.Fleet, q form) (object, error) {
	return object{}, f.ProtectFromScaleIn(q.Get(groupName), q.list("InstanceIds.member"), q.flag("ProtectedFromScaleIn"))
}

func completeLifecycle(f *sim.Fleet, q form) (object, error) {
	return object{}, f.CompleteLifecycle(q.Get(groupName), q.Get("LifecycleHookName"), q.Get("InstanceId"), q.Get("LifecycleActionToken"), q.Get("LifecycleActionResult"))
}

func heartbeat(f *sim.Fleet, q form) (object, error) {
	return object{}, f.Heartbeat(q.Get(groupName), q.Get("LifecycleHookName"), q.Get("InstanceId"), q.Get("LifecycleActionToken"))
}

func putHook(f *sim.Fleet, q form) (object, error) {
	n, err := q.number("HeartbeatTimeout", 0)
	if err != nil {
		return nil, err
	}
	return object{}, f.PutHook(q.Get(groupName), sim.Hook{Name: q.Get("LifecycleHookName"), Transition: q.Get("LifecycleTransition"), Default: q.Get("DefaultResult"),
		Metadata: q.Get("NotificationMetadata"), Heartbeat: time.Duration(n) * time.Second})
}

func setDesired(f *sim.Fleet, q form) (object, error) {
	if !q.Has("DesiredCapacity") {
		return nil, validation("DesiredCapacity must not be null")
	}
	return updateGroup(f, q)
}

func updateGroup(f *sim.Fleet, q form) (object, error) {
	g, err := f.Group(q.Get(groupName))
	if err != nil {
		return nil, err
	}
	low, err := q.number("MinSize", g.Min)
	if err != nil {
		return nil, err
	}
	high, err := q.number("MaxSize", g.Max)
	if err != nil {
		return nil, err
	}
	desired, err := q.number("DesiredCapacity", min(max(g.Desired, low), high))
	if err != nil {
		return nil, err
	}
	return object{}, f.Resize(g.Name, low, high, desired)
}

func suspend(f *sim.Fleet, q form) (object, error) {
	g, err := f.Group(q.Get(groupName))
	if err != nil {
		return nil, err
	}
	all := slices.Clone(g.Suspended)
	named := q.list("ScalingProcesses.member")
	if len(named) == 0 {
		named = []string{"Launch", "Terminate"}
	}
	for _, p := range named {
		if !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	return object{}, f.Suspend(g.Name, all...)
}

func resume(f *sim.Fleet, q form) (object, error) {
	g, err := f.Group(q.Get(groupName))
	if err != nil {
		return nil, err
	}
	named := q.list("ScalingProcesses.member")
	left := slices.DeleteFunc(slices.Clone(g.Suspended), func(p string) bool { return len(named) == 0 || slices.Contains(named, p) })
	return object{}, f.Suspend(g.Name, left...)
}
