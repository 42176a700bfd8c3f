package admission

import "strings"

var variableRules = []Rule{
	{ID: "BH120", Severity: Error, Title: "reserved variable in the environment",
		Why:       "ECS sets these variables for a share; overwriting them lifts the memory or compute limit, or loses the card.",
		Fix:       "Remove the variable; use nvidiaMps.memory and maxComputePercent.",
		container: func(r *report, c container) { reservedName(r, c, "environment") }},
	{ID: "BH121", Severity: Error, Title: "reserved variable in the secrets",
		Why:       "A secret becomes an environment variable and overwrites what ECS sets for the share.",
		Fix:       "Remove the secret; use nvidiaMps.memory and maxComputePercent.",
		container: func(r *report, c container) { reservedName(r, c, "secrets") }},
	{ID: "BH122", Severity: Info, Title: "environment file that cannot be looked into",
		Why:       "A file in S3 may set the variables that ECS owns, and lint does not see it.",
		Fix:       "Make sure that the file sets none of CUDA_MPS_* and *_VISIBLE_DEVICES.",
		container: environmentFile},
	{ID: "BH123", Severity: Error, Title: "reserved variable changed in the command",
		Why:       "A shell that sets or unsets these variables lifts the limits of the share for what it starts.",
		Fix:       "Remove the assignment from the command.",
		container: reservedInCommand},
}

func reservedName(r *report, c container, field string) {
	if c.share == nil {
		return
	}
	for _, e := range c.get(field).list() {
		n := e.get("name")
		for _, name := range reserved {
			if n.string() == name {
				r.at(n, c.node, name+" is set in "+field)
			}
		}
	}
}

func environmentFile(r *report, c container) {
	if c.share == nil {
		return
	}
	for _, f := range c.get("environmentFiles").list() {
		r.at(f, c.node, "what this file sets is not known")
	}
}

var placeRules = []Rule{
	{ID: "BH130", Severity: Error, Title: "launch type that cannot share",
		Why:  "GPU sharing works on EC2 and Managed Instances, not on Fargate, Express Mode or EXTERNAL.",
		Fix:  "Require EC2 or MANAGED_INSTANCES only.",
		task: wrongLaunchType},
	{ID: "BH131", Severity: Error, Title: "Windows cannot share",
		Why:  "The ECS agent runs MPS on Linux only.",
		Fix:  "Use a Linux operating system family.",
		task: windows},
	{ID: "BH132", Severity: Error, Title: "instance family that cannot share",
		Why:  "G6f and Gr6f carry fractional (vGPU) devices, where the ECS agent does not offer sharing; cards older than Volta have no limits under MPS, and other families have no NVIDIA card.",
		Fix:  "Place on a family with whole GPUs, or ask for a fraction with value.",
		task: fractionalFamily},
	{ID: "BH133", Severity: Error, Title: "daemon task cannot share",
		Why:  "ECS managed daemon tasks do not support GPU sharing.",
		Fix:  "Run it as a task or service.",
		task: daemonTask},
}

func wrongLaunchType(r *report, t *task, cs []container) {
	if len(sharing(cs)) == 0 {
		return
	}
	for _, c := range t.root.get("requiresCompatibilities").list() {
		if s := c.string(); cannotShare(s) {
			r.at(c, nil, s+" does not support GPU sharing")
		}
	}
	for _, l := range t.launches {
		r.at(l.node, nil, l.what+" does not support GPU sharing, and runs a task definition that asks for a share")
	}
}

func windows(r *report, t *task, cs []container) {
	p := t.root.get("runtimePlatform")
	if l := p.list(); len(l) > 0 { // Terraform writes a block as a list
		p = l[0]
	}
	if os := p.get("operatingSystemFamily"); len(sharing(cs)) > 0 && strings.HasPrefix(os.string(), "WINDOWS") {
		r.at(os, nil, os.text+" does not support GPU sharing")
	}
}

// fractionalFamily looks at what the placement constraints demand, and at the instance types of the template.
func fractionalFamily(r *report, t *task, cs []container) {
	if len(sharing(cs)) == 0 {
		return
	}
	for _, d := range t.demanded() {
		if why := families[d.what].why; why != "" {
			r.at(d.node, nil, "the constraint asks for "+d.what+": "+why)
		}
	}
	for _, i := range t.instances {
		name, _, _ := strings.Cut(strings.ToLower(i.what), ".")
		if why := families[name].why; why != "" && name[0] == 'g' {
			r.at(i.node, nil, "the template starts "+name+": "+why)
		}
	}
}

func daemonTask(r *report, t *task, cs []container) {
	if s := sharing(cs); t.daemon && len(s) > 0 {
		r.at(s[0].share, s[0].node, "a daemon task definition asks for a share")
	}
}
