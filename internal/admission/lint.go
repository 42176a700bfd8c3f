package admission

import (
	"slices"
	"strings"
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

// replace is at with a safe change: the scalar n becomes text.
func (r *report) replace(n, c *node, text, message string) {
	f := r.at(n, c, message)
	if n.start >= 0 && n.kind == kindNumber {
		f.Fixable, f.edit = true, edit{n.start, n.end, text}
	}
}

// Lint applies every rule to every task definition of the document. Findings come by line, column and rule.
// Task definitions that ask for no share are only looked at for legacy sharing and reading faults.
func Lint(doc Document, policy Policy) []Finding {
	var all []Finding
	for _, rule := range Rules() {
		if slices.Contains(policy.Disable, rule.ID) {
			continue
		}
		r := &report{doc: doc, policy: policy, rule: rule}
		for _, t := range doc.tasks {
			cs := t.read()
			if rule.task != nil {
				rule.task(r, t, cs)
			}
			for _, c := range cs {
				if rule.container != nil {
					rule.container(r, c)
				}
			}
		}
		if rule.ID == ruleRepeated {
			for _, x := range doc.repeats {
				r.at(&node{line: x.line, column: x.column, path: "$"}, nil, "the key "+x.name+" is written twice in one object")
			}
		}
		all = append(all, r.found...)
	}
	slices.SortStableFunc(all, func(a, b Finding) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		if a.Column != b.Column {
			return a.Column - b.Column
		}
		return strings.Compare(a.Rule, b.Rule)
	})
	return all
}

// Fix makes the safe changes that findings of Lint on the same document carry, and returns the new content with
// the findings they settle. All other bytes stay. Suppressed findings are left alone.
func Fix(doc Document, findings []Finding) ([]byte, []Finding) {
	var applied []Finding
	for _, f := range findings {
		if f.Fixable && !f.Suppressed && f.edit.start >= 0 && f.edit.end <= len(doc.Content) && f.edit.start < f.edit.end {
			applied = append(applied, f)
		}
	}
	slices.SortStableFunc(applied, func(a, b Finding) int { return a.edit.start - b.edit.start })
	var out []byte
	at := 0
	for _, f := range applied {
		if f.edit.start < at { // the same scalar, named twice through a YAML alias
			continue
		}
		out = append(out, doc.Content[at:f.edit.start]...)
		out = append(out, f.edit.text...)
		at = f.edit.end
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
