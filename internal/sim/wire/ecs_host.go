package wire

import (
	"strconv"
	"strings"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/sim"
)

// most is ECS's page, and the most ids of a describe call.
const most = 100

func invalid(text string) error {
	return &sim.Error{Code: "InvalidParameterException", Message: text}
}

type clusterInput struct {
	Cluster, NextToken string
	Filter, Status     string
	Clusters           []string
}

// named checks that a request is about the fleet's cluster, by ARN or name.
func named(f *sim.Fleet, cluster string) error {
	if cluster != f.Cluster() && !strings.HasSuffix(f.Cluster(), "/"+cluster) {
		return &sim.Error{Code: "ClusterNotFoundException", Message: "Cluster not found."}
	}
	return nil
}

// pageOf cuts a list; a token is the place of its first entry.
func pageOf[T any](all []T, token, key string) (object, error) {
	from := 0
	if token != "" {
		n, err := strconv.Atoi(token)
		if err != nil || n < 0 || n > len(all) {
			return nil, invalid("Invalid token")
		}
		from = n
	}
	to := min(from+most, len(all))
	out := object{key: append([]T{}, all[from:to]...)}
	if to < len(all) {
		out["nextToken"] = strconv.Itoa(to)
	}
	return out, nil
}

func listClusters(f *sim.Fleet, in clusterInput) (object, error) {
	return pageOf([]string{f.Cluster()}, in.NextToken, "clusterArns")
}

func describeClusters(f *sim.Fleet, in clusterInput) (object, error) {
	found, failures := []object{}, []object{}
	for _, c := range in.Clusters {
		if named(f, c) != nil {
			failures = append(failures, missing(c))
			continue
		}
		found = append(found, object{"clusterArn": f.Cluster(), "status": "ACTIVE"})
	}
	return object{"clusters": found, "failures": failures}, nil
}

func missing(arn string) object { return object{"arn": arn, "reason": "MISSING"} }

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

func listHosts(f *sim.Fleet, in clusterInput) (object, error) {
	if err := named(f, in.Cluster); err != nil {
		return nil, err
	}
	admits := func(*sim.Host) bool { return true }
	if in.Filter != "" {
		q, err := sim.ParseQuery(in.Filter)
		if err != nil {
			return nil, err
		}
		admits = q.Matches
	}
	var all []string
	for _, h := range f.Hosts() {
		if (h.Status == "ACTIVE" || h.Status == "DRAINING") && (in.Status == "" || in.Status == h.Status) && admits(h) {
			all = append(all, h.ARN)
		}
	}
	return pageOf(all, in.NextToken, "containerInstanceArns")
}

type hostsInput struct {
	Cluster, Status    string
	ContainerInstances []string
}

func describeHosts(f *sim.Fleet, in hostsInput) (object, error) {
	return eachHost(f, in, func(*sim.Host) error { return nil })
}

func updateState(f *sim.Fleet, in hostsInput) (object, error) {
	if in.Status != "ACTIVE" && in.Status != "DRAINING" {
		return nil, invalid("Container instance status must be ACTIVE or DRAINING.")
	}
	if len(in.ContainerInstances) > 10 {
		return nil, invalid("Container instances cannot be more than 10.")
	}
	return eachHost(f, in, func(h *sim.Host) error { return f.Drain(h.ARN, in.Status == "DRAINING") })
}

func eachHost(f *sim.Fleet, in hostsInput, do func(*sim.Host) error) (object, error) {
	if err := named(f, in.Cluster); err != nil {
		return nil, err
	}
	if n := len(in.ContainerInstances); n == 0 || n > most {
		return nil, invalid("Container instances must be from 1 to 100.")
	}
	found, failures := []object{}, []object{}
	for _, arn := range in.ContainerInstances {
		h, err := f.ContainerInstance(arn)
		if err != nil {
			failures = append(failures, missing(arn))
			continue
		}
		if err := do(h); err != nil {
			return nil, err
		}
		found = append(found, hostObject(h))
	}
	return object{"containerInstances": found, "failures": failures}, nil
}

func hostObject(h *sim.Host) object {
	cards := []object{}
	for _, c := range h.Cards {
		mode := "IDLE"
		n, mem, whole := c.Booked()
		left := c.Total.Sub(mem)
		if whole {
			left = 0
			mode = "DEDICATED"
		} else if n > 0 {
			mode = "NVIDIA_MPS"
		}
		cards = append(cards, object{"gpuId": c.UUID, "sharingMode": mode, "totalMemoryInMiB": int64(c.Total), "remainingMemoryInMiB": int64(left), "containerCount": h.Containers(c)})
	}
	check := object{"type": "ACCELERATED_COMPUTE", "status": h.Health, "lastStatusChange": seconds(h.HealthAt), "lastUpdated": seconds(h.HealthAt)}
	if h.HealthReason != "" {
		check["statusReason"] = h.HealthReason
	}
	running, pending := h.Counts()
	out := object{"containerInstanceArn": h.ARN, "ec2InstanceId": h.EC2, "status": h.Status, "agentConnected": h.Connected, "version": h.Version,
		"registeredAt": seconds(h.Registered), "versionInfo": object{"agentVersion": h.AgentVersion}, "attributes": h.AllAttributes(), "gpuDevices": cards,
		"registeredResources": []object{{"name": "GPU", "type": "STRINGSET", "stringSetValue": h.UUIDs()}},
		"runningTasksCount":   running, "pendingTasksCount": pending,
		"healthStatus": object{"overallStatus": h.Health, "details": []object{check}}}
	if p := h.Provider(); p != nil {
		out["capacityProviderName"] = p.Name
	}
	return out
}

type attributesInput struct {
	Cluster    string
	Attributes []struct{ Name, Value, TargetID string }
}

// maxAttributes is how many custom attributes a container instance may have.
const maxAttributes = 10

func putAttributes(f *sim.Fleet, in attributesInput) (object, error) {
	return changeAttributes(f, in, func(h *sim.Host, name, value string) error {
		if _, has := h.Attributes[name]; !has && len(h.Attributes) >= maxAttributes {
			return &sim.Error{Code: "AttributeLimitExceededException", Message: "Attribute limit exceeded."}
		}
		h.Attributes[name] = value
		return nil
	})
}

func deleteAttributes(f *sim.Fleet, in attributesInput) (object, error) {
	return changeAttributes(f, in, func(h *sim.Host, name, _ string) error { delete(h.Attributes, name); return nil })
}

func changeAttributes(f *sim.Fleet, in attributesInput, do func(h *sim.Host, name, value string) error) (object, error) {
	if err := named(f, in.Cluster); err != nil {
		return nil, err
	}
	if n := len(in.Attributes); n < 1 || n > maxAttributes {
		return nil, invalid("Attributes must be from 1 to 10.")
	}
	out := []object{}
	for _, a := range in.Attributes {
		h, err := f.ContainerInstance(a.TargetID)
		if err != nil {
			return nil, &sim.Error{Code: "TargetNotFoundException", Message: "The specified target wasn't found."}
		}
		if err := do(h, a.Name, a.Value); err != nil {
			return nil, err
		}
		out = append(out, object{"name": a.Name, "value": a.Value, "targetId": a.TargetID})
	}
	return object{"attributes": out}, nil
}
