package admission

import (
	"cmp"
	"slices"
)

// report collects findings of one rule on one document.
type report struct {
	doc    Document
	policy Policy
	rule   Rule
	found  []Finding
}

// at records a finding at n. c is the container it belongs to, nil for the whole task definition.
func (r *report) at(n, c *node, message string) *Finding {
	f := Finding{Rule: r.rule.ID, Severity: r.rule.Severity, Title: r.rule.Title, Message: message, Why: r.rule.Why,
		Fix: r.rule.Fix, File: r.doc.Name, Line: n.line, Column: n.column, Path: n.path}
	if c != nil {
		f.Container = c.get("name").string()
		f.Reason, f.Suppressed = suppression(c, r.rule.ID)
	}
	r.found = append(r.found, f)
	return &r.found[len(r.found)-1]
}

// replace is at with a safe change: the scalar n becomes text, within its quotes if it has any.
func (r *report) replace(n, c *node, text, message string) {
	f := r.at(n, c, message)
	if n.from < n.to {
		f.Fixable, f.edit = true, edit{n.from, n.to, text}
	}
}

// Lint applies every rule to every task definition of the document. Findings come by line, column and rule, each
// once, whichever ways through the document's conditions and aliases lead to it. Task definitions that ask for no
// share are only looked at for legacy sharing and reading faults.
func Lint(doc Document, policy Policy) []Finding {
	var reports []*report
	for _, rule := range Rules() {
		if !slices.Contains(policy.Disable, rule.ID) {
			reports = append(reports, &report{doc: doc, policy: policy, rule: rule})
		}
	}
	for _, t := range doc.tasks {
		for v := range t.variants() {
			cs := v.read()
			for _, r := range reports {
				r.judge(v, cs)
			}
		}
	}
	var all []Finding
	for _, r := range reports {
		r.reading()
		all = append(all, r.found...)
	}
	slices.SortStableFunc(all, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Rule, b.Rule),
			cmp.Compare(a.Container, b.Container), cmp.Compare(a.Message, b.Message))
	})
	return slices.CompactFunc(all, func(a, b Finding) bool {
		return a.Line == b.Line && a.Column == b.Column && a.Rule == b.Rule && a.Container == b.Container && a.Message == b.Message
	})
}

// reading adds what the reader found.
func (r *report) reading() {
	if r.rule.ID == ruleRepeated {
		for _, x := range r.doc.repeats {
			r.at(&node{line: x.line, column: x.column, path: "$"}, nil, "the key "+x.name+" is written twice in one object")
		}
	}
	for _, x := range r.doc.notes {
		if x.rule == r.rule.ID {
			r.at(x.node, nil, x.message)
		}
	}
}

func (r *report) judge(t *task, cs []container) {
	if r.rule.task != nil {
		r.rule.task(r, t, cs)
	}
	for _, c := range cs {
		if r.rule.container != nil {
			r.rule.container(r, c)
		}
		for _, s := range c.shares {
			if r.rule.share != nil {
				r.rule.share(r, c, s)
			}
		}
	}
}

// Fix makes the safe changes that findings of Lint on the same document carry, and returns the new content with
// the findings they settle. All other bytes stay. Suppressed findings are left alone, and so is a value that two
// findings want to be different.
func Fix(doc Document, findings []Finding) ([]byte, []Finding) {
	var applied []Finding
	for _, f := range findings {
		if f.Fixable && !f.Suppressed && f.edit.from >= 0 && f.edit.to <= len(doc.Content) && f.edit.from < f.edit.to {
			applied = append(applied, f)
		}
	}
	slices.SortStableFunc(applied, func(a, b Finding) int { return cmp.Compare(a.edit.from, b.edit.from) })
	applied = slices.CompactFunc(applied, func(a, b Finding) bool { return a.edit == b.edit }) // one value, reached by several aliases
	applied = slices.DeleteFunc(applied, func(f Finding) bool {
		return slices.ContainsFunc(findings, func(g Finding) bool {
			return g.Fixable && g.edit != f.edit && g.edit.from < f.edit.to && f.edit.from < g.edit.to
		})
	})
	var out []byte
	at := 0
	for _, f := range applied {
		out = append(out, doc.Content[at:f.edit.from]...)
		out = append(out, f.edit.text...)
		at = f.edit.to
	}
	return append(out, doc.Content[at:]...), applied
}

func sharing(cs []container) []container {
	var out []container
	for _, c := range cs {
		if c.share != nil {
			out = append(out, c)
		}
	}
	return out
}
