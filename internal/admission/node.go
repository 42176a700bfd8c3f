package admission

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

type kind uint8

const (
	kindNull kind = iota
	kindText
	kindNumber
	kindBool
	kindList
	kindMap
	kindUnresolved // an intrinsic function, kept by name in text and with what it was given in args
)

// node is one value of a document with the place it was read from.
type node struct {
	kind    kind
	text    string
	line    int // from 1
	column  int // from 1, in characters
	start   int // offset of its first byte, of JSON
	from    int // what may be edited in place, without quotes: from below to; equal when nothing may
	to      int
	path    string
	items   []*node
	members []member
	args    *node  // of an intrinsic function
	whole   *int64 // the value of a whole number that is written in another base than ten
}

type member struct {
	name  string
	value *node
}

// get finds a member by the API's name; templates write its first letter large, and Terraform writes snake_case.
// Of a key that is written twice the last one counts, as readers have it.
func (n *node) get(name string) *node {
	if n == nil || n.kind != kindMap {
		return nil
	}
	var near *node
	for i := len(n.members) - 1; i >= 0; i-- {
		m := n.members[i]
		if m.name == name {
			return m.value
		}
		if near == nil && (strings.EqualFold(m.name, name) || strings.EqualFold(strings.ReplaceAll(m.name, "_", ""), name)) {
			near = m.value
		}
	}
	return near
}

func (n *node) list() []*node {
	if n == nil || n.kind != kindList {
		return nil
	}
	return n.items
}

func (n *node) string() string {
	if n == nil || n.kind == kindUnresolved || n.kind == kindNull {
		return ""
	}
	return n.text
}

// integer reads a whole number. Templates may quote it.
func (n *node) integer() (int64, bool) {
	if n == nil || n.kind != kindNumber && n.kind != kindText {
		return 0, false
	}
	if n.whole != nil {
		return *n.whole, true
	}
	v, err := strconv.ParseInt(n.text, 10, 64)
	if err == nil {
		return v, true
	}
	f, err := strconv.ParseFloat(n.text, 64)
	if err != nil || f != float64(int64(f)) || f > 1<<53 || f < -(1<<53) {
		return 0, false
	}
	return int64(f), true
}

func (n *node) unresolved() bool { return n != nil && n.kind == kindUnresolved }

// setPaths names every value by its JSON path and folds long-form intrinsics into unresolved values.
func (n *node) setPaths(path string) {
	n.path = path
	if n.kind == kindMap && len(n.members) == 1 {
		if f := n.members[0].name; f == "Ref" || strings.HasPrefix(f, "Fn::") {
			n.kind, n.text, n.args, n.members = kindUnresolved, f, n.members[0].value, nil
		}
	}
	if n.args != nil {
		n.args.setPaths(path + "." + n.text)
	}
	for i, item := range n.items {
		item.setPaths(path + "[" + strconv.Itoa(i) + "]")
	}
	for _, m := range n.members {
		m.value.setPaths(path + "." + m.name)
	}
}

// Errors of Read. All mean that the file could not be linted.
var (
	ErrTooLarge = errors.New("too large")
	ErrTooDeep  = errors.New("nested too deeply")
	ErrSyntax   = errors.New("neither JSON nor YAML")
	ErrEncoding = errors.New("not UTF-8")
	ErrNoTasks  = errors.New("no ECS task definition in it")
)

// Limits bound what Read takes. The zero value means DefaultLimits.
type Limits struct {
	Bytes int // size of one file
	Depth int // levels of nesting
	Nodes int // values, counting what YAML aliases repeat
}

// DefaultLimits are far above any real template (CloudFormation takes 1 MB) and far below harm.
var DefaultLimits = Limits{Bytes: 8 << 20, Depth: 200, Nodes: 500_000}

func (l Limits) orDefault() Limits {
	if l.Bytes <= 0 {
		l.Bytes = DefaultLimits.Bytes
	}
	if l.Depth <= 0 {
		l.Depth = DefaultLimits.Depth
	}
	if l.Nodes <= 0 {
		l.Nodes = DefaultLimits.Nodes
	}
	return l
}

func tooDeep(line, max int) error {
	return fmt.Errorf("line %d: %w: more than %d levels", line, ErrTooDeep, max)
}
