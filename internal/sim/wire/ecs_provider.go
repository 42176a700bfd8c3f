package wire

import (
	"slices"

	"github.com/bulkhead-ecs/bulkhead/internal/sim"
)

type providersInput struct {
	CapacityProviders []string
	Cluster           string
	NextToken         string
}

func describeProviders(f *sim.Fleet, in providersInput) (object, error) {
	if len(in.CapacityProviders) > most {
		return nil, invalid("Capacity providers cannot be more than 100.")
	}
	var found, failures []object
	asked := slices.Clone(in.CapacityProviders)
	for _, p := range f.Providers() {
		i := slices.IndexFunc(asked, func(n string) bool { return n == p.Name || n == p.ARN })
		if len(in.CapacityProviders) > 0 && i < 0 {
			continue
		}
		if i >= 0 {
			asked = slices.Delete(asked, i, i+1)
		}
		found = append(found, providerObject(f, p))
	}
	for _, n := range asked {
		failures = append(failures, missing(n))
	}
	out, err := pageOf(found, in.NextToken, "capacityProviders")
	if err == nil {
		out["failures"] = append([]object{}, failures...)
	}
	return out, err
}

func onOff(on bool) string {
	if on {
		return "ENABLED"
	}
	return "DISABLED"
}

func providerObject(f *sim.Fleet, p *sim.Provider) object {
	out := object{"capacityProviderArn": p.ARN, "name": p.Name, "status": "ACTIVE"}
	if p.Managed {
		out["type"], out["cluster"] = "MANAGED_INSTANCES", f.Cluster()
		out["managedInstancesProvider"] = object{"autoRepairConfiguration": object{"actionsStatus": onOff(!p.NoRepairs)}}
		return out
	}
	out["type"] = "EC2_AUTOSCALING"
	out["autoScalingGroupProvider"] = object{"autoScalingGroupArn": p.GroupARN(), "managedTerminationProtection": onOff(p.TerminationProtection), "managedDraining": onOff(p.Draining),
		"managedScaling": object{"status": onOff(p.Scaling), "targetCapacity": 100}}
	return out
}
