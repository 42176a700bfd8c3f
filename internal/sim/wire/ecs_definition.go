package wire

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/sim"
)

func sharing(c sim.Container) object {
	mps := object{"memory": int64(c.Memory)}
	if c.Compute > 0 {
		mps["maxComputePercent"] = int(c.Compute)
	}
	return object{"nvidiaMps": mps}
}

func describeDefinition(f *sim.Fleet, in tasksInput) (object, error) {
	d, err := f.Definition(in.TaskDefinition)
	if err != nil {
		return nil, err
	}
	return definitionObject(d), nil
}

func definitionObject(d *sim.Definition) object {
	cs, tags, where := []object{}, []object{}, []object{}
	for _, c := range d.Containers {
		k := object{"name": c.Name, "image": c.Name, "stopTimeout": int(d.StopTimeout.Seconds()), "essential": true, "cpu": c.CPU}
		if c.HostMemory > 0 {
			k["memory"] = int64(c.HostMemory)
		}
		ports := []object{}
		for _, p := range c.Ports {
			ports = append(ports, object{"containerPort": p, "hostPort": p, "protocol": "tcp"})
		}
		k["portMappings"] = ports
		switch {
		case c.Whole == sim.AllGPUs:
			k["resourceRequirements"] = []object{{"type": "GPU", "value": "ALL"}}
		case c.Whole > 0:
			k["resourceRequirements"] = []object{{"type": "GPU", "value": strconv.Itoa(c.Whole)}}
		case c.Memory > 0:
			k["resourceRequirements"] = []object{{"type": "GPU", "sharingStrategy": sharing(c)}}
		}
		cs = append(cs, k)
	}
	for _, k := range slices.Sorted(maps.Keys(d.Tags)) {
		tags = append(tags, object{"key": k, "value": d.Tags[k]})
	}
	for _, c := range d.Constraints {
		where = append(where, object{"type": c.Type, "expression": c.Expression})
	}
	out := object{"taskDefinitionArn": d.ARN, "family": d.Family, "revision": d.Revision, "status": "ACTIVE", "containerDefinitions": cs, "placementConstraints": where, "compatibilities": []string{"EC2"}}
	if d.Network != "" {
		out["networkMode"] = d.Network
	}
	if d.CPU > 0 {
		out["cpu"] = strconv.Itoa(d.CPU)
	}
	if d.HostMemory > 0 {
		out["memory"] = strconv.FormatInt(int64(d.HostMemory), 10)
	}
	return object{"taskDefinition": out, "tags": tags}
}

type definitionInput struct {
	Family, CPU, Memory, NetworkMode string
	RequiresCompatibilities          []string
	Tags                             []struct{ Key, Value string }
	PlacementConstraints             []sim.Constraint
	ContainerDefinitions             []struct {
		Name                 string
		CPU                  int
		Memory               int64
		StopTimeout          *int
		PortMappings         []struct{ HostPort int }
		ResourceRequirements []requirement
	}
}

type requirement struct {
	Type, Value     string
	SharingStrategy *struct {
		NvidiaMps *struct {
			Memory            *int64
			MaxComputePercent *int
		}
	}
}

func refused(text string) error { return &sim.Error{Code: "ClientException", Message: text} }

func registerDefinition(f *sim.Fleet, in definitionInput) (object, error) {
	if slices.Contains(in.RequiresCompatibilities, "EXTERNAL") || slices.Contains(in.RequiresCompatibilities, "FARGATE") {
		return nil, refused("the simulator runs tasks on EC2 and Managed Instances alone")
	}
	d := sim.Definition{Family: in.Family, Constraints: in.PlacementConstraints, Network: in.NetworkMode, Tags: map[string]string{}}
	var err error
	if d.CPU, err = amount(in.CPU); err != nil {
		return nil, err
	}
	mem, err := amount(in.Memory)
	if err != nil {
		return nil, err
	}
	d.HostMemory = gpu.MiB(mem)
	for _, t := range in.Tags {
		d.Tags[t.Key] = t.Value
	}
	for _, x := range in.ContainerDefinitions {
		c := sim.Container{Name: x.Name, CPU: x.CPU, HostMemory: gpu.MiB(x.Memory)}
		for _, p := range x.PortMappings {
			if p.HostPort > 0 {
				c.Ports = append(c.Ports, p.HostPort)
			}
		}
		for _, r := range x.ResourceRequirements {
			if err := r.into(&c); err != nil {
				return nil, err
			}
		}
		if x.StopTimeout != nil {
			d.StopTimeout = max(d.StopTimeout, time.Duration(*x.StopTimeout)*time.Second)
		}
		d.Containers = append(d.Containers, c)
	}
	kept, err := f.RegisterDefinition(d)
	if err != nil {
		return nil, err
	}
	return definitionObject(kept), nil
}

func amount(text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, refused("Invalid 'cpu' or 'memory' setting for task.")
	}
	return n, nil
}

// into reads a GPU requirement: exactly one of value and sharingStrategy.
func (r requirement) into(c *sim.Container) error {
	shared := r.SharingStrategy != nil && r.SharingStrategy.NvidiaMps != nil
	switch {
	case r.Type != "GPU":
		return refused("Unsupported resource requirement type " + r.Type)
	case shared == (r.Value != ""):
		return refused("Exactly one of value and sharingStrategy must be given")
	case r.Value == "ALL":
		c.Whole = sim.AllGPUs
		return nil
	case r.Value != "":
		n, err := strconv.Atoi(r.Value)
		if err != nil || n < 1 {
			return refused("Invalid GPU value " + r.Value)
		}
		c.Whole = n
		return nil
	}
	mps := r.SharingStrategy.NvidiaMps
	if mps.Memory == nil || *mps.Memory < 1 {
		return refused("nvidiaMps.memory must be at least 1")
	}
	c.Memory = gpu.MiB(*mps.Memory)
	if mps.MaxComputePercent != nil {
		if *mps.MaxComputePercent < 1 || *mps.MaxComputePercent > 100 {
			return refused("nvidiaMps.maxComputePercent must be from 1 to 100")
		}
		c.Compute = gpu.Percent(*mps.MaxComputePercent)
	}
	return nil
}
