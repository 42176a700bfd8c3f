package admission

import (
	"slices"
	"strings"
)

// template reads the resources of a CloudFormation template: task definitions, and what runs them.
func (d *Document) template(resources *node) {
	byName := map[string]*task{}
	var instances []usage
	for _, m := range resources.members {
		kind, props := m.value.get("type").string(), m.value.get("properties")
		switch kind {
		case "AWS::ECS::TaskDefinition", "AWS::ECS::DaemonTaskDefinition":
			if t := d.add(props); t != nil {
				t.daemon = kind == "AWS::ECS::DaemonTaskDefinition"
				byName[m.name] = t
			}
		case "AWS::EC2::Instance", "AWS::AutoScaling::LaunchConfiguration":
			instances = append(instances, typesIn(props)...)
		case "AWS::EC2::LaunchTemplate":
			instances = append(instances, typesIn(props.get("launchTemplateData"))...)
		}
	}
	for _, m := range resources.members {
		d.launches(m.value, byName)
	}
	for _, t := range byName {
		t.instances = instances
	}
}

func typesIn(props *node) []usage {
	if t := props.get("instanceType"); t.string() != "" {
		return []usage{{t, t.string()}}
	}
	return nil
}

// launches ties services to the task definitions of the same template that they name.
func (d *Document) launches(r *node, byName map[string]*task) {
	kind, props := r.get("type").string(), r.get("properties")
	switch kind {
	case "AWS::ECS::ExpressGatewayService":
		what := "Express Mode"
		if t := byName[named(props.get("taskDefinitionArn"))]; t != nil {
			t.launches = append(t.launches, usage{props.get("taskDefinitionArn"), what})
		}
		if c := props.get("primaryContainer"); c != nil {
			list := &node{kind: kindList, items: []*node{c}, line: c.line, column: c.column, path: c.path}
			d.tasks = append(d.tasks, &task{root: props, containers: list, launches: []usage{{c, what}}})
		}
	case "AWS::ECS::Service", "AWS::ECS::TaskSet":
		t := byName[named(props.get("taskDefinition"))]
		if t == nil {
			return
		}
		if l := props.get("launchType"); cannotShare(l.string()) {
			t.launches = append(t.launches, usage{l, l.string()})
		}
		for _, s := range props.get("capacityProviderStrategy").list() {
			if p := s.get("capacityProvider"); cannotShare(p.string()) {
				t.launches = append(t.launches, usage{p, p.string()})
			}
		}
	}
}

// cannotShare are launch types and the capacity providers of the same kind.
func cannotShare(s string) bool {
	return slices.Contains([]string{"FARGATE", "FARGATE_SPOT", "EXTERNAL"}, s)
}

// named is the resource that a Ref, or a GetAtt of its ARN, stands for.
func named(n *node) string {
	if !n.unresolved() {
		return ""
	}
	switch strings.TrimPrefix(strings.TrimPrefix(n.text, "Fn::"), "!") {
	case "Ref":
		return n.args.string()
	case "GetAtt":
		if l := n.args.list(); len(l) > 0 {
			return l[0].string()
		}
		name, _, _ := strings.Cut(n.args.string(), ".")
		return name
	}
	return ""
}
