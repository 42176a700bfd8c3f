package sim

import (
	"slices"
	"strings"
	"time"
)

// Fault is something to go wrong. Kind is one of FaultKinds or FurtherKinds; Host is
// an ARN, an EC2 id or an end of one; Xid and Card are of "xid", Card of "mps-fault"
// too; For is how long "event-loss", "agent-silent", "nvml-hang" and "ecs-agent-lost"
// last, the latter three until a boot when zero.
type Fault struct {
	Kind, Host string
	Xid, Card  int
	For        time.Duration
}

// FaultKinds are the faults that Inject knows.
var FaultKinds = []string{"xid", "mps-dead", "mps-wedged", "mps-fault", "mps-recover", "spot", "agent-silent", "nvml-hang", "ec2-impaired", "host-terminate", "reboot-new-uuids", "event-loss"}

// FurtherKinds are the rest that Inject knows.
var FurtherKinds = []string{"mps-slow", "ecs-agent-lost", "reboot"}

// Host finds a host by ARN or EC2 id, or by how one ends.
func (f *Fleet) Host(name string) (*Host, error) {
	for _, h := range f.hosts {
		if name != "" && (strings.HasSuffix(h.ARN, name) || strings.HasSuffix(h.EC2, name)) {
			return h, nil
		}
	}
	var near []string
	for _, h := range f.hosts {
		near = append(near, h.EC2)
	}
	slices.SortStableFunc(near, func(a, b string) int { return alike(b, name) - alike(a, name) })
	return nil, refuse("InvalidParameterException", "no host %q; near ids: %s", name, strings.Join(near[:min(3, len(near))], ", "))
}

// ContainerInstance finds a registered container instance as ECS does: by its whole
// ARN or its whole id.
func (f *Fleet) ContainerInstance(name string) (*Host, error) {
	if !strings.HasPrefix(name, "arn:") {
		name = f.head() + "container-instance/" + f.cfg.Cluster + "/" + name
	}
	if h := f.byInstance[name]; h != nil && h.Status != "REGISTERING" {
		return h, nil
	}
	return nil, refuse("InvalidParameterException", "The referenced container instance was not found.")
}

// alike is how long two names begin alike.
func alike(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// Inject makes something go wrong now.
func (f *Fleet) Inject(x Fault) error {
	if all := slices.Concat(FaultKinds, FurtherKinds); !slices.Contains(all, x.Kind) {
		return refuse("InvalidParameterException", "no fault %q; faults: %s", x.Kind, strings.Join(all, ", "))
	}
	if x.Kind == "event-loss" {
		f.lostUntil = f.now.Add(x.For)
		return nil
	}
	h, err := f.Host(x.Host)
	if err != nil {
		return err
	}
	switch x.Kind {
	case "xid", "mps-fault":
		return f.cardFault(h, x)
	case "mps-dead":
		f.daemon(h, DaemonDead)
	case "mps-wedged":
		f.daemon(h, DaemonWedged)
	case "mps-slow":
		f.daemon(h, DaemonSlow)
	case "mps-recover":
		f.daemon(h, DaemonServing)
	case "spot":
		return f.spot(h)
	case "agent-silent":
		h.Silent = true
		f.lift(h, x.For, func() { h.Silent = false })
	case "nvml-hang":
		h.NVMLHang = true
		f.lift(h, x.For, func() { h.NVMLHang = false })
	case "ecs-agent-lost":
		h.agentLost = true
		f.disconnect(h)
		f.lift(h, x.For, func() { f.regain(h) })
	case "reboot":
		return f.Reboot(h.EC2)
	case "ec2-impaired":
		h.EC2Impaired = true
		f.sick(h)
	case "host-terminate":
		return f.Terminate(h.EC2)
	case "reboot-new-uuids":
		if err := f.StopInstance(h.EC2); err != nil {
			return err
		}
		h.restart = true
	}
	return nil
}

func (f *Fleet) daemon(h *Host, to Daemon) {
	if h.MPS == to {
		return
	}
	well := h.MPS == DaemonServing || h.MPS == DaemonSlow
	h.MPS = to
	if to == DaemonDead {
		h.Server = ServerNone
	}
	if well {
		f.after(20*time.Second, func() { f.probe(h) })
	}
}

// cardFault is an Xid of a card, or a fatal error of one of its MPS clients.
func (f *Fleet) cardFault(h *Host, x Fault) error {
	if x.Card < 0 || x.Card >= len(h.Cards) {
		return refuse("InvalidParameterException", "host %s has %d cards, counted from 0", h.EC2, len(h.Cards))
	}
	if x.Kind == "xid" {
		f.xid(h, h.Cards[x.Card], x.Xid)
		return nil
	}
	f.fault(h, h.Cards[x.Card])
	return nil
}

// lift ends a fault after a time, unless the host has booted; zero never does.
func (f *Fleet) lift(h *Host, after time.Duration, do func()) {
	if boot := h.Boot; after > 0 {
		f.after(after, func() {
			if h.Boot == boot && h.EC2State == "running" {
				do()
			}
		})
	}
}

// regain lets the ECS agent connect again.
func (f *Fleet) regain(h *Host) {
	h.agentLost = false
	if !h.Connected && h.EC2State == "running" && h.Status != "INACTIVE" && !h.rebooting {
		h.Connected = true
		f.hostEvent(h)
	}
}

// spot is the two-minute notice.
func (f *Fleet) spot(h *Host) error {
	f.emit("aws.ec2", "EC2 Spot Instance Interruption Warning", f.ec2ARN(h), map[string]any{"instance-id": h.EC2, "instance-action": "terminate"})
	f.after(2*time.Minute, func() {
		f.end(h)
	})
	return f.Drain(h.ARN, true)
}
