package admission

import (
	"iter"
	"maps"
	"slices"
	"strings"
)

// maxConditions bounds the ways that are looked at: two for each condition, all combinations of this many.
const maxConditions = 4

// maxCopied bounds the values that are copied for all ways together, so that a hostile template costs little more
// than a large one. All true and all false are tried at least.
const maxCopied = 400_000

// variants yields the task definitions that a template's conditions can make of one, one after another. Beyond
// maxConditions only each condition by itself is tried both ways, with all others true, and all false at once.
func (t *task) variants() iter.Seq[*task] {
	return func(yield func(*task) bool) {
		seen := map[string]bool{}
		size := t.root.conditions(seen) + t.containers.conditions(seen)
		if len(seen) == 0 {
			yield(t)
			return
		}
		ways := choices(slices.Sorted(maps.Keys(seen)))
		for _, no := range ways[:min(len(ways), max(2, maxCopied/size))] {
			v := *t
			v.root, v.containers = t.root.under(no), t.containers.under(no)
			if v.root != nil && v.containers != nil && !yield(&v) {
				return
			}
		}
	}
}

// choices are sets of the conditions that are false: none, all, and then the others.
func choices(names []string) []map[string]bool {
	all := map[string]bool{}
	for _, name := range names {
		all[name] = true
	}
	out := []map[string]bool{{}, all}
	if len(names) > maxConditions {
		for _, name := range names {
			out = append(out, map[string]bool{name: true})
		}
		return out
	}
	for bits := 1; bits < 1<<len(names)-1; bits++ {
		set := map[string]bool{}
		for i, name := range names {
			set[name] = bits>>i&1 == 1
		}
		out = append(out, set)
	}
	return out
}

// choice gives a condition's name and its two branches.
func (n *node) choice() (name string, yes, no *node, ok bool) {
	if n == nil || n.kind != kindUnresolved || n.text != "!If" && n.text != "Fn::If" {
		return "", nil, nil, false
	}
	if l := n.args.list(); len(l) == 3 && l[0].kind == kindText {
		return l[0].text, l[1], l[2], true
	}
	return "", nil, nil, false
}

// conditions collects the names of conditions and counts the values on the way.
func (n *node) conditions(seen map[string]bool) int {
	if n == nil {
		return 0
	}
	size := 1
	if name, yes, no, ok := n.choice(); ok {
		seen[name] = true
		size += yes.conditions(seen) + no.conditions(seen)
	}
	for _, i := range n.items {
		size += i.conditions(seen)
	}
	for _, m := range n.members {
		size += m.value.conditions(seen)
	}
	return size
}

// under is the value when these conditions are false and all others true; nil where it is then left out.
func (n *node) under(no map[string]bool) *node {
	if n == nil {
		return nil
	}
	if name, yes, otherwise, ok := n.choice(); ok {
		if no[name] {
			return otherwise.under(no)
		}
		return yes.under(no)
	}
	if named(n) == "AWS::NoValue" {
		return nil
	}
	if len(n.items) == 0 && len(n.members) == 0 {
		return n
	}
	out := *n
	out.items, out.members = nil, nil
	for _, i := range n.items {
		if v := i.under(no); v != nil {
			out.items = append(out.items, v)
		}
	}
	for _, m := range n.members {
		if v := m.value.under(no); v != nil {
			out.members = append(out.members, member{m.name, v})
		}
	}
	return &out
}

// called writes an intrinsic function with what it is given, as far as that is short.
func (n *node) called() string {
	arg := n.args.string()
	if arg == "" && n.args.list() != nil {
		var words []string
		for _, i := range n.args.list() {
			words = append(words, i.string())
		}
		arg = strings.Join(words, " ")
	}
	if arg = strings.TrimSpace(arg); arg == "" {
		return n.text
	}
	if r := []rune(arg); len(r) > 60 {
		arg = string(r[:60]) + "…"
	}
	return n.text + " " + arg
}
