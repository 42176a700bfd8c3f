package health

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// counts reports whether the rule counts over a window; what such a rule reached
// must not fade when the window slides on.
func (rule Rule) counts() bool { return rule.Repeat > 0 || rule.Families > 0 || rule.Tasks > 0 }

// match returns the first rule of the row whose every condition holds.
func (st *State) match(c *Condition, row Row, p *Policy, now time.Time) (Rule, string, bool) {
	for _, rule := range row.Rules {
		if why, ok := st.holds(c, rule, p, now); ok {
			return rule, row.Meaning + "; " + why, true
		}
	}
	return Rule{}, "", false
}

// holds checks one rule and gives its numbers.
func (st *State) holds(c *Condition, rule Rule, p *Policy, now time.Time) (string, bool) {
	var why []string
	if rule.counts() {
		text, ok := c.counted(rule, p.Quiet, now)
		if !ok {
			return "", false
		}
		why = append(why, text)
	}
	if rule.Count > 0 {
		if c.Count < int64(rule.Count) {
			return "", false
		}
		why = append(why, fmt.Sprintf("%d occurrences", c.Count))
	}
	if rule.Reads > 0 {
		if c.Bad.N < rule.Reads {
			return "", false
		}
		why = append(why, fmt.Sprintf("%d bad readings in a row", c.Bad.N))
	}
	if d := time.Duration(rule.For); d > 0 {
		if now.Sub(c.Bad.First) < d {
			return "", false
		}
		why = append(why, "for "+d.String())
	}
	if rule.Host != "" {
		if !st.Facts.is(rule.Host) {
			return "", false
		}
		why = append(why, "host is "+rule.Host)
	}
	if rule.Text != "" {
		if RecoveryWord(c.Text) != rule.Text {
			return "", false
		}
		why = append(why, "the line says "+rule.Text)
	}
	if rule.State != "" {
		if !st.stands(rule.State, c) {
			return "", false
		}
		why = append(why, "with "+string(rule.State))
	}
	if rule.Alone {
		if !st.alone(c, p.Quiet) {
			return "", false
		}
		why = append(why, "alone")
	}
	return strings.Join(why, ", "), true
}

// counted checks repeat, families and tasks within the window.
func (c *Condition) counted(rule Rule, quiet time.Duration, now time.Time) (string, bool) {
	since := now.Add(-time.Duration(rule.Within))
	incidents := c.incidents(since, quiet)
	families, units := map[string]bool{}, map[string]int{}
	for _, in := range incidents {
		if in.family != "" {
			families[in.family] = true
		}
		units[in.unit]++
	}
	tasks := map[string]bool{}
	for _, e := range c.Events {
		if !e.At.Before(since) && e.Task != "" {
			tasks[e.Task] = true
		}
	}
	sameUnit := !rule.SameUnit || len(units) == 1 && units[""] == 0
	if len(incidents) < rule.Repeat || len(families) < rule.Families || len(tasks) < rule.Tasks || !sameUnit {
		return "", false
	}
	return fmt.Sprintf("%d incidents, %d families, %d tasks within %s", len(incidents), len(families), len(tasks),
		time.Duration(rule.Within)), true
}

// is answers the host words of rules.
func (f Facts) is(word string) bool {
	switch word {
	case "single-gpu":
		return f.Devices == 1
	case "multi-gpu":
		return f.Devices > 1
	case "multi-gpu-tasks":
		return f.Devices > 1 && f.MultiGPUTasks
	case "hgx":
		return f.HGX
	case "grace":
		return f.Grace
	}
	return false
}

// stands reports whether a state stands on the card of c, or on the host.
func (st *State) stands(k Kind, c *Condition) bool {
	return slices.ContainsFunc(st.Conditions, func(o Condition) bool {
		return o.Kind == k && !o.Stood.IsZero() && o.Cleared.IsZero() && (o.Device == c.Device || o.Device == "")
	})
}

// alone reports whether the last event of c follows no other Xid of its process
// or its card, and its process was not being stopped.
func (st *State) alone(c *Condition, quiet time.Duration) bool {
	if len(c.Events) == 0 {
		return false
	}
	last := c.Events[len(c.Events)-1]
	if last.Expected {
		return false
	}
	for i := range st.Conditions {
		o := &st.Conditions[i]
		if o.Kind != KindXid || o.Code == c.Code || o.Device != c.Device {
			continue
		}
		for _, e := range o.Events {
			near := max(e.At.Sub(last.At), last.At.Sub(e.At)) <= quiet
			if near || e.PID != 0 && e.PID == last.PID {
				return false
			}
		}
	}
	return true
}
