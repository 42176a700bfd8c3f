package sim

import (
	"slices"
	"strings"
	"time"
)

// Fault is something to go wrong. Kind is one of FaultKinds; Host is an ARN, an
// EC2 id or an end of one; Xid and Card are of "xid", Card of "mps-fault" too; For
// is of "event-loss".
type Fault struct {
	Kind, Host string
	Xid, Card  int
	For        time.Duration
}

// FaultKinds are the faults that Inject knows.
var FaultKinds = []string{"xid", "mps-dead", "mps-wedged", "mps-fault", "mps-recover", "spot", "agent-silent", "nvml-hang", "ec2-impaired", "host-terminate", "reboot-new-uuids", "event-loss"}

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
	if !slices.Contains(FaultKinds, x.Kind) {
		return refuse("InvalidParameterException", "no fault %q; faults: %s", x.Kind, strings.Join(FaultKinds, ", "))
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
	case "mps-recover":
		f.daemon(h, DaemonServing)
	case "spot":
		return f.spot(h)
	case "agent-silent":
		h.Silent = true
	case "nvml-hang":
		h.NVMLHang = true
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
	idle := h.MPS == DaemonServing
	h.MPS = to
	if idle {
		f.after(20*time.Second, func() { f.probe(h) })
	}
}

// cardFault notes an Xid, or faults the card's MPS server: its clients all exit, and
// new ones are refused until the last of them is gone.
func (f *Fleet) cardFault(h *Host, x Fault) error {
	if x.Card < 0 || x.Card >= len(h.Cards) {
		return refuse("InvalidParameterException", "host %s has %d cards, counted from 0", h.EC2, len(h.Cards))
	}
	c := h.Cards[x.Card]
	if x.Kind == "xid" {
		c.Xids = append(c.Xids, x.Xid)
		return nil
	}
	for _, t := range h.tasks {
		if t.held && t.Definition.need.share > 0 && slices.Contains(t.Cards, c) {
			c.affected = append(c.affected, t)
		}
	}
	c.Fault = len(c.affected) > 0
	for _, t := range slices.Clone(c.affected) {
		f.after(f.between(time.Second, 30*time.Second), func() { f.stop(t, "EssentialContainerExited", "Essential container in task exited") })
	}
	return nil
}

// spot is the two-minute notice.
func (f *Fleet) spot(h *Host) error {
	f.emit("aws.ec2", "EC2 Spot Instance Interruption Warning", f.ec2ARN(h), map[string]any{"instance-id": h.EC2, "instance-action": "terminate"})
	f.after(2*time.Minute, func() {
		f.end(h)
	})
	return f.Drain(h.ARN, true)
}
