package local

import (
	"fmt"
	"strings"
)

// fault is one that can be asked for: what is said of it, and where it is seen.
type fault struct {
	said  func(in Injection, host string) string
	watch []string
	lasts bool // it may be given a time
}

// Where what follows is seen.
const (
	seeHealth   = "bulkhead health"
	seeGPUs     = "bulkhead gpus"
	seeHosts    = "bulkhead hosts"
	seeFindings = "bulkhead findings"
	seeEnded    = "bulkhead tasks --state releasing,lost,released"
)

// says puts the host into a sentence.
func says(format string) func(Injection, string) string {
	return func(_ Injection, host string) string { return fmt.Sprintf(format, host) }
}

// until adds how a fault that lasts will end.
func until(format, ender string) func(Injection, string) string {
	return func(in Injection, host string) string {
		end := "until `bulkhead local inject " + ender + " --host " + host + "`"
		if in.For > 0 {
			end = fmt.Sprintf("for %s of fleet time", in.For)
		}
		return fmt.Sprintf(format, host, end)
	}
}

func onCard(format string) func(Injection, string) string {
	return func(in Injection, host string) string {
		return strings.NewReplacer("{card}", fmt.Sprint(in.Card), "{host}", host, "{xid}", fmt.Sprint(in.Xid)).Replace(format)
	}
}

// faults are all of them. The fleet model may know more: one is offered once it is
// known where its effect is seen.
var faults = map[string]fault{
	"xid":              {onCard("Card {card} of {host} logs Xid {xid}: its agent reports it, and the verdict on the host follows."), []string{seeHealth, seeGPUs}, false},
	"mps-dead":         {says("The MPS control daemon of %s is dead: its agent says so, and no sharing task starts there."), []string{seeHealth, seeEnded}, false},
	"mps-wedged":       {says("The MPS control daemon of %s answers nothing: its agent says so, and no sharing task starts there."), []string{seeHealth, seeEnded}, false},
	"mps-slow":         {says("The MPS control daemon of %s answers late: ECS's gate cannot verify it, and no sharing task starts there."), []string{seeHealth, seeEnded}, false},
	"mps-fault":        {onCard("A fatal fault of one client ends all clients of card {card} of {host}."), []string{seeHealth, seeEnded}, false},
	"mps-recover":      {says("The MPS control daemon of %s serves again."), []string{seeHealth}, false},
	"spot":             {says("%s has two minutes of fleet time left; its tasks move, and another host is launched."), []string{seeHosts, seeEnded}, false},
	"agent-silent":     {until("The agent of %s reports no more, %s. After three leases of 300 s its word no longer counts.", agentBack), []string{seeHealth}, true},
	agentBack:          {says("The agent of %s speaks again."), []string{seeHealth}, false},
	"nvml-hang":        {until("Calls into the driver of %s do not return, %s.", nvmlBack), []string{seeHealth}, true},
	nvmlBack:           {says("Calls into the driver of %s return again."), []string{seeHealth}, false},
	"ecs-agent-lost":   {until("The ECS agent of %s is disconnected: ECS places nothing there, and what runs goes on, %s.", "reboot"), []string{seeHosts, seeFindings}, true},
	"ec2-impaired":     {says("EC2's status checks of %s fail. ECS does not tell of it: only who asks EC2 knows."), []string{seeHosts}, false},
	"host-terminate":   {says("%s is terminated without notice: its tasks are lost, and another host is launched."), []string{seeHosts, seeEnded}, false},
	"reboot":           {says("%s reboots: its tasks end, its cards stay, and its agent begins a new boot."), []string{seeHosts, seeHealth}, false},
	"reboot-new-uuids": {says("%s is stopped and comes back with other cards."), []string{seeGPUs, seeFindings}, false},
	"event-loss": {func(in Injection, _ string) string {
		return fmt.Sprintf("EventBridge loses every event for %s of fleet time: the sweep heals what that leaves.", in.For)
	}, []string{"bulkhead tasks --watch", seeFindings}, true},
}
