package sim

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// operators are the words for each operator. Source: the ECS developer guide, "Create
// expressions to define container instances".
var operators = map[string]string{
	"==": "==", "equals": "==", "!=": "!=", "not_equals": "!=", ">": ">", "greater_than": ">", ">=": ">=", "greater_than_equal": ">=",
	"<": "<", "less_than": "<", "<=": "<=", "less_than_equal": "<=", "exists": "exists", "!exists": "!exists", "not_exists": "!exists",
	"in": "in", "!in": "!in", "not_in": "!in", "=~": "=~", "matches": "=~", "!~": "!~", "not_matches": "!~",
}

// subject reads what an expression is about: the values that a host has of it.
func subject(name string) (func(*Host) []string, error) {
	if key, ok := strings.CutPrefix(name, "attribute:"); ok && key != "" {
		return func(h *Host) []string { return h.attribute(key) }, nil
	}
	one := func(f func(*Host) string) (func(*Host) []string, error) {
		return func(h *Host) []string { return []string{f(h)} }, nil
	}
	switch name {
	case "agentConnected":
		return one(func(h *Host) string { return strconv.FormatBool(h.Connected) })
	case "agentVersion":
		return one(func(h *Host) string { return h.AgentVersion })
	case "ec2InstanceId":
		return one(func(h *Host) string { return h.EC2 })
	case "registeredAt":
		return one(func(h *Host) string { return h.Registered.UTC().Format(time.RFC3339) })
	case "runningTasksCount":
		return one(func(h *Host) string { return strconv.Itoa(h.count("RUNNING")) })
	case "task:group":
		return func(h *Host) []string {
			var out []string
			for _, t := range h.tasks {
				if t.Desired != "STOPPED" {
					out = append(out, t.Group)
				}
			}
			return out
		}, nil
	}
	return nil, refuse("InvalidParameterException", "Invalid expression: unknown subject %q", name)
}

// attribute are the values of a host's attribute: one, or none.
func (h *Host) attribute(name string) []string {
	for _, a := range h.AllAttributes() {
		if a.Name == name {
			return []string{a.Value}
		}
	}
	return nil
}

// Counts are how many tasks of a host run and wait, as ECS counts them.
func (h *Host) Counts() (running, pending int) { return h.count("RUNNING"), h.count("PENDING") }

// count is how many tasks of a host are in a state.
func (h *Host) count(last string) int {
	n := 0
	for _, t := range h.tasks {
		if t.Last == last {
			n++
		}
	}
	return n
}

// comparison is what is asked of each value; a negative operator asks the same of it
// and the answer is turned.
func comparison(op string, args []string) (func(string) bool, error) {
	switch op {
	case "==", "!=", "in", "!in":
		return func(v string) bool { return slices.Contains(args, v) }, nil
	case "=~", "!~":
		re, err := regexp.Compile("^(?:" + args[0] + ")$")
		if err != nil {
			return nil, refuse("InvalidParameterException", "Invalid expression: the pattern %q is not valid", args[0])
		}
		return re.MatchString, nil
	}
	return func(v string) bool {
		c := ordered(v, args[0])
		switch op {
		case ">":
			return c > 0
		case ">=":
			return c >= 0
		case "<":
			return c < 0
		default:
			return c <= 0
		}
	}, nil
}

// ordered compares values by their dotted numbers where both are such, as versions
// and counts are, otherwise as texts.
func ordered(a, b string) int {
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	for i := range max(len(as), len(bs)) {
		x, y := 0, 0
		var errA, errB error
		if i < len(as) {
			x, errA = strconv.Atoi(as[i])
		}
		if i < len(bs) {
			y, errB = strconv.Atoi(bs[i])
		}
		if errA != nil || errB != nil {
			return strings.Compare(a, b)
		}
		if c := cmp.Compare(x, y); c != 0 {
			return c
		}
	}
	return 0
}

// compile parses the constraints of a task, a service or a definition.
func compile(cs []Constraint) ([]*Query, bool, error) {
	var out []*Query
	distinct := false
	for _, c := range cs {
		switch {
		case c.Type == DistinctInstance && c.Expression == "":
			distinct = true
		case c.Type == MemberOf:
			q, err := ParseQuery(c.Expression)
			if err != nil {
				return nil, false, err
			}
			out = append(out, q)
		default:
			return nil, false, refuse("InvalidParameterException", "Invalid placement constraint type %q", c.Type)
		}
	}
	if len(cs) > 10 {
		return nil, false, refuse("InvalidParameterException", "Placement constraints cannot be more than 10.")
	}
	return out, distinct, nil
}

// CheckConstraints says what is wrong with placement constraints.
func CheckConstraints(cs []Constraint) error {
	_, _, err := compile(cs)
	return err
}
