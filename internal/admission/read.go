package admission

import (
	"bytes"
	"fmt"
	"strings"
)

// Document is one file with the task definitions found in it.
type Document struct {
	Name    string
	Content []byte // as read
	tasks   []*task
	repeats []repeat
}

// Tasks counts the task definitions found.
func (d Document) Tasks() int { return len(d.tasks) }

type task struct {
	root       *node
	containers []*node
	daemon     bool
	tags       *node // where describe-task-definition gives them, beside the definition
}

// Read finds the task definitions in content: register-task-definition JSON or YAML, describe-task-definition
// output, CloudFormation and SAM templates (what CDK, Copilot and Compose synthesise is the same), and Terraform
// plan JSON. Its errors wrap ErrTooLarge, ErrTooDeep, ErrSyntax or ErrNoTasks and say what to do.
func Read(name string, content []byte, limits Limits) (Document, error) {
	limits = limits.orDefault()
	doc := Document{Name: name, Content: content}
	if len(content) > limits.Bytes {
		return doc, fmt.Errorf("%s: %w: %d bytes, at most %d are read", name, ErrTooLarge, len(content), limits.Bytes)
	}
	body := bytes.TrimPrefix(content, []byte("\xef\xbb\xbf"))
	parse := parseYAML
	if t := bytes.TrimSpace(body); len(t) > 0 && (t[0] == '{' || t[0] == '[') {
		parse = parseJSON
	}
	root, repeats, err := parse(body, limits)
	if err != nil {
		return doc, fmt.Errorf("%s: %w", name, err)
	}
	root.setPaths("$")
	root.shift(len(content) - len(body))
	doc.repeats = repeats
	if err := doc.find(root, limits); err != nil {
		return doc, fmt.Errorf("%s: %w", name, err)
	}
	if len(doc.tasks) == 0 {
		return doc, fmt.Errorf("%s: %w: expected containerDefinitions, an AWS::ECS::TaskDefinition, or a Terraform plan (terraform show -json)", name, ErrNoTasks)
	}
	return doc, nil
}

// shift moves offsets past a byte order mark.
func (n *node) shift(by int) {
	if by == 0 {
		return
	}
	if n.start >= 0 {
		n.start, n.end = n.start+by, n.end+by
	}
	for _, i := range n.items {
		i.shift(by)
	}
	for _, m := range n.members {
		m.value.shift(by)
	}
}

func (d *Document) find(n *node, limits Limits) error {
	if n.kind == kindList {
		for _, i := range n.items {
			if err := d.find(i, limits); err != nil {
				return err
			}
		}
		return nil
	}
	switch {
	case n.get("resources") != nil && n.get("resources").kind == kindMap:
		for _, m := range n.get("resources").members {
			d.template(m.value)
		}
	case n.get("taskDefinition") != nil:
		before := len(d.tasks)
		if d.add(n.get("taskDefinition"), n.get("taskDefinition").get("containerDefinitions")); len(d.tasks) > before {
			d.tasks[before].tags = n.get("tags")
		}
	case n.get("planned_values") != nil:
		return d.module(n.get("planned_values").get("root_module"), limits)
	case n.get("values") != nil && n.get("values").get("root_module") != nil:
		return d.module(n.get("values").get("root_module"), limits)
	default:
		d.add(n, n.get("containerDefinitions"))
	}
	return nil
}

func (d *Document) template(r *node) {
	kind := r.get("type").string()
	props := r.get("properties")
	switch kind {
	case "AWS::ECS::TaskDefinition", "AWS::ECS::DaemonTaskDefinition":
		before := len(d.tasks)
		d.add(props, props.get("containerDefinitions"))
		if len(d.tasks) > before {
			d.tasks[before].daemon = kind == "AWS::ECS::DaemonTaskDefinition"
		}
	}
}

func (d *Document) add(root, containers *node) {
	if root == nil || containers == nil {
		return
	}
	d.tasks = append(d.tasks, &task{root: root, containers: containers.list()})
}

// module walks Terraform's modules. The container definitions are JSON inside a string: what is found there is
// placed at the string, and cannot be edited.
func (d *Document) module(m *node, limits Limits) error {
	for _, r := range m.get("resources").list() {
		if r.get("type").string() != "aws_ecs_task_definition" {
			continue
		}
		values := r.get("values")
		text := values.get("container_definitions")
		if text == nil || text.kind != kindText {
			continue
		}
		inner, repeats, err := parseJSON([]byte(text.text), limits)
		if err != nil {
			return fmt.Errorf("line %d: container_definitions of %s: %w", text.line, r.get("address").string(), err)
		}
		inner.setPaths(text.path)
		inner.place(text.line, text.column)
		for _, x := range repeats {
			d.repeats = append(d.repeats, repeat{x.name, text.line, text.column})
		}
		d.tasks = append(d.tasks, &task{root: values, containers: inner.list()})
	}
	for _, c := range m.get("child_modules").list() {
		if err := d.module(c, limits); err != nil {
			return err
		}
	}
	return nil
}

func (n *node) place(line, column int) {
	n.line, n.column, n.start, n.end = line, column, -1, -1
	for _, i := range n.items {
		i.place(line, column)
	}
	for _, m := range n.members {
		m.value.place(line, column)
	}
}

// container is what the rules ask of one container definition.
type container struct {
	*node
	task  *task
	reqs  []*node // its GPU requirements
	share *node   // the nvidiaMps value of the first, nil when it does not share
	whole bool    // it takes a whole card, or a fixed fraction
	words string  // entry point, command, one space between words
}

func (t *task) read() []container {
	var out []container
	for _, n := range t.containers {
		c := container{node: n, task: t}
		for _, r := range n.get("resourceRequirements").list() {
			if r.get("type").string() != "GPU" {
				continue
			}
			c.reqs = append(c.reqs, r)
			if s := r.get("sharingStrategy"); s != nil {
				if m := s.get("nvidiaMps"); m != nil && c.share == nil {
					c.share = m
				}
			}
			c.whole = c.whole || r.get("value") != nil
		}
		var words []string
		for _, f := range []string{"entryPoint", "command"} {
			for _, w := range n.get(f).list() {
				words = append(words, w.string())
			}
		}
		c.words = strings.Join(words, " ")
		out = append(out, c)
	}
	return out
}
