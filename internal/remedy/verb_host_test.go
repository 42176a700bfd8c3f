package remedy

import (
	"fmt"

	"github.com/cockroachdb/datadriven"
)

// host host=ID [terminated] [term-protected] [no-group] [no-ssm] [managed]
// [unregistered] [clients=N] [ami=A] [sees-cards=N] [unprotect] [fixes=N]: changes it; prints it.
func verbHost(s *script, d *datadriven.TestData) string {
	h := s.named(d)
	if d.HasArg("terminated") {
		h.gone, h.reg, h.lifecycle, h.tasks = true, false, "", nil
	}
	if d.HasArg("no-group") {
		h.lifecycle = ""
	}
	if d.HasArg("unprotect") {
		for _, t := range h.tasks {
			t.protected = false
		}
	}
	if d.HasArg("unregistered") {
		h.reg = false
	}
	h.protect = h.protect != d.HasArg("term-protected")
	h.noSSM = h.noSSM || d.HasArg("no-ssm")
	h.managed = h.managed || d.HasArg("managed")
	arg(s, d, "clients", &h.clients)
	arg(s, d, "ami", &h.scope.AMI)
	arg(s, d, "sees-cards", &h.seen)
	arg(s, d, "fixes", &h.fixes)
	return fmt.Sprintf("%s %s cordon=%q mark=%t gone=%t tasks=%d\n", h.id, h.status, h.cordonBy, h.mark != "", h.gone, len(h.tasks))
}
