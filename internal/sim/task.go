package sim

import (
	"slices"
	"time"
)

// Kept is for how long ECS still tells of a stopped task.
const Kept = time.Hour

// Task is a task of ECS. Callers only read it.
type Task struct {
	ARN, Group, StartedBy      string
	Definition                 *Definition
	Host                       *Host
	Cards                      []*Card
	Version                    int64
	Last, Desired              string
	StopCode, Reason           string
	Created, Stopping, Stopped time.Time
	ProtectedUntil             time.Time
	service                    *Service
}

// Run places one task as ECS does: by GPU memory in ECS's own books.
func (f *Fleet) Run(definition, group, startedBy string) (*Task, error) {
	d, err := f.Definition(definition)
	if err != nil {
		return nil, err
	}
	return f.place(d, group, startedBy, f.hosts)
}

// Start places a task on a chosen container instance.
func (f *Fleet) Start(definition, instance, startedBy string) (*Task, error) {
	d, err := f.Definition(definition)
	if err != nil {
		return nil, err
	}
	h, err := f.Host(instance)
	if err != nil {
		return nil, err
	}
	return f.place(d, "family:"+d.Family, startedBy, []*Host{h})
}

func (f *Fleet) place(d *Definition, group, startedBy string, among []*Host) (*Task, error) {
	h, cards, ok := f.choose(d, among)
	if !ok {
		return nil, refuse("RESOURCE:GPU", "no container instance has the GPU that %s asks for", d.Family)
	}
	t := &Task{ARN: f.id("task"), Group: group, StartedBy: startedBy, Definition: d, Host: h, Cards: cards, Created: f.now, Last: "PROVISIONING", Desired: "RUNNING"}
	f.byARN[t.ARN] = t
	f.tasks = append(f.tasks, t)
	for _, c := range cards {
		c.booked = append(c.booked, t)
	}
	t.Last = "PENDING"
	f.taskEvent(t)
	f.after(f.between(time.Second, 5*time.Second), func() { f.admit(t) })
	return t, nil
}

// admit is the agent taking a task: it waits while its cards are held by tasks that
// ECS has counted out already.
func (f *Fleet) admit(t *Task) {
	if t.Desired == "STOPPED" || t.holds() {
		return
	}
	for _, c := range t.Cards {
		if !c.fits(t.Definition, c.held) {
			return // gone wakes it
		}
	}
	if why := gate(t); why != "" {
		f.stop(t, "TaskFailedToStart", why)
		f.gone(t)
		return
	}
	for _, c := range t.Cards {
		c.held = append(c.held, t)
	}
	f.after(f.between(5*time.Second, 30*time.Second), func() { f.run(t) })
}

// gate is the agent's check before an MPS container is created.
func gate(t *Task) string {
	if t.Definition.Memory() == 0 {
		return ""
	}
	switch t.Host.MPS {
	case DaemonDead:
		return "MPS control daemon is not available on this instance"
	case DaemonWedged:
		return "MPS control daemon is not responding on this instance"
	default:
		return ""
	}
}

func (f *Fleet) run(t *Task) {
	if t.Desired == "STOPPED" {
		return
	}
	if len(t.Cards) > 0 && t.Cards[0].Fault && t.Definition.Memory() > 0 {
		f.stop(t, "EssentialContainerExited", "Essential container in task exited")
		return
	}
	t.Last = "RUNNING"
	f.taskEvent(t)
}

func (t *Task) holds() bool { return len(t.Cards) > 0 && slices.Contains(t.Cards[0].held, t) }

// Stop asks a task to stop.
func (f *Fleet) Stop(arn, reason string) (*Task, error) {
	t, ok := f.byARN[arn]
	if !ok {
		return nil, refuse("InvalidParameterException", "The referenced task was not found.")
	}
	f.stop(t, "UserInitiated", reason)
	return t, nil
}

// stop sets the desired status: from here ECS's books are free of the task.
func (f *Fleet) stop(t *Task, code, reason string) {
	if t.Desired == "STOPPED" {
		return
	}
	t.Desired, t.StopCode, t.Reason, t.Stopping = "STOPPED", code, reason, f.now
	for _, c := range t.Cards {
		c.booked = slices.DeleteFunc(c.booked, func(x *Task) bool { return x == t })
	}
	f.taskEvent(t)
	took := f.between(t.Definition.StopTimeout/5, t.Definition.StopTimeout)
	f.after(took/2, func() {
		if t.Last != "STOPPED" {
			t.Last = "STOPPING"
			f.taskEvent(t)
		}
	})
	f.after(took, func() { f.gone(t) })
	if t.service != nil {
		f.reconcileSoon(t.service)
	}
}

// gone is the end of a task: the agent holds nothing of it any more.
func (f *Fleet) gone(t *Task) {
	if t.Last == "STOPPED" {
		return
	}
	t.Last, t.Stopped = "STOPPED", f.now
	drop := func(x *Task) bool { return x == t }
	for _, c := range t.Cards {
		c.held = slices.DeleteFunc(c.held, drop)
		c.affected = slices.DeleteFunc(c.affected, drop)
		if len(c.affected) == 0 {
			c.Fault = false
		}
		for _, w := range c.booked {
			f.after(time.Second, func() { f.admit(w) })
		}
	}
	f.tasks = slices.DeleteFunc(f.tasks, drop)
	f.taskEvent(t)
	f.after(Kept, func() { delete(f.byARN, t.ARN) })
}

// Protect sets or clears (zero) a task's protection.
func (f *Fleet) Protect(arn string, until time.Time) error {
	t, ok := f.byARN[arn]
	if !ok || t.Desired == "STOPPED" {
		return refuse("InvalidParameterException", "The referenced task was not found.")
	}
	t.ProtectedUntil = until
	return nil
}
