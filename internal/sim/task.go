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
	Started                    time.Time
	ExitCode                   int    // of the essential container; zero while none
	ExitLog                    string // the last line of its log
	Processes                  []*Process
	held                       bool // the agent has it
}

// Run places one task as ECS does: by GPU memory in ECS's own books.
func (f *Fleet) Run(definition, group, startedBy string, constraints ...Constraint) (*Task, error) {
	d, err := f.Definition(definition)
	if err != nil {
		return nil, err
	}
	where, distinct, err := compile(constraints)
	if err != nil {
		return nil, err
	}
	if group == "" {
		group = "family:" + d.Family
	}
	if !slices.ContainsFunc(f.hosts, func(h *Host) bool { return h.Status == "ACTIVE" }) {
		return nil, refuse("InvalidParameterException", "No Container Instances were found in your cluster.")
	}
	return f.place(&wish{d: d, group: group, startedBy: startedBy, where: where, distinct: distinct}, f.hosts)
}

// Start places a task on a chosen container instance, past strategies; resources and
// the definition's constraints are checked.
func (f *Fleet) Start(definition, instance, startedBy string) (*Task, error) {
	d, err := f.Definition(definition)
	if err != nil {
		return nil, err
	}
	h, err := f.ContainerInstance(instance)
	if err != nil {
		return nil, &Error{Code: "MISSING", Message: instance, Unplaced: true}
	}
	return f.place(&wish{d: d, group: "family:" + d.Family, startedBy: startedBy}, []*Host{h})
}

func (f *Fleet) place(w *wish, among []*Host) (*Task, error) {
	h, cards, why := f.choose(w, among)
	if why != "" {
		return nil, &Error{Code: why, Message: "no container instance takes a task of " + w.d.Family, Unplaced: true}
	}
	t := &Task{ARN: f.id("task"), Group: w.group, StartedBy: w.startedBy, Definition: w.d, Host: h, Cards: cards, Created: f.now, Desired: "RUNNING", Last: "PROVISIONING", service: w.service}
	f.byARN[t.ARN] = t
	f.tasks = append(f.tasks, t)
	h.tasks = append(h.tasks, t)
	h.booked.add(&w.d.need)
	for _, c := range cards {
		c.booked.add(&w.d.need)
	}
	if w.d.Network == "awsvpc" {
		f.taskEvent(t)
		f.after(f.between(2*time.Second, 10*time.Second), func() { f.pend(t) })
		return t, nil
	}
	f.pend(t)
	return t, nil
}

// pend hands a task to its agent.
func (f *Fleet) pend(t *Task) {
	if t.Desired == "STOPPED" {
		return
	}
	f.enter(t, "PENDING")
	f.after(f.between(time.Second, 5*time.Second), func() { f.admit(t) })
}

// admit is the agent taking a task: it waits while what it needs is held by tasks
// that ECS has counted out already.
func (f *Fleet) admit(t *Task) {
	if t.Desired == "STOPPED" || t.held || t.Last != "PENDING" {
		return
	}
	n := &t.Definition.need
	if t.Host.short(n, &t.Host.held) != "" {
		return // gone wakes it
	}
	for _, c := range t.Cards {
		if !c.fits(n, &c.held) {
			return // gone wakes it
		}
	}
	if why := gate(t); why != "" {
		f.stop(t, "TaskFailedToStart", why)
		f.gone(t)
		return
	}
	t.seize()
	f.after(f.between(5*time.Second, 30*time.Second), func() { f.run(t) })
}

// seize notes that the agent has taken a task.
func (t *Task) seize() {
	t.held = true
	t.Host.held.add(&t.Definition.need)
	for _, c := range t.Cards {
		c.held.add(&t.Definition.need)
	}
}

// gate is the agent's check before an MPS container is created.
func gate(t *Task) string {
	if t.Definition.need.share == 0 {
		return ""
	}
	switch t.Host.MPS {
	case DaemonDead:
		return "MPS control daemon is not available on this instance"
	case DaemonWedged:
		return "MPS control daemon is not responding on this instance"
	case DaemonSlow:
		return "MPS control daemon verification did not complete"
	default:
		return ""
	}
}

func (f *Fleet) run(t *Task) {
	if t.Desired == "STOPPED" || t.Last == "RUNNING" {
		return
	}
	if t.Host.NVMLHang && len(t.Cards) > 0 {
		f.after(10*time.Second, func() { f.run(t) }) // its first CUDA call does not return
		return
	}
	if why := f.spawn(t); why != "" {
		f.exit(t, why)
		return
	}
	if t.Definition.Network == "awsvpc" {
		f.enter(t, "ACTIVATING")
		f.after(f.between(time.Second, 10*time.Second), func() { f.running(t) })
		return
	}
	f.running(t)
}

func (f *Fleet) running(t *Task) {
	if t.Desired == "STOPPED" {
		return
	}
	t.Started = f.now
	f.enter(t, "RUNNING")
	f.hostEvent(t.Host)
}

// enter takes a task to its next state, which an event tells.
func (f *Fleet) enter(t *Task, state string) {
	t.Last = state
	f.taskEvent(t)
}

// free is the reverse of seize.
func (t *Task) free() {
	if !t.held {
		return
	}
	t.held = false
	t.Host.held.drop(&t.Definition.need)
	for _, c := range t.Cards {
		c.held.drop(&t.Definition.need)
	}
}

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
	was := t.Last
	t.Desired, t.StopCode, t.Reason, t.Stopping = "STOPPED", code, reason, f.now
	t.Host.booked.drop(&t.Definition.need)
	for _, c := range t.Cards {
		c.booked.drop(&t.Definition.need)
	}
	f.taskEvent(t)
	took := f.between(t.Definition.StopTimeout/5, t.Definition.StopTimeout)
	if t.Definition.Network == "awsvpc" && was == "RUNNING" {
		f.after(took/4, func() { f.ending(t, "DEACTIVATING") })
	}
	f.after(took/2, func() { f.ending(t, "STOPPING") })
	f.after(took, func() {
		if t.Definition.Network != "awsvpc" {
			f.gone(t)
			return
		}
		f.ending(t, "DEPROVISIONING")
		f.after(f.between(2*time.Second, 10*time.Second), func() { f.gone(t) })
	})
	if t.service != nil {
		f.reconcileSoon(t.service)
	}
}

// ending takes a stopping task further, unless it is gone.
func (f *Fleet) ending(t *Task, state string) {
	if t.Last != "STOPPED" {
		f.enter(t, state)
	}
}

// gone is the end of a task: the agent holds nothing of it any more.
func (f *Fleet) gone(t *Task) {
	if t.Last == "STOPPED" {
		return
	}
	t.Last, t.Stopped = "STOPPED", f.now
	t.free()
	f.reap(t)
	f.contained(t)
	t.Host.tasks = slices.DeleteFunc(t.Host.tasks, func(x *Task) bool { return x == t })
	for _, w := range t.Host.tasks {
		if !w.held && w.Desired != "STOPPED" {
			f.after(time.Second, func() { f.admit(w) })
		}
	}
	f.taskEvent(t)
	if t.Host.Status == "ACTIVE" || t.Host.Status == "DRAINING" {
		f.hostEvent(t.Host)
	}
	f.forget()
	f.after(Kept, func() { delete(f.byARN, t.ARN) })
}

// forget drops stopped tasks from the list, not one by one: a day has many.
func (f *Fleet) forget() {
	if f.stopped++; f.stopped > 64 && f.stopped > len(f.tasks)/2 {
		f.tasks = slices.DeleteFunc(f.tasks, func(t *Task) bool { return t.Last == "STOPPED" })
		f.stopped = 0
	}
}

// Protect sets or clears (zero) a task's protection. Only tasks of services have it.
func (f *Fleet) Protect(arn string, until time.Time) error {
	t, ok := f.byARN[arn]
	if !ok || t.Desired == "STOPPED" {
		return refuse("InvalidParameterException", "The referenced task was not found.")
	}
	if t.service == nil {
		return refuse("InvalidParameterException", "The task is not part of a service.")
	}
	t.ProtectedUntil = until
	return nil
}

// OfService reports whether a service keeps the task.
func (t *Task) OfService() bool { return t.service != nil }
