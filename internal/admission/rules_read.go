package admission

import "slices"

// Rules whose findings the reader makes too.
const (
	ruleUnresolved = "BH190"
	ruleRepeated   = "BH191"
	ruleEmbedded   = "BH192"
	// RuleUnreadable is the rule of what cannot be read at all.
	RuleUnreadable = ruleEmbedded
)

var readRules = []Rule{
	{ID: ruleUnresolved, Severity: Info, Title: "value that is known only on deployment",
		Why:       "An intrinsic function, or a value that a plan does not know yet, is resolved on deployment; what depends on it is not checked. Both branches of Fn::If are.",
		Fix:       "Lint the deployed task definition too (aws ecs describe-task-definition).",
		container: unresolvedValue, task: unresolvedList},
	{ID: ruleRepeated, Severity: Warning, Title: "key written twice",
		Why: "Parsers keep one of the two, most of them the last, and not all the same one.",
		Fix: "Remove one of them."},
	{ID: ruleEmbedded, Severity: Error, Title: "container definitions that cannot be read",
		Why: "Terraform hands them to ECS as one text of JSON; ECS refuses what is not JSON, and nothing in it is checked.",
		Fix: "Write them with jsonencode."},
}

// unresolvedList names a function that stands for all containers, or for what the task requires.
func unresolvedList(r *report, t *task, _ []container) {
	if t.containers.unresolved() {
		r.at(t.containers, nil, t.containers.called()+" stands for containerDefinitions")
	}
	for _, f := range []string{"requiresCompatibilities", "placementConstraints", "runtimePlatform"} {
		if n := t.root.get(f); n.unresolved() {
			r.at(n, nil, n.called()+" stands for "+f)
		} else if n != nil {
			deepUnresolved(r, nil, n)
		}
	}
}

// readNames are the environment variables whose value a rule reads.
var readNames = append([]string{"NVIDIA_VISIBLE_DEVICES", "CUDA_DEVICE_MAX_CONNECTIONS", "GUNICORN_CMD_ARGS",
	"XLA_PYTHON_CLIENT_MEM_FRACTION", "XLA_PYTHON_CLIENT_PREALLOCATE", "TF_FORCE_GPU_ALLOW_GROWTH", "CUDA_MEMORY_FRACTION"}, severalVariables...)

// unresolvedValue names the functions that stand where a rule would have read.
func unresolvedValue(r *report, c container) {
	if c.unresolved() {
		r.at(c.node, nil, c.called()+" stands for a whole container definition")
		return
	}
	for _, f := range []string{"resourceRequirements", "environment", "secrets", "command", "entryPoint", "stopTimeout"} {
		if n := c.get(f); n.unresolved() {
			r.at(n, c.node, n.called()+" stands for "+f)
		}
	}
	for _, q := range c.get("resourceRequirements").list() {
		deepUnresolved(r, c.node, q)
	}
	if c.share == nil {
		return
	}
	for _, w := range c.command() {
		deepUnresolved(r, c.node, w)
	}
	for _, f := range []string{"environment", "secrets"} {
		for _, e := range c.get(f).list() {
			name, value := e.get("name"), e.get("value")
			if e.unresolved() || name.unresolved() {
				deepUnresolved(r, c.node, e)
			} else if value.unresolved() && slices.Contains(readNames, name.string()) {
				deepUnresolved(r, c.node, value)
			}
		}
	}
}

func deepUnresolved(r *report, c, n *node) {
	if n.unresolved() {
		r.at(n, c, n.called()+" stands where a rule reads")
	}
	for _, i := range n.items {
		deepUnresolved(r, c, i)
	}
	for _, m := range n.members {
		deepUnresolved(r, c, m.value)
	}
}
