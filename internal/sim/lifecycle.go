package sim

import (
	"slices"
	"time"
)

// The transitions that a lifecycle hook can hold.
const (
	Launching   = "autoscaling:EC2_INSTANCE_LAUNCHING"
	Terminating = "autoscaling:EC2_INSTANCE_TERMINATING"
)

// Hook is a lifecycle hook. Heartbeat is an hour when zero; Default, what a timeout
// means, is CONTINUE or ABANDON, and ABANDON when empty.
type Hook struct {
	Name, Transition, Default, Metadata string
	Heartbeat                           time.Duration
}

// Global is the longest an instance can be held: 48 hours or 100 heartbeats,
// whichever is less.
func (h Hook) Global() time.Duration { return min(48*time.Hour, 100*h.Heartbeat) }

// wait is one hook that holds one instance.
type wait struct {
	hook            Hook
	token           string
	deadline, until time.Time
}

// HookWait is a hook that holds an instance, as a caller sees it.
type HookWait struct {
	Hook, Token     string
	Deadline, Until time.Time
}

// Waits are the hooks that hold an instance now.
func (h *Host) Waits() []HookWait {
	var out []HookWait
	for _, w := range h.waits {
		out = append(out, HookWait{w.hook.Name, w.token, w.deadline, w.until})
	}
	return out
}

// PutHook makes or replaces a hook of a group; instances held already are not
// affected.
func (f *Fleet) PutHook(group string, h Hook) error {
	g, err := f.Group(group)
	if err != nil {
		return err
	}
	return g.put(h)
}

func (g *Group) put(h Hook) error {
	if h.Heartbeat == 0 {
		h.Heartbeat = time.Hour
	}
	if h.Default == "" {
		h.Default = "ABANDON"
	}
	switch {
	case h.Name == "":
		return invalidGroup("LifecycleHookName must not be empty")
	case h.Transition != Launching && h.Transition != Terminating:
		return invalidGroup("The lifecycle transition %q is not valid", h.Transition)
	case h.Default != "CONTINUE" && h.Default != "ABANDON":
		return invalidGroup("The default result %q must be CONTINUE or ABANDON", h.Default)
	case h.Heartbeat < 30*time.Second || h.Heartbeat > 2*time.Hour:
		return invalidGroup("The heartbeat timeout must be from 30 to 7200 seconds")
	}
	if i := slices.IndexFunc(g.Hooks, func(x Hook) bool { return x.Name == h.Name }); i >= 0 {
		g.Hooks[i] = h
		return nil
	}
	g.Hooks = append(g.Hooks, h)
	return nil
}

// hold puts an instance into its wait state for the hooks of a transition; without
// one it goes on at once.
func (f *Fleet) hold(h *Host, transition string) {
	for _, k := range h.Group.Hooks {
		if k.Transition != transition {
			continue
		}
		w := &wait{hook: k, token: f.token(), deadline: f.now.Add(k.Heartbeat), until: f.now.Add(k.Global())}
		h.waits = append(h.waits, w)
		f.hookEvent(h, w)
		f.expire(h, w)
		if k.Name == drainHook {
			f.after(time.Second, func() { f.drained(h, w) })
		}
	}
	if len(h.waits) == 0 {
		f.proceed(h)
		return
	}
	h.Lifecycle = "Pending:Wait"
	if transition == Terminating {
		h.Lifecycle = "Terminating:Wait"
	}
}

func (f *Fleet) hookEvent(h *Host, w *wait) {
	kind, from, to := "EC2 Instance-launch Lifecycle Action", "EC2", "AutoScalingGroup"
	if w.hook.Transition == Terminating {
		kind, from, to = "EC2 Instance-terminate Lifecycle Action", to, from
	}
	f.emit("aws.autoscaling", kind, h.Group.ARN, map[string]any{"LifecycleActionToken": w.token, "AutoScalingGroupName": h.Group.Name, "LifecycleHookName": w.hook.Name,
		"EC2InstanceId": h.EC2, "LifecycleTransition": w.hook.Transition, "NotificationMetadata": w.hook.Metadata, "Origin": from, "Destination": to})
}

// expire takes the hook's default when its heartbeats end.
func (f *Fleet) expire(h *Host, w *wait) {
	f.after(w.deadline.Sub(f.now), func() {
		if !slices.Contains(h.waits, w) {
			return
		}
		if w.deadline.After(f.now) {
			f.expire(h, w)
			return
		}
		f.complete(h, w, w.hook.Default)
	})
}

// proceed ends a wait: a newcomer is in service, a leaver is terminated.
func (f *Fleet) proceed(h *Host) {
	if !h.leaving() {
		h.Lifecycle = "InService"
		return
	}
	h.Lifecycle = "Terminating:Proceed"
	f.end(h)
}

func (f *Fleet) complete(h *Host, w *wait, result string) {
	h.waits = slices.DeleteFunc(h.waits, func(x *wait) bool { return x == w })
	if result == "ABANDON" && w.hook.Transition == Launching {
		f.leave(h)
		return
	}
	if result == "ABANDON" {
		h.waits = nil // the other hooks are not waited for
	}
	if len(h.waits) == 0 {
		f.proceed(h)
	}
}

// CompleteLifecycle ends a hook's wait by instance or token; result is CONTINUE or
// ABANDON.
func (f *Fleet) CompleteLifecycle(group, hook, ec2, token, result string) error {
	if result != "CONTINUE" && result != "ABANDON" {
		return invalidGroup("LifecycleActionResult must be CONTINUE or ABANDON")
	}
	h, w, err := f.waiting(group, hook, ec2, token)
	if err != nil {
		return err
	}
	f.complete(h, w, result)
	return nil
}

// Heartbeat gives a hook's wait another heartbeat, up to its global timeout.
func (f *Fleet) Heartbeat(group, hook, ec2, token string) error {
	_, w, err := f.waiting(group, hook, ec2, token)
	if err != nil {
		return err
	}
	w.deadline = f.now.Add(w.hook.Heartbeat)
	if w.deadline.After(w.until) {
		w.deadline = w.until
	}
	return nil
}

func (f *Fleet) waiting(group, hook, ec2, token string) (*Host, *wait, error) {
	g, err := f.Group(group)
	if err != nil {
		return nil, nil, err
	}
	if !slices.ContainsFunc(g.Hooks, func(x Hook) bool { return x.Name == hook }) {
		return nil, nil, invalidGroup("No Lifecycle Hook found: %s", hook)
	}
	for _, h := range g.members {
		for _, w := range h.waits {
			if w.hook.Name == hook && (token != "" && w.token == token || token == "" && h.EC2 == ec2) {
				return h, w, nil
			}
		}
	}
	if token != "" {
		return nil, nil, invalidGroup("No active Lifecycle Action found with token %s", token)
	}
	return nil, nil, invalidGroup("No active Lifecycle Action found with instance ID %s", ec2)
}
