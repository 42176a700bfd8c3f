package wire

import (
	"maps"
	"regexp"
	"slices"
	"strconv"

	"github.com/bulkhead-ecs/bulkhead/internal/sim"
)

var ec2Operations = map[string]queryOperation{
	"DescribeInstances": describeInstances, "DescribeInstanceStatus": describeStatus, "DescribeInstanceAttribute": describeAttribute, "ModifyInstanceAttribute": modifyAttribute,
	"TerminateInstances": changeInstances((*sim.Fleet).Terminate), "StopInstances": changeInstances((*sim.Fleet).StopInstance), "StartInstances": changeInstances((*sim.Fleet).StartInstance),
	"RebootInstances": rebootInstances, "CreateTags": createTags,
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// stateCodes are EC2's numbers of instance states.
var stateCodes = map[string]int{"pending": 0, "running": 16, "shutting-down": 32, "terminated": 48, "stopping": 64, "stopped": 80}

func stateObject(state string) object { return object{"code": stateCodes[state], "name": state} }

var instanceID = regexp.MustCompile(`^i-([0-9a-f]{8}|[0-9a-f]{17})$`)

// instances are those with the ids; one that is unknown fails the whole call.
func instances(f *sim.Fleet, ids []string) ([]*sim.Host, error) {
	var out []*sim.Host
	for _, id := range ids {
		if !instanceID.MatchString(id) {
			return nil, &sim.Error{Code: "InvalidInstanceID.Malformed", Message: "Invalid id: \"" + id + "\""}
		}
		h, err := f.Instance(id)
		if err != nil {
			return nil, err
		}
		out = append(out, h)
	}
	return out, nil
}

// asked are the instances of a describe call: those named, or all.
func asked(f *sim.Fleet, q form) ([]*sim.Host, error) {
	ids := q.list("InstanceId")
	if len(ids) == 0 {
		return f.Instances(), nil
	}
	if q.Has("MaxResults") {
		return nil, &sim.Error{Code: "InvalidParameterCombination", Message: "The parameter instancesSet cannot be used with the parameter maxResults"}
	}
	return instances(f, ids)
}

// filtered keeps what every filter of a call admits.
func filtered(hosts []*sim.Host, q form) ([]*sim.Host, error) {
	for i := 1; q.Has("Filter." + strconv.Itoa(i) + ".Name"); i++ {
		name, values := q.Get("Filter."+strconv.Itoa(i)+".Name"), q.list("Filter."+strconv.Itoa(i)+".Value")
		read, ok := filterOf(name)
		if !ok {
			return nil, &sim.Error{Code: "InvalidParameterValue", Message: "The filter '" + name + "' is invalid"}
		}
		hosts = slices.DeleteFunc(slices.Clone(hosts), func(h *sim.Host) bool {
			v, has := read(h)
			return !has || !slices.Contains(values, v)
		})
	}
	return hosts, nil
}

func filterOf(name string) (func(*sim.Host) (string, bool), bool) {
	switch name {
	case "instance-id":
		return func(h *sim.Host) (string, bool) { return h.EC2, true }, true
	case "instance-state-name":
		return func(h *sim.Host) (string, bool) { return h.EC2State, true }, true
	case "instance-type":
		return func(h *sim.Host) (string, bool) { return h.Shape.Name, true }, true
	}
	if len(name) > 4 && name[:4] == "tag:" {
		return func(h *sim.Host) (string, bool) { v, ok := h.Tags[name[4:]]; return v, ok }, true
	}
	return nil, false
}

func describeInstances(f *sim.Fleet, q form) (object, error) {
	hosts, err := asked(f, q)
	if err != nil {
		return nil, err
	}
	if hosts, err = filtered(hosts, q); err != nil {
		return nil, err
	}
	all := []object{}
	for _, h := range hosts {
		all = append(all, object{"reservationId": "r-" + h.EC2[2:], "ownerId": sim.Account, "instancesSet": []object{instanceObject(h)}})
	}
	got, next, err := cut(all, q, "NextToken", "MaxResults", 1000)
	return object{"reservationSet": got, "nextToken": next}, err
}

func instanceObject(h *sim.Host) object {
	tags := []object{}
	for _, k := range sortedKeys(h.Tags) {
		tags = append(tags, object{"key": k, "value": h.Tags[k]})
	}
	out := object{"instanceId": h.EC2, "imageId": h.AMI, "instanceType": h.Shape.Name, "instanceState": stateObject(h.EC2State), "launchTime": h.Launched,
		"placement": object{"availabilityZone": h.Zone}, "tagSet": tags}
	if h.Spot {
		out["instanceLifecycle"] = "spot"
	}
	return out
}

func describeStatus(f *sim.Fleet, q form) (object, error) {
	hosts, err := asked(f, q)
	if err != nil {
		return nil, err
	}
	if hosts, err = filtered(hosts, q); err != nil {
		return nil, err
	}
	all := []object{}
	for _, h := range hosts {
		if h.EC2State == "running" || q.flag("IncludeAllInstances") {
			all = append(all, statusObject(h))
		}
	}
	got, next, err := cut(all, q, "NextToken", "MaxResults", 1000)
	return object{"instanceStatusSet": got, "nextToken": next}, err
}

func statusObject(h *sim.Host) object {
	instance, system, reachable := "ok", "ok", "passed"
	switch {
	case h.EC2State != "running":
		instance, system, reachable = "not-applicable", "not-applicable", ""
	case h.EC2Impaired:
		instance, reachable = "impaired", "failed"
	}
	summary := func(status, name string) object {
		out := object{"status": status}
		if name != "" {
			out["details"] = []object{{"name": "reachability", "status": name}}
		}
		return out
	}
	systemReach := reachable
	if systemReach == "failed" {
		systemReach = "passed"
	}
	return object{"instanceId": h.EC2, "availabilityZone": h.Zone, "instanceState": stateObject(h.EC2State),
		"instanceStatus": summary(instance, reachable), "systemStatus": summary(system, systemReach)}
}

func describeAttribute(f *sim.Fleet, q form) (object, error) {
	hosts, err := instances(f, []string{q.Get("InstanceId")})
	if err != nil {
		return nil, err
	}
	if q.Get("Attribute") != "disableApiTermination" {
		return nil, &sim.Error{Code: "InvalidParameterValue", Message: "the simulator knows the attribute disableApiTermination"}
	}
	return object{"instanceId": hosts[0].EC2, "disableApiTermination": object{"value": hosts[0].TerminationProtected}}, nil
}

func modifyAttribute(f *sim.Fleet, q form) (object, error) {
	hosts, err := instances(f, []string{q.Get("InstanceId")})
	if err != nil {
		return nil, err
	}
	if !q.Has("DisableApiTermination.Value") {
		return nil, &sim.Error{Code: "InvalidParameterValue", Message: "the simulator knows the attribute disableApiTermination"}
	}
	hosts[0].TerminationProtected = q.flag("DisableApiTermination.Value")
	return object{"return": true}, nil
}

// changeInstances changes the state of several instances; it fails before the first
// change when one is unknown.
func changeInstances(do func(*sim.Fleet, string) error) queryOperation {
	return func(f *sim.Fleet, q form) (object, error) {
		hosts, err := instances(f, q.list("InstanceId"))
		if err != nil {
			return nil, err
		}
		out := []object{}
		for _, h := range hosts {
			before := h.EC2State
			if before != "terminated" { // terminating again does nothing
				if err := do(f, h.EC2); err != nil {
					return nil, err
				}
			}
			out = append(out, object{"instanceId": h.EC2, "previousState": stateObject(before), "currentState": stateObject(h.EC2State)})
		}
		return object{"instancesSet": out}, nil
	}
}

func rebootInstances(f *sim.Fleet, q form) (object, error) {
	hosts, err := instances(f, q.list("InstanceId"))
	if err != nil {
		return nil, err
	}
	for _, h := range hosts {
		if err := f.Reboot(h.EC2); err != nil {
			return nil, err
		}
	}
	return object{"return": true}, nil
}

func createTags(f *sim.Fleet, q form) (object, error) {
	hosts, err := instances(f, q.list("ResourceId"))
	if err != nil {
		return nil, err
	}
	for i := 1; q.Has("Tag." + strconv.Itoa(i) + ".Key"); i++ {
		for _, h := range hosts {
			h.Tags[q.Get("Tag."+strconv.Itoa(i)+".Key")] = q.Get("Tag." + strconv.Itoa(i) + ".Value")
		}
	}
	return object{"return": true}, nil
}
