package wire

import (
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/sim"
)

type servicesInput struct {
	Cluster, Service, ServiceName, TaskDefinition, NextToken string
	Services                                                 []string
	DesiredCount                                             *int
	PlacementConstraints                                     *[]sim.Constraint
	Force, ForceNewDeployment                                bool
}

func createService(f *sim.Fleet, in servicesInput) (object, error) {
	if err := named(f, in.Cluster); err != nil {
		return nil, err
	}
	desired := 0
	if in.DesiredCount != nil {
		desired = *in.DesiredCount
	}
	if in.PlacementConstraints != nil {
		if err := sim.CheckConstraints(*in.PlacementConstraints); err != nil {
			return nil, err
		}
	}
	s, err := f.CreateService(in.ServiceName, in.TaskDefinition, desired)
	if err != nil {
		return nil, err
	}
	if in.PlacementConstraints != nil {
		if err := f.Constrain(s.Name, *in.PlacementConstraints...); err != nil {
			return nil, err
		}
	}
	return object{"service": serviceObject(f, s)}, nil
}

func updateService(f *sim.Fleet, in servicesInput) (object, error) {
	if err := named(f, in.Cluster); err != nil {
		return nil, err
	}
	s, err := f.Service(in.Service)
	if err != nil {
		return nil, err
	}
	if in.PlacementConstraints != nil {
		if err := f.Constrain(s.Name, *in.PlacementConstraints...); err != nil {
			return nil, err
		}
	}
	desired := s.Desired
	if in.DesiredCount != nil {
		desired = *in.DesiredCount
	}
	if err := f.UpdateService(s.Name, in.TaskDefinition, desired); err != nil {
		return nil, err
	}
	return object{"service": serviceObject(f, s)}, nil
}

func deleteService(f *sim.Fleet, in servicesInput) (object, error) {
	if err := named(f, in.Cluster); err != nil {
		return nil, err
	}
	s, err := f.Service(in.Service)
	if err != nil {
		return nil, err
	}
	if s.Desired > 0 && !in.Force {
		return nil, invalid("The service cannot be stopped while it is scaled above 0.")
	}
	if err := f.DeleteService(s.Name); err != nil {
		return nil, err
	}
	return object{"service": serviceObject(f, s)}, nil
}

func serviceObject(f *sim.Fleet, s *sim.Service) object {
	where := []object{}
	for _, c := range s.Constraints {
		k := object{"type": c.Type}
		if c.Expression != "" {
			k["expression"] = c.Expression
		}
		where = append(where, k)
	}
	running, pending := s.Count()
	status := "ACTIVE"
	if s.Deleted {
		status = "DRAINING"
	}
	return object{"serviceName": s.Name, "serviceArn": f.ServiceARN(s), "clusterArn": f.Cluster(), "status": status, "desiredCount": s.Desired, "runningCount": running, "pendingCount": pending,
		"taskDefinition": s.Definition.ARN, "placementConstraints": where, "launchType": "EC2", "schedulingStrategy": "REPLICA", "createdAt": seconds(s.Created),
		"deploymentConfiguration": object{"minimumHealthyPercent": s.MinPercent, "maximumPercent": s.MaxPercent}}
}

func describeServices(f *sim.Fleet, in servicesInput) (object, error) {
	if err := named(f, in.Cluster); err != nil {
		return nil, err
	}
	if n := len(in.Services); n < 1 || n > 10 {
		return nil, invalid("Services must be from 1 to 10.")
	}
	found, failures := []object{}, []object{}
	for _, name := range in.Services {
		if s, err := f.Service(name); err == nil {
			found = append(found, serviceObject(f, s))
		} else {
			failures = append(failures, missing(name))
		}
	}
	return object{"services": found, "failures": failures}, nil
}

func listServices(f *sim.Fleet, in servicesInput) (object, error) {
	if err := named(f, in.Cluster); err != nil {
		return nil, err
	}
	var all []string
	for _, s := range f.Services() {
		all = append(all, f.ServiceARN(s))
	}
	return pageOf(all, in.NextToken, "serviceArns")
}

type attributeQuery struct {
	Cluster, TargetType, AttributeName, AttributeValue, NextToken string
	MaxResults                                                    int
}

func listAttributes(f *sim.Fleet, in attributeQuery) (object, error) {
	if err := named(f, in.Cluster); err != nil {
		return nil, err
	}
	switch {
	case in.TargetType != "container-instance":
		return nil, invalid("targetType must be container-instance")
	case in.AttributeValue != "" && in.AttributeName == "":
		return nil, invalid("attributeName must be given with attributeValue")
	}
	var all []object
	for _, h := range f.Hosts() {
		if h.Status != "ACTIVE" && h.Status != "DRAINING" {
			continue
		}
		for _, a := range h.AllAttributes() {
			if (in.AttributeName == "" || in.AttributeName == a.Name) && (in.AttributeValue == "" || in.AttributeValue == a.Value) {
				k := object{"name": a.Name, "targetId": h.ARN, "targetType": "container-instance"}
				if a.Value != "" {
					k["value"] = a.Value
				}
				all = append(all, k)
			}
		}
	}
	return pageOf(all, in.NextToken, "attributes")
}

type deregisterInput struct {
	Cluster, ContainerInstance string
	Force                      bool
}

func deregister(f *sim.Fleet, in deregisterInput) (object, error) {
	if err := named(f, in.Cluster); err != nil {
		return nil, err
	}
	h, err := f.Deregister(in.ContainerInstance, in.Force)
	if err != nil {
		return nil, err
	}
	return object{"containerInstance": hostObject(h)}, nil
}

type protectionInput struct {
	Cluster           string
	Tasks             []string
	ProtectionEnabled bool
	ExpiresInMinutes  *int
}

func getProtection(f *sim.Fleet, in protectionInput) (object, error) {
	if len(in.Tasks) > most {
		return nil, invalid("Tasks cannot be more than 100.")
	}
	return protection(f, in, func(*sim.Task) error { return nil })
}

func updateProtection(f *sim.Fleet, in protectionInput) (object, error) {
	minutes := 120
	if in.ExpiresInMinutes != nil {
		minutes = *in.ExpiresInMinutes
	}
	switch {
	case len(in.Tasks) < 1 || len(in.Tasks) > 10:
		return nil, invalid("Tasks must be from 1 to 10.")
	case minutes < 1 || minutes > 2880:
		return nil, invalid("expiresInMinutes must be from 1 to 2880")
	}
	return protection(f, in, func(t *sim.Task) error {
		if !in.ProtectionEnabled {
			return f.Protect(t.ARN, time.Time{})
		}
		return f.Protect(t.ARN, f.Now().Add(time.Duration(minutes)*time.Minute))
	})
}

// protection tells of each task after do; one that cannot have it is a failure.
func protection(f *sim.Fleet, in protectionInput, do func(*sim.Task) error) (object, error) {
	if err := named(f, in.Cluster); err != nil {
		return nil, err
	}
	found, failures := []object{}, []object{}
	for _, name := range in.Tasks {
		t, ok := taskOf(f, name)
		switch {
		case !ok:
			failures = append(failures, missing(name))
			continue
		case !t.OfService() || t.Desired == "STOPPED" || do(t) != nil:
			failures = append(failures, object{"arn": t.ARN, "reason": "TASK_NOT_VALID"})
			continue
		}
		k := object{"taskArn": t.ARN, "protectionEnabled": t.ProtectedUntil.After(f.Now())}
		if t.ProtectedUntil.After(f.Now()) {
			k["expirationDate"] = seconds(t.ProtectedUntil)
		}
		found = append(found, k)
	}
	return object{"protectedTasks": found, "failures": failures}, nil
}
