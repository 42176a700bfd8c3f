package sim

import (
	"fmt"
	"slices"
	"time"
)

// Answer is what a document did on a host.
type Answer struct {
	Code     int
	Out, Err string
}

// Document is what a Systems Manager document does on a host, when it runs there.
type Document func(h *Host, parameters map[string][]string) Answer

// Request asks Run Command for something.
type Request struct {
	Document, Comment string
	Instances         []string
	Parameters        map[string][]string
	Timeout           time.Duration // for delivery; an hour when zero
}

// Command is a Run Command. Callers only read it.
type Command struct {
	Request
	ID          string
	Status      string
	Requested   time.Time
	Expires     time.Time
	Invocations []*Invocation
}

// Invocation is a command on one instance.
type Invocation struct {
	Command                 *Command
	Instance                string
	Status, Details         string
	Answer                  Answer
	Asked, Started, Stopped time.Time
	boot                    string
}

// runLimit is how long a document may run, as AWS-RunShellScript's default.
const runLimit = time.Hour

// RegisterDocument makes a document known; a nil one does nothing, well.
func (f *Fleet) RegisterDocument(name string, d Document) {
	if d == nil {
		d = func(*Host, map[string][]string) Answer { return Answer{} }
	}
	f.documents[name] = d
}

// Send asks for a command. An instance that is not running is refused; one whose
// agent is offline gets it when it is back within the timeout.
func (f *Fleet) Send(r Request) (*Command, error) {
	if f.documents[r.Document] == nil {
		return nil, refuse("InvalidDocument", "Document with name %s does not exist.", r.Document)
	}
	if len(r.Instances) == 0 || len(r.Instances) > 50 {
		return nil, refuse("InvalidParameters", "From 1 to 50 instances must be given.")
	}
	if len(r.Comment) > 100 {
		return nil, refuse("ValidationException", "Member must have length less than or equal to 100")
	}
	if r.Timeout == 0 {
		r.Timeout = time.Hour
	}
	if r.Timeout < 30*time.Second {
		return nil, refuse("ValidationException", "Member must have value greater than or equal to 30")
	}
	for i, id := range r.Instances {
		if h := f.byEC2[id]; h == nil || h.EC2State != "running" {
			return nil, refuse("InvalidInstanceId", "Instances [[%s]] not in a valid state for account %s", id, account)
		}
		if slices.Contains(r.Instances[:i], id) {
			return nil, refuse("DuplicateInstanceId", "Duplicate instance %s", id)
		}
	}
	c := &Command{Request: r, ID: f.token(), Status: "Pending", Requested: f.now, Expires: f.now.Add(r.Timeout + runLimit)}
	for _, id := range r.Instances {
		n := &Invocation{Command: c, Instance: id, Status: "Pending", Details: "Pending", Asked: f.now}
		c.Invocations = append(c.Invocations, n)
		f.after(f.between(time.Second, 3*time.Second), func() { f.deliver(n) })
	}
	f.commands = append(f.commands, c)
	f.after(30*24*time.Hour, func() { f.commands = slices.DeleteFunc(f.commands, func(x *Command) bool { return x == c }) })
	f.commandEvent(c, nil)
	return c, nil
}

// Command finds a command by id.
func (f *Fleet) Command(id string) (*Command, error) {
	for _, c := range f.commands {
		if c.ID == id {
			return c, nil
		}
	}
	return nil, refuse("InvalidCommandId", "Command %s was not found", id)
}

// Commands are all of the last 30 days, oldest first; the slice is the caller's.
func (f *Fleet) Commands() []*Command { return slices.Clone(f.commands) }

// Cancel ends a command where it has not begun.
func (f *Fleet) Cancel(id string) error {
	c, err := f.Command(id)
	if err != nil {
		return err
	}
	for _, n := range c.Invocations {
		if n.Status == "Pending" {
			f.settle(n, "Cancelled", "Cancelled")
		}
	}
	return nil
}

// Reachable reports whether the SSM agent of a host answers.
func (h *Host) Reachable() bool {
	return h != nil && h.EC2State == "running" && h.Boot != "" && !h.SSMOffline
}

func (f *Fleet) deliver(n *Invocation) {
	if n.Status != "Pending" {
		return
	}
	h := f.byEC2[n.Instance]
	if !h.Reachable() {
		if !f.now.Before(n.Asked.Add(n.Command.Timeout)) {
			f.settle(n, "TimedOut", "Delivery Timed Out")
			return
		}
		f.after(15*time.Second, func() { f.deliver(n) })
		return
	}
	n.Status, n.Details, n.Started, n.boot = "InProgress", "InProgress", f.now, h.Boot
	f.commandEvent(n.Command, n)
	f.progress(n.Command)
	f.after(f.between(2*time.Second, 10*time.Second), func() { f.execute(h, n) })
	f.after(runLimit, func() { f.settle(n, "TimedOut", "Execution Timed Out") })
}

// execute runs the document, unless its host went or booted meanwhile: then nobody
// ever answers.
func (f *Fleet) execute(h *Host, n *Invocation) {
	if n.Status != "InProgress" || !h.Reachable() || h.Boot != n.boot {
		return
	}
	n.Answer = f.documents[n.Command.Document](h, n.Command.Parameters)
	if n.Answer.Code != 0 {
		f.settle(n, "Failed", "Failed")
		return
	}
	f.settle(n, "Success", "Success")
}

func (f *Fleet) settle(n *Invocation, status, details string) {
	if n.Status != "Pending" && n.Status != "InProgress" {
		return
	}
	n.Status, n.Details, n.Stopped = status, details, f.now
	f.commandEvent(n.Command, n)
	f.progress(n.Command)
}

// progress sets a command's status from those of its invocations.
func (f *Fleet) progress(c *Command) {
	was, worst := c.Status, 0
	order := []string{"Success", "Cancelled", "TimedOut", "Failed", "InProgress"}
	for _, n := range c.Invocations {
		i := slices.Index(order, n.Status)
		if i < 0 {
			i = len(order) - 1
		}
		worst = max(worst, i)
	}
	if c.Status = order[worst]; c.Status != was {
		f.commandEvent(c, nil)
	}
}

// commandEvent tells of a command, or of one invocation of it.
func (f *Fleet) commandEvent(c *Command, n *Invocation) {
	detail := map[string]any{"command-id": c.ID, "document-name": c.Document, "expire-after": stamp(c.Expires), "parameters": c.Parameters,
		"requested-date-time": stamp(c.Requested), "status": c.Status}
	if n != nil {
		detail["instance-id"], detail["status"] = n.Instance, n.Status
		f.emit("aws.ssm", "EC2 Command Invocation Status-change Notification", instanceARN(n.Instance), detail)
		return
	}
	f.emit("aws.ssm", "EC2 Command Status-change Notification", instanceARN(c.Instances[0]), detail)
}

func instanceARN(ec2 string) string {
	return fmt.Sprintf("arn:aws:ec2:%s:%s:instance/%s", region, account, ec2)
}
