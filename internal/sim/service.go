package sim

import (
	"errors"
	"slices"
	"time"
)

// Service keeps a number of tasks running. Callers only read it.
type Service struct {
	Name       string
	Definition *Definition
	Desired    int
	MinPercent int // healthy, of Desired; 100 when both are zero
	MaxPercent int // 200 when zero
	Deleted    bool
	Created    time.Time
	// Constraints bind tasks placed from now on; change them by Constrain.
	Constraints []Constraint
	where       []*Query
	distinct    bool
	tasks       []*Task
	pending     bool
	starved     bool
	steady      bool
}

// ServiceARN is the service's ARN.
func (f *Fleet) ServiceARN(s *Service) string {
	return f.head() + "service/" + f.cfg.Cluster + "/" + s.Name
}

// Constrain sets the placement constraints of a service. Tasks that run stay.
func (f *Fleet) Constrain(name string, constraints ...Constraint) error {
	s, err := f.Service(name)
	if err != nil {
		return err
	}
	where, distinct, err := compile(constraints)
	if err != nil {
		return err
	}
	s.Constraints, s.where, s.distinct = constraints, where, distinct
	f.reconcileSoon(s)
	return nil
}

// Services are all that are not deleted, oldest first; the slice is the caller's.
func (f *Fleet) Services() []*Service { return slices.Clone(f.services) }

// Count is how many tasks of a service run and how many are to.
func (s *Service) Count() (running, pending int) {
	for _, t := range s.tasks {
		switch {
		case t.Desired == "STOPPED":
		case t.Last == "RUNNING":
			running++
		default:
			pending++
		}
	}
	return running, pending
}

// starve tells once that a service cannot place a task.
func (f *Fleet) starve(s *Service, err error) {
	var refused *Error
	if s.starved || !errors.As(err, &refused) {
		return
	}
	s.starved, s.steady = true, false
	f.serviceEvent(s, "ERROR", "SERVICE_TASK_PLACEMENT_FAILURE", refused.Code)
}

// CreateService keeps desired tasks of a definition running.
func (f *Fleet) CreateService(name, definition string, desired int) (*Service, error) {
	d, err := f.Definition(definition)
	if err != nil {
		return nil, err
	}
	if name == "" {
		return nil, refuse("InvalidParameterException", "Service name must be given.")
	}
	if desired < 0 {
		return nil, refuse("InvalidParameterException", "Desired count must not be negative.")
	}
	if _, err := f.Service(name); err == nil {
		return nil, refuse("InvalidParameterException", "Creation of service was not idempotent.")
	}
	s := &Service{Name: name, Definition: d, Desired: desired, MinPercent: 100, MaxPercent: 200, Created: f.now}
	f.services = append(f.services, s)
	f.reconcileSoon(s)
	return s, nil
}

// Service finds a service that is not deleted.
func (f *Fleet) Service(name string) (*Service, error) {
	for _, s := range f.services {
		if s.Name == name || f.ServiceARN(s) == name {
			return s, nil
		}
	}
	return nil, refuse("ServiceNotFoundException", "Service not found.")
}

// UpdateService sets the count, and the definition unless it is empty: then tasks
// are replaced within the service's percentages.
func (f *Fleet) UpdateService(name, definition string, desired int) error {
	s, err := f.Service(name)
	if err != nil {
		return err
	}
	if definition != "" {
		if s.Definition, err = f.Definition(definition); err != nil {
			return err
		}
	}
	if desired < 0 {
		return refuse("InvalidParameterException", "Desired count must not be negative.")
	}
	s.Desired, s.steady = desired, false
	f.reconcileSoon(s)
	return nil
}

// DeleteService stops all tasks of a service, as a forced delete does.
func (f *Fleet) DeleteService(name string) error {
	s, err := f.Service(name)
	if err != nil {
		return err
	}
	s.Deleted, s.Desired = true, 0
	f.services = slices.DeleteFunc(f.services, func(x *Service) bool { return x == s })
	f.reconcileSoon(s)
	return nil
}

func (f *Fleet) reconcileSoon(s *Service) {
	if s.pending {
		return
	}
	s.pending = true
	f.after(f.between(time.Second, 4*time.Second), func() {
		s.pending = false
		f.reconcile(s)
	})
}

// reconcile starts what is missing and stops what is too much or old.
func (f *Fleet) reconcile(s *Service) {
	s.tasks = slices.DeleteFunc(s.tasks, func(t *Task) bool { return t.Desired == "STOPPED" })
	fresh, healthy, all := 0, 0, len(s.tasks)
	for _, t := range s.tasks {
		if t.Definition == s.Definition {
			fresh++
		}
		if t.Last == "RUNNING" {
			healthy++
		}
	}
	again := false
	for limit := s.Desired * s.MaxPercent / 100; fresh < s.Desired && all < limit; fresh, all = fresh+1, all+1 {
		t, err := f.place(&wish{d: s.Definition, group: "service:" + s.Name, startedBy: "ecs-svc/" + s.Name, service: s, where: s.where, distinct: s.distinct}, f.hosts)
		if err != nil {
			again = true
			f.starve(s, err)
			break
		}
		s.tasks = append(s.tasks, t)
	}
	floor := s.Desired * s.MinPercent / 100
	for _, t := range slices.Clone(s.tasks) {
		old := t.Definition != s.Definition
		if s.Deleted || f.now.After(t.ProtectedUntil) && (old && (healthy > floor || t.Last != "RUNNING") || !old && fresh > s.Desired) {
			if t.Last == "RUNNING" {
				healthy--
			}
			if !old {
				fresh--
			}
			f.stop(t, "ServiceSchedulerInitiated", "Scaling activity initiated by (deployment ecs-svc/"+s.Name+")")
		} else {
			again = again || old || fresh > s.Desired
		}
	}
	if !again && !s.Deleted {
		s.starved = false
		if !s.steady && healthy == s.Desired && len(s.tasks) == s.Desired {
			s.steady = true
			f.serviceEvent(s, "INFO", "SERVICE_STEADY_STATE", "")
		}
	}
	if again {
		f.after(15*time.Second, func() { f.reconcileSoon(s) })
	}
}
