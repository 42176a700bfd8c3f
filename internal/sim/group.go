package sim

import (
	"slices"
	"time"
)

// GroupConfig is an Auto Scaling group and the launch template it launches from.
type GroupConfig struct {
	Name, Shape       string
	Min, Max, Desired int
	// Latency is from launch to registration; two minutes when zero.
	Latency time.Duration
	// Protect gives newcomers scale-in protection.
	Protect      bool
	Spot         bool
	AMI          string // AMI when empty
	AgentVersion string // of the ECS agent in it; the package's when empty
	Tags         map[string]string
	Hooks        []Hook
}

// Group is an Auto Scaling group. Callers only read it.
type Group struct {
	GroupConfig
	ARN       string
	Created   time.Time
	Suspended []string // processes, as "Launch" and "Terminate"
	members   []*Host
	provider  *Provider
	due       bool
}

// Members are the instances of a group, oldest first; the slice is the caller's.
func (g *Group) Members() []*Host { return slices.Clone(g.members) }

func invalidGroup(format string, args ...any) *Error {
	return refuse("ValidationError", format, args...)
}

// CreateGroup makes an Auto Scaling group, which launches what it desires.
func (f *Fleet) CreateGroup(c GroupConfig) (*Group, error) {
	if _, err := f.Group(c.Name); err == nil {
		return nil, refuse("AlreadyExists", "AutoScalingGroup by this name already exists - A group with the name %s already exists", c.Name)
	}
	if _, err := ShapeOf(c.Shape); err != nil {
		return nil, invalidGroup("You must use a valid fully-formed launch template. %s", err)
	}
	if c.Name == "" {
		return nil, invalidGroup("AutoScalingGroupName must not be empty")
	}
	if err := sizes(c.Min, c.Max, c.Desired); err != nil {
		return nil, err
	}
	if c.Latency == 0 {
		c.Latency = 2 * time.Minute
	}
	hooks := c.Hooks
	c.Hooks = nil
	g := &Group{GroupConfig: c, Created: f.now, ARN: "arn:aws:autoscaling:" + region + ":" + account + ":autoScalingGroup:" + f.token() + ":autoScalingGroupName/" + c.Name}
	for _, h := range hooks {
		if err := g.put(h); err != nil {
			return nil, err
		}
	}
	f.groups = append(f.groups, g)
	f.scaleSoon(g)
	return g, nil
}

func sizes(low, high, desired int) error {
	if low < 0 || high < low || desired < low || desired > high {
		return invalidGroup("Desired capacity:%d must be between the specified min size:%d and max size:%d", desired, low, high)
	}
	return nil
}

// Group finds a group by name.
func (f *Fleet) Group(name string) (*Group, error) {
	for _, g := range f.groups {
		if g.Name == name {
			return g, nil
		}
	}
	return nil, invalidGroup("AutoScalingGroup name not found - AutoScalingGroup %s not found", name)
}

// Groups are all groups, oldest first; the slice is the caller's.
func (f *Fleet) Groups() []*Group { return slices.Clone(f.groups) }

// Resize sets the sizes of a group.
func (f *Fleet) Resize(name string, low, high, desired int) error {
	g, err := f.Group(name)
	if err != nil {
		return err
	}
	if err := sizes(low, high, desired); err != nil {
		return err
	}
	g.Min, g.Max, g.Desired = low, high, desired
	f.scaleSoon(g)
	return nil
}

// Suspend stops processes of a group ("Launch", "Terminate"); none resumes all.
func (f *Fleet) Suspend(name string, processes ...string) error {
	g, err := f.Group(name)
	if err != nil {
		return err
	}
	for _, p := range processes {
		if p != "Launch" && p != "Terminate" {
			return invalidGroup("Process %s is not modelled; Launch and Terminate are", p)
		}
	}
	g.Suspended = processes
	f.scaleSoon(g)
	return nil
}

// member finds an instance of a group by its whole EC2 id.
func (f *Fleet) member(ec2 string) (*Host, error) {
	if h := f.byEC2[ec2]; h != nil && h.Group != nil && !h.Managed() {
		return h, nil
	}
	return nil, invalidGroup("Instance Id not found - No managed instance found for instance ID: %s", ec2)
}

// TerminateInGroup ends an instance through its group, after the group's hooks. The
// group replaces it unless the desired capacity is decremented. Scale-in protection
// does not hinder it.
func (f *Fleet) TerminateInGroup(ec2 string, decrement bool) (*Host, error) {
	h, err := f.member(ec2)
	if err != nil {
		return nil, err
	}
	if h.leaving() {
		return nil, refuse("ScalingActivityInProgress", "Instance %s is in lifecycle state %s", ec2, h.Lifecycle)
	}
	if g := h.Group; decrement {
		if g.Desired <= g.Min {
			return nil, invalidGroup("Currently, desiredSize equals minSize (%d). Terminating instance without replacement will violate group's min size constraint. "+
				"Either set shouldDecrementDesiredCapacity flag to false or lower group's min size.", g.Min)
		}
		g.Desired--
	}
	f.leave(h)
	return h, nil
}

// Detach takes instances out of a group; they go on. The group launches others in
// their place unless the desired capacity is decremented.
func (f *Fleet) Detach(name string, ec2 []string, decrement bool) ([]*Host, error) {
	g, err := f.Group(name)
	if err != nil {
		return nil, err
	}
	if len(ec2) == 0 || len(ec2) > 20 {
		return nil, invalidGroup("The number of instances to detach must be from 1 to 20")
	}
	var out []*Host
	for _, id := range ec2 {
		h, err := f.member(id)
		if err != nil || h.Group != g {
			return nil, invalidGroup("The instance %s is not part of Auto Scaling group %s.", id, name)
		}
		if h.Lifecycle != "InService" {
			return nil, invalidGroup("The instance %s is not in InService or Standby.", id)
		}
		if slices.Contains(out, h) {
			return nil, invalidGroup("The instance %s is named twice.", id)
		}
		out = append(out, h)
	}
	if decrement && g.Desired-len(out) < g.Min {
		return nil, invalidGroup("Detaching %d instances without replacement will violate group's min size constraint (%d).", len(out), g.Min)
	}
	if decrement {
		g.Desired -= len(out)
	}
	for _, h := range out {
		h.Lifecycle = "Detaching"
		f.after(f.between(2*time.Second, 20*time.Second), func() {
			if h.Group == g && h.Lifecycle == "Detaching" {
				f.part(h)
			}
		})
	}
	f.scaleSoon(g)
	return out, nil
}

// ProtectFromScaleIn sets or clears scale-in protection of a group's instances.
func (f *Fleet) ProtectFromScaleIn(name string, ec2 []string, protected bool) error {
	g, err := f.Group(name)
	if err != nil {
		return err
	}
	var hosts []*Host
	for _, id := range ec2 {
		h, err := f.member(id)
		if err != nil || h.Group != g {
			return invalidGroup("The instance %s is not part of Auto Scaling group %s.", id, name)
		}
		if h.leaving() {
			return invalidGroup("The instance %s is not in InService or EnteringStandby or Standby.", id)
		}
		hosts = append(hosts, h)
	}
	for _, h := range hosts {
		h.ScaleInProtected = protected
	}
	return nil
}
