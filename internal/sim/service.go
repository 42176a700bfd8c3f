package sim

import (
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
	tasks      []*Task
	pending    bool
}

// CreateService keeps desired tasks of a definition running.
func (f *Fleet) CreateService(name, definition string, desired int) (*Service, error) {
	d, err := f.Definition(definition)
	if err != nil {
		return nil, err
	}
	if desired < 0 {
		return nil, refuse("InvalidParameterException", "Desired count must not be negative.")
	}
	if _, err := f.Service(name); err == nil {
		return nil, refuse("InvalidParameterException", "Creation of service was not idempotent.")
	}
	s := &Service{Name: name, Definition: d, Desired: desired, MinPercent: 100, MaxPercent: 200}
	f.services = append(f.services, s)
	f.reconcileSoon(s)
	return s, nil
}

// Service finds a service that is not deleted.
func (f *Fleet) Service(name string) (*Service, error) {
	for _, s := range f.services {
		if s.Name == name {
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
	s.Desired = desired
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
		t, err := f.place(s.Definition, "service:"+s.Name, "ecs-svc/"+s.Name, f.hosts)
		if err != nil {
			again = true
			break
		}
		t.service = s
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
	if again {
		f.after(15*time.Second, func() { f.reconcileSoon(s) })
	}
}
