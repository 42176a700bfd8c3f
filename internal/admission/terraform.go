package admission

import (
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// plan reads Terraform's plan or state as JSON.
type plan struct {
	doc     *Document
	limits  Limits
	unknown map[string]bool // addresses whose container definitions are known only after apply
}

// unknownInPlan lists the task definitions whose containers a plan does not know yet.
func unknownInPlan(root *node) map[string]bool {
	out := map[string]bool{}
	for _, c := range root.get("resource_changes").list() {
		if u := c.get("change").get("after_unknown").get("container_definitions"); u.string() == "true" {
			out[c.get("address").string()] = true
		}
	}
	return out
}

// module walks Terraform's modules. The container definitions are JSON inside a string: what is found there is
// placed within the string, and cannot be edited, since a plan is made from other files. What cannot be read is
// named, and the rest is linted.
func (p *plan) module(m *node) {
	for _, r := range m.get("resources").list() {
		if r.get("type").string() == "aws_ecs_task_definition" {
			p.resource(r)
		}
	}
	for _, c := range m.get("child_modules").list() {
		p.module(c)
	}
}

func (p *plan) resource(r *node) {
	address, values := r.get("address").string(), r.get("values")
	text := values.get("container_definitions")
	if text == nil || text.kind != kindText {
		at, why := r, "container_definitions is not given"
		if text != nil {
			at = text
		}
		if p.unknown[address] {
			why = "container_definitions is known only after apply"
		}
		p.doc.notes = append(p.doc.notes, note{ruleUnresolved, at, address + ": " + why})
		return
	}
	roots, repeats, err := parseJSON([]byte(text.text), p.limits)
	if err == nil && roots[0].kind != kindList {
		err = fmt.Errorf("%w: a list of containers is expected", ErrSyntax)
	}
	if err != nil {
		p.doc.notes = append(p.doc.notes, note{ruleEmbedded, text, address + ": container_definitions cannot be read: " + err.Error()})
		return
	}
	inner := roots[0]
	inner.setPaths(text.path)
	w := within{raw: p.doc.Content, at: text.start + 1, line: text.line, column: text.column + 1}
	w.place(inner)
	for _, x := range repeats {
		p.doc.repeats = append(p.doc.repeats, repeat{x.name, text.line, text.column})
	}
	p.doc.tasks = append(p.doc.tasks, &task{root: values, containers: inner})
}

// within finds the places of an embedded document's values: it walks the string as it is written, escapes and
// all, beside the string as it is read. Values come in their order, so that one walk serves all.
type within struct {
	raw          []byte
	at           int // in raw
	read         int // bytes of the string that at stands for
	line, column int
}

func (w *within) place(n *node) {
	for w.read < n.start && w.at < len(w.raw) {
		w.step()
	}
	n.line, n.column, n.from, n.to = w.line, w.column, 0, 0
	if n.args != nil {
		w.place(n.args)
	}
	for _, i := range n.items {
		w.place(i)
	}
	for _, m := range n.members {
		w.place(m.value)
	}
}

// step passes one character of the string. A JSON string stays on its line.
func (w *within) step() {
	if w.raw[w.at] != '\\' {
		_, size := utf8.DecodeRune(w.raw[w.at:])
		w.at, w.read, w.column = w.at+size, w.read+size, w.column+1
		return
	}
	size, read := 2, 1
	if w.at+6 <= len(w.raw) && w.raw[w.at+1] == 'u' {
		size = 6
		r := escaped(w.raw[w.at : w.at+6])
		read = utf8.RuneLen(r)
		if utf16.IsSurrogate(r) {
			read = utf8.RuneLen(utf8.RuneError)
			if w.at+12 <= len(w.raw) && utf16.DecodeRune(r, escaped(w.raw[w.at+6:w.at+12])) != utf8.RuneError {
				size, read = 12, 4
			}
		}
	}
	w.at, w.read, w.column = w.at+size, w.read+read, w.column+size
}

// escaped reads \uXXXX, also one half of a surrogate pair.
func escaped(raw []byte) rune {
	var n uint16
	if raw[0] != '\\' || raw[1] != 'u' {
		return 0
	}
	if _, err := fmt.Sscanf(string(raw[2:]), "%04x", &n); err != nil {
		return 0
	}
	return rune(n)
}
