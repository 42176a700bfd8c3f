package sim

import (
	"fmt"
	"slices"
	"time"
)

// AMI is what hosts are launched from unless their group says otherwise.
const AMI = "ami-0123456789abcdef0"

// newHost is an instance that has just been launched.
func (f *Fleet) newHost(s Shape) *Host {
	h := &Host{ARN: f.id("container-instance"), EC2: fmt.Sprintf("i-%017x", f.rng.Uint64()>>4), Zone: region + string(rune('a'+f.rng.IntN(3))), Shape: s,
		Status: "REGISTERING", EC2State: "pending", Health: "INITIALIZING", MPS: DaemonServing, Server: ServerNone, Attributes: map[string]string{},
		AMI: AMI, AgentVersion: AgentVersion, Tags: map[string]string{}, Launched: f.now}
	f.deal(h)
	f.hosts = append(f.hosts, h)
	f.byEC2[h.EC2], f.byInstance[h.ARN] = h, h
	f.ec2Event(h)
	return h
}

// up is an instance that has booted for the first time: it runs and registers.
func (f *Fleet) up(h *Host) bool {
	if h.EC2State != "pending" {
		return false
	}
	h.EC2State, h.Status, h.Connected, h.Registered, h.HealthAt = "running", "ACTIVE", true, f.now, f.now
	h.Boot = f.token()
	f.ec2Event(h)
	f.hostEvent(h)
	f.after(20*time.Second, func() { f.probe(h) })
	if f.cfg.Flaps {
		f.after(f.between(time.Minute, 2*time.Hour), func() { f.flap(h) })
	}
	return true
}

// Instance finds an EC2 instance by its whole id. Terminated ones are told of for an
// hour.
func (f *Fleet) Instance(ec2 string) (*Host, error) {
	if h := f.byEC2[ec2]; h != nil {
		return h, nil
	}
	return nil, refuse("InvalidInstanceID.NotFound", "The instance ID '%s' does not exist", ec2)
}

// Instances are all EC2 instances, oldest first, those terminated within an hour too.
func (f *Fleet) Instances() []*Host { return append(slices.Clone(f.hosts), f.ended...) }

// Terminate ends an EC2 instance and all that runs on it. Its group, if any, runs no
// hook for it and launches another.
func (f *Fleet) Terminate(ec2 string) error {
	h, err := f.Host(ec2)
	if err != nil {
		return err
	}
	if h.TerminationProtected {
		return refuse("OperationNotPermitted", "The instance '%s' may not be terminated. Modify its 'disableApiTermination' instance attribute and try again.", h.EC2)
	}
	f.end(h)
	return nil
}

// end shuts an instance down; it is terminated some seconds later.
func (f *Fleet) end(h *Host) {
	if h.EC2State == "shutting-down" || h.EC2State == "terminated" {
		return
	}
	registered := h.Status != "REGISTERING"
	h.EC2State = "shutting-down"
	if g := h.Group; g != nil && !h.leaving() {
		h.Lifecycle, h.waits = "Terminating", nil
		f.scaleSoon(g)
	}
	f.ec2Event(h)
	if h.Connected {
		h.Connected = false
		f.hostEvent(h)
	}
	f.after(f.between(5*time.Second, 30*time.Second), func() {
		h.EC2State, h.Status, h.Ended = "terminated", "INACTIVE", f.now
		f.ec2Event(h)
		f.fell(h, fmt.Sprintf("Host EC2 (instance %s) terminated.", h.EC2))
		if registered {
			f.hostEvent(h)
		}
		f.part(h)
		f.hosts = slices.DeleteFunc(f.hosts, func(x *Host) bool { return x == h })
		delete(f.byInstance, h.ARN)
		f.ended = append(f.ended, h)
		f.after(Kept, func() {
			delete(f.byEC2, h.EC2)
			f.ended = slices.DeleteFunc(f.ended, func(x *Host) bool { return x == h })
		})
	})
}

// fell stops every task of a host at once: nothing is left to wait for.
func (f *Fleet) fell(h *Host, why string) {
	for _, t := range slices.Clone(h.tasks) {
		f.stop(t, "", why)
		f.gone(t)
	}
}

// Reboot restarts an instance in place: the same cards, another boot; its tasks end.
func (f *Fleet) Reboot(ec2 string) error {
	h, err := f.Instance(ec2)
	if err != nil {
		return err
	}
	if h.EC2State != "running" {
		return refuse("IncorrectInstanceState", "The instance '%s' is not in a state from which it can be rebooted.", ec2)
	}
	h.rebooting = true
	f.disconnect(h)
	f.after(f.between(40*time.Second, 120*time.Second), func() {
		if h.EC2State == "running" {
			f.boot(h, "Host EC2 (instance "+h.EC2+") rebooted.")
		}
	})
	return nil
}

// StopInstance stops an instance; StartInstance starts it again on other hardware,
// with other cards, under the same registration.
func (f *Fleet) StopInstance(ec2 string) error {
	h, err := f.Instance(ec2)
	if err != nil {
		return err
	}
	if h.EC2State == "stopping" || h.EC2State == "stopped" {
		return nil
	}
	if h.EC2State != "running" {
		return refuse("IncorrectInstanceState", "The instance '%s' is not in a state from which it can be stopped.", ec2)
	}
	h.EC2State = "stopping"
	f.ec2Event(h)
	f.disconnect(h)
	f.after(f.between(10*time.Second, 60*time.Second), func() {
		if h.EC2State != "stopping" {
			return
		}
		h.EC2State = "stopped"
		f.ec2Event(h)
		f.fell(h, "Host EC2 (instance "+h.EC2+") stopped.")
		f.sick(h)
		if h.restart {
			h.restart = false
			_ = f.StartInstance(h.EC2) // it is stopped
		}
	})
	return nil
}

// StartInstance starts a stopped instance.
func (f *Fleet) StartInstance(ec2 string) error {
	h, err := f.Instance(ec2)
	if err != nil {
		return err
	}
	if h.EC2State != "stopped" {
		return refuse("IncorrectInstanceState", "The instance '%s' is not in a state from which it can be started.", ec2)
	}
	h.EC2State = "pending"
	f.ec2Event(h)
	f.after(f.between(20*time.Second, 60*time.Second), func() {
		if h.EC2State != "pending" {
			return
		}
		h.EC2State = "running"
		f.ec2Event(h)
		f.deal(h)
		f.after(f.between(20*time.Second, 60*time.Second), func() {
			if h.EC2State == "running" {
				f.boot(h, "")
			}
		})
	})
	return nil
}

func (f *Fleet) disconnect(h *Host) {
	if h.Connected {
		h.Connected = false
		f.hostEvent(h)
	}
}

// boot is the host coming up again: what ran before is gone, and what a boot mends
// is mended.
func (f *Fleet) boot(h *Host, why string) {
	if why != "" {
		f.fell(h, why)
	}
	h.Boot, h.strikes = f.token(), 0
	h.Silent, h.NVMLHang, h.rebooting, h.agentLost, h.EC2Impaired, h.Unhealthy = false, false, false, false, false, false
	h.MPS, h.Server = DaemonServing, ServerNone
	for _, c := range h.Cards {
		c.Fault, c.affected = false, nil
	}
	h.Connected = true
	f.hostEvent(h)
	f.after(20*time.Second, func() { f.probe(h) })
}

// sick lets a group replace an instance that EC2 calls impaired or stopped.
func (f *Fleet) sick(h *Host) {
	if h.Group == nil || h.restart {
		return
	}
	h.Unhealthy = true
	f.after(f.between(time.Minute, 3*time.Minute), func() {
		if h.Unhealthy {
			f.leave(h)
		}
	})
}
