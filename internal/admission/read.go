package admission

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// Document is one file with the task definitions found in it.
type Document struct {
	Name    string
	Content []byte // as read
	tasks   []*task
	repeats []repeat
	notes   []note
}

// note is a finding that the reader makes, since no value stands there for a rule to look at.
type note struct {
	rule    string
	node    *node
	message string
}

// Tasks counts the task definitions found.
func (d Document) Tasks() int { return len(d.tasks) }

// task is one task definition and what is said of it elsewhere in the same file.
type task struct {
	root       *node
	containers *node
	daemon     bool
	tags       *node   // where describe-task-definition gives them, beside the definition
	launches   []usage // services of the same template that run it where nothing can share
	instances  []usage // instance types of the same template
}

// usage is a place in the file that says how a task definition is run.
type usage struct {
	node *node
	what string
}

// Read finds the task definitions in content: register-task-definition JSON or YAML, describe-task-definition
// output, CloudFormation and SAM templates (what CDK, Copilot and Compose synthesise is the same), and Terraform
// plan JSON; of a YAML stream, in each of its documents. Its errors wrap ErrTooLarge, ErrTooDeep, ErrEncoding,
// ErrSyntax or ErrNoTasks and say what to do.
func Read(name string, content []byte, limits Limits) (Document, error) {
	limits = limits.orDefault()
	doc := Document{Name: name, Content: content}
	if len(content) > limits.Bytes {
		return doc, fmt.Errorf("%s: %w: more than %d bytes", name, ErrTooLarge, limits.Bytes)
	}
	if err := encoding(content); err != nil {
		return doc, fmt.Errorf("%s: %w", name, err)
	}
	body := bytes.TrimPrefix(content, []byte("\xef\xbb\xbf"))
	parse := parseYAML
	if t := bytes.TrimSpace(body); len(t) > 0 && (t[0] == '{' || t[0] == '[') {
		parse = parseJSON
	}
	roots, repeats, err := parse(body, limits)
	if err != nil {
		return doc, fmt.Errorf("%s: %w", name, err)
	}
	doc.repeats = repeats
	for i, root := range roots {
		path := "$"
		if len(roots) > 1 {
			path = fmt.Sprintf("$%d", i)
		}
		root.setPaths(path)
		root.shift(len(content) - len(body))
		doc.find(root, limits)
	}
	if len(doc.tasks) == 0 && len(doc.notes) == 0 {
		return doc, fmt.Errorf("%s: %w: expected containerDefinitions, an AWS::ECS::TaskDefinition, or a Terraform plan (terraform show -json)", name, ErrNoTasks)
	}
	return doc, nil
}

// encoding refuses what would be read as something else than it says.
func encoding(content []byte) error {
	utf16 := bytes.HasPrefix(content, []byte("\xff\xfe")) || bytes.HasPrefix(content, []byte("\xfe\xff")) ||
		len(content) > 1 && (content[0] == 0) != (content[1] == 0)
	switch {
	case utf16:
		return fmt.Errorf("%w: this is UTF-16; save it as UTF-8", ErrEncoding)
	case !utf8.Valid(content):
		return fmt.Errorf("%w: save it as UTF-8", ErrEncoding)
	}
	return nil
}

// shift moves offsets past a byte order mark.
func (n *node) shift(by int) {
	if by == 0 || n == nil {
		return
	}
	n.start, n.from, n.to = n.start+by, n.from+by, n.to+by
	n.args.shift(by)
	for _, i := range n.items {
		i.shift(by)
	}
	for _, m := range n.members {
		m.value.shift(by)
	}
}

func (d *Document) find(n *node, limits Limits) {
	for _, i := range n.list() {
		d.find(i, limits)
	}
	switch {
	case n.get("resources") != nil && n.get("resources").kind == kindMap:
		d.template(n.get("resources"))
	case n.get("taskDefinition") != nil:
		if t := d.add(n.get("taskDefinition")); t != nil {
			t.tags = n.get("tags")
		}
	case n.get("planned_values") != nil:
		p := plan{doc: d, limits: limits, unknown: unknownInPlan(n)}
		p.module(n.get("planned_values").get("root_module"))
	case n.get("values").get("root_module") != nil:
		p := plan{doc: d, limits: limits}
		p.module(n.get("values").get("root_module"))
	default:
		d.add(n)
	}
}

func (d *Document) add(root *node) *task {
	containers := root.get("containerDefinitions")
	if containers == nil {
		return nil
	}
	t := &task{root: root, containers: containers}
	d.tasks = append(d.tasks, t)
	return t
}
