package placing

import "strings"

// Reasons of refusals that are the placer's own.
const (
	ReasonNoHost    = "NoHostAdmits"
	ReasonTooMany   = "TriesUsedUp"
	ReasonDenied    = "ECSRefused"
	ReasonWithdrawn = "RequestRefused"
)

// translated gives ECS's word for a task that it did not start a stable token and a
// sentence that says what to do.
func translated(n *NotStarted) (reason, text string) {
	for _, t := range []struct{ prefix, reason, text string }{
		{"RESOURCE:GPU", "ECSNoGPU", "ECS finds no GPU with that much memory free; the ledger thought there was one"},
		{"RESOURCE:MEMORY", "HostMemoryShort", "the host has too little main memory left for the task"},
		{"RESOURCE:CPU", "HostCPUShort", "the host has too few CPU units left for the task"},
		{"RESOURCE:PORTS", "HostPortTaken", "a host port that the task needs is taken"},
		{"RESOURCE:ENI", "HostENIShort", "the host has no network interface left for the task"},
		{"RESOURCE", "HostResourceShort", "the host lacks a resource that the task needs"},
		{"AGENT", "AgentDisconnected", "the container agent of the host is not connected"},
		{"INACTIVE", "HostNotActive", "the container instance is not active any more"},
		{"MISSING", "HostGone", "ECS does not know the container instance any more"},
		{"ATTRIBUTE", "AttributeMissing", "the host lacks an attribute or capability that the task definition requires"},
		{"AccessDenied", "AccessDenied", "ECS refuses the placer's role: it needs ecs:StartTask on the task definition, and iam:PassRole on the task's roles"},
		{"Throttl", "ECSThrottled", "ECS throttles: other callers of the account use up its modify budget"},
	} {
		if strings.HasPrefix(n.Code, t.prefix) {
			return t.reason, t.text + " (ECS: " + n.Error() + ")"
		}
	}
	return ReasonDenied, "ECS would not start it (ECS: " + n.Error() + ")"
}
