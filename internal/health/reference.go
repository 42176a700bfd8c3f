package health

import (
	"fmt"
	"strings"
	"time"
)

// Reference writes the two tables as a page for people; docs/reference/xid.md is
// its output and a test keeps them equal.
func Reference(xids, conditions Table) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Xid codes and other conditions: what Bulkhead does by default\n\n")
	fmt.Fprintf(&b, "Version %s of the table, driver %s. Written from `internal/health/xid.yaml` and\n", xids.Version, xids.Driver)
	fmt.Fprintf(&b, "`internal/health/conditions.yaml`; change those and run `go test ./internal/health -rewrite-reference`.\n\n")
	b.WriteString("Actions: IGN count only, APP the task is suspect, WATCH a rule decides, SUP a person looks,\n")
	b.WriteString("QGPU close this GPU to new tasks, RPL drain and replace the instance. The first rule that\n")
	b.WriteString("matches replaces the default. A code that is not listed is watched and told, never more.\n\n")
	b.WriteString("## Xid\n\n| Xid | Name | Meaning | Class | Default | Rules | Ends | Sources | Note |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, r := range xids.Rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", ranges(r.Codes), r.Name, r.Meaning, r.Class,
			actionsText(r.Action), rulesText(r.Rules), r.ends(), r.peers(), r.remark())
	}
	b.WriteString("\n## Other conditions\n\n| Kind | Meaning | Class | Default | Rules | Believed | Ends | Note |\n|---|---|---|---|---|---|---|---|\n")
	for _, r := range conditions.Rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s |\n", r.Kind, r.Meaning, r.Class,
			actionsText(r.Action), rulesText(r.Rules), r.believed(), r.ends(), r.remark())
	}
	return b.String()
}

// ranges writes sorted runs of codes: "9, 12, 26-30".
func ranges(codes []int) string {
	var parts []string
	for i := 0; i < len(codes); {
		j := i
		for j+1 < len(codes) && codes[j+1] == codes[j]+1 {
			j++
		}
		switch {
		case j-i >= 2:
			parts = append(parts, fmt.Sprintf("%d-%d", codes[i], codes[j]))
		default:
			for k := i; k <= j; k++ {
				parts = append(parts, fmt.Sprint(codes[k]))
			}
		}
		i = j + 1
	}
	return strings.Join(parts, ", ")
}

func actionsText(actions []Action) string {
	parts := make([]string, len(actions))
	for i, a := range actions {
		parts[i] = string(a)
	}
	return strings.Join(parts, " + ")
}

func rulesText(rules []Rule) string {
	parts := make([]string, len(rules))
	for i, r := range rules {
		parts[i] = r.words() + " ⇒ " + actionsText(r.Action)
	}
	return strings.Join(parts, "; ")
}

// words says a rule in words.
func (rule Rule) words() string {
	var w []string
	add := func(ok bool, format string, a ...any) {
		if ok {
			w = append(w, fmt.Sprintf(format, a...))
		}
	}
	add(rule.Repeat > 0, "%d incidents", rule.Repeat)
	add(rule.Families > 0, "%d families", rule.Families)
	add(rule.Tasks > 0, "%d tasks", rule.Tasks)
	add(rule.Count > 0, "%d occurrences", rule.Count)
	add(rule.SameUnit, "in one unit")
	add(rule.Within > 0, "within %s", shortDuration(rule.Within))
	add(rule.Reads > 0, "%d reads", rule.Reads)
	add(rule.For > 0, "for %s", shortDuration(rule.For))
	add(rule.Host != "", "host %s", rule.Host)
	add(rule.Text != "", "text %q", rule.Text)
	add(rule.State != "", "with %s", rule.State)
	add(rule.Alone, "alone")
	return strings.Join(w, ", ")
}

func (r Row) ends() string {
	switch r.Clear.On {
	case "reads":
		text := fmt.Sprintf("%d good reads", r.Clear.Reads)
		if r.Clear.For > 0 {
			text += " for " + shortDuration(r.Clear.For)
		}
		return text
	case "quiet":
		return "quiet for " + shortDuration(r.Clear.For)
	case "boot":
		return "next boot"
	}
	return "replacement"
}

func (r Row) believed() string {
	var w []string
	if r.Limit != nil && r.Limit.AtMost != nil {
		w = append(w, fmt.Sprintf("value ≤ %g, well again from %g", *r.Limit.AtMost, r.Limit.Clear))
	}
	if r.Limit != nil && r.Limit.AtLeast != nil {
		w = append(w, fmt.Sprintf("value ≥ %g", *r.Limit.AtLeast))
	}
	if r.Debounce.Reads > 1 {
		w = append(w, fmt.Sprintf("%d reads", r.Debounce.Reads))
	}
	if r.Debounce.Apart > 0 {
		w = append(w, shortDuration(r.Debounce.Apart)+" apart")
	}
	if r.Debounce.For > 0 {
		w = append(w, "for "+shortDuration(r.Debounce.For))
	}
	if r.Grace > 0 {
		w = append(w, "not in the first "+shortDuration(r.Grace))
	}
	if len(w) == 0 {
		return "at once"
	}
	return strings.Join(w, ", ")
}

func (r Row) remark() string {
	var w []string
	if r.Closed {
		w = append(w, "no new sharing tasks meanwhile")
	}
	if r.Fate != "" && r.Fate != "none" {
		w = append(w, "silence: needs a second witness of another fate than "+r.Fate)
	}
	if len(r.OutrankedBy) > 0 {
		w = append(w, fmt.Sprintf("a later reading of %v outranks it", r.OutrankedBy))
	}
	if len(r.Cancels) > 0 {
		w = append(w, "cancels "+ranges(r.Cancels))
	}
	if r.AttachTo > 0 {
		w = append(w, fmt.Sprintf("detail of %d", r.AttachTo))
	}
	if r.Planned {
		w = append(w, "planned: never charges the breaker")
	}
	if r.Note != "" {
		w = append(w, r.Note)
	}
	return strings.Join(w, "; ")
}

// shortDuration writes 24h as 1d and drops zero parts.
func shortDuration(d Duration) string {
	v := time.Duration(d)
	if v >= day && v%day == 0 {
		return fmt.Sprintf("%dd", v/day)
	}
	s := v.String()
	s = strings.TrimSuffix(s, "0s")
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	if s == "" || strings.HasSuffix(v.String(), "s") && v < time.Minute {
		return v.String()
	}
	return s
}
