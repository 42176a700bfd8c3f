package remedy

import "github.com/cockroachdb/datadriven"

// group is=vanished|suspended|normal|bad-ami|good-ami|dry|hooked, or
// terminates=ID: what the Auto Scaling group does.
func verbGroup(s *script, d *datadriven.TestData) string {
	g := &s.fleet.group
	var is, id string
	arg(s, d, "is", &is)
	arg(s, d, "terminates", &id)
	switch is {
	case "vanished":
		g.exists = false
	case "suspended":
		g.launchSuspended = true
	case "normal":
		g.exists, g.launchSuspended, g.noCapacity = true, false, false
	case "bad-ami":
		g.badAMI = true
	case "good-ami":
		g.badAMI = false
	case "dry":
		g.noCapacity = true
	case "hooked":
		g.hook = true
	case "":
		h := s.fleet.host(id)
		h.lifecycle, h.hookSince = LifecycleTerminatingWait, s.fleet.now
	default:
		d.Fatalf(s.t, "a group is never %q", is)
	}
	return "ok\n"
}
