package health

import (
	"fmt"
	"slices"
)

var (
	clearWords = []string{"reads", "quiet", "boot", "replace"}
	hostWords  = []string{"", "single-gpu", "multi-gpu", "multi-gpu-tasks", "hgx", "grace"}
	textWords  = []string{"", "none", "reset", "reboot", "drain"}
)

// check holds the laws of one row. They are what keeps an override from turning
// an application's crash into a lost host.
func (r *Row) check() error {
	bad := func(format string, a ...any) error {
		return &TableError{r.Line, ErrBadRow, r.Name + ": " + fmt.Sprintf(format, a...)}
	}
	switch {
	case r.Name == "" || r.Meaning == "" || r.Class == "":
		return bad("name, meaning and class are required")
	case (len(r.Codes) == 0) == (r.Kind == ""):
		return bad("a row has codes or a kind, and not both")
	case len(r.Action) == 0:
		return bad("action is required; write [IGN] for none")
	case r.Form != FormEvent && r.Form != FormState:
		return bad("form %q is neither event nor state", r.Form)
	case !slices.Contains(clearWords, r.Clear.On):
		return bad("clear.on is %q; every alarm has an all-clear: one of %v", r.Clear.On, clearWords)
	case r.Clear.On == "quiet" && (r.Form != FormEvent || r.Clear.For == 0):
		return bad("clear.on quiet needs form event and clear.for")
	case r.Clear.On == "reads" && (r.Form != FormState || r.Clear.Reads < 1):
		return bad("clear.on reads needs form state and clear.reads of at least 1")
	case len(r.Codes) > 0 && r.Form != FormEvent:
		return bad("an Xid is an event")
	case r.Limit != nil && (r.Limit.AtMost == nil) == (r.Limit.AtLeast == nil):
		return bad("a limit has at_most or at_least, and not both")
	case r.Fate != "" && acts(r.Action):
		return bad("a kind of silence asks for nothing by itself: two witnesses must agree")
	}
	for _, c := range r.Codes {
		if c <= 0 || c > MaxXidCode {
			return bad("code %d is out of 1..%d", c, MaxXidCode)
		}
	}
	if err := r.checkClass(r.Action, Rule{}); err != nil {
		return err
	}
	for _, rule := range r.Rules {
		if err := rule.check(r); err != nil {
			return err
		}
	}
	return nil
}

// checkClass: a card or host moves for an application's code only when different
// families met it on the same card, and for an unknown code never.
func (r *Row) checkClass(actions []Action, rule Rule) error {
	if !acts(actions) {
		return nil
	}
	if r.Class == ClassApplication && rule.Families < 2 {
		return &TableError{r.Line, ErrBadRow, r.Name + ": an application's code may ask for QGPU or RPL only in a rule with families of at least 2"}
	}
	if r.Class == ClassUnknown || r.Class == ClassReport {
		return &TableError{r.Line, ErrBadRow, fmt.Sprintf("%s: class %s never asks for QGPU or RPL", r.Name, r.Class)}
	}
	return nil
}

func (rule Rule) check(r *Row) error {
	counted := rule.Repeat > 0 || rule.Families > 0 || rule.Tasks > 0
	bad := func(text string) error { return &TableError{r.Line, ErrBadRow, r.Name + ": rule: " + text} }
	switch {
	case len(rule.Action) == 0:
		return bad("action is required")
	case counted && rule.Within == 0:
		return bad("repeat, families and tasks need within")
	case rule.Repeat == 1 || rule.Families == 1 || rule.Repeat < 0 || rule.Families < 0 || rule.Tasks < 0:
		return bad("repeat and families count from 2")
	case max(rule.Repeat, rule.Families, rule.Tasks) > MaxEvents/2:
		return bad(fmt.Sprintf("counts above %d cannot be kept", MaxEvents/2))
	case rule.Reads < 0 || rule.Count < 0:
		return bad("reads or count is below zero")
	case !slices.Contains(hostWords, rule.Host):
		return bad(fmt.Sprintf("host %q; one of %q", rule.Host, hostWords[1:]))
	case !slices.Contains(textWords, rule.Text):
		return bad(fmt.Sprintf("text %q; one of %q", rule.Text, textWords[1:]))
	case r.Form == FormEvent && rule.Reads > 0:
		return bad("an event has no reads")
	case rule.empty():
		return bad("a rule without a condition hides the row's action")
	case r.Fate != "" && acts(rule.Action):
		return bad("a kind of silence asks for nothing by itself")
	}
	return r.checkClass(rule.Action, rule)
}

// empty reports whether the rule asks nothing and would always match.
func (rule Rule) empty() bool {
	return rule.Repeat == 0 && rule.Families == 0 && rule.Tasks == 0 && rule.Count == 0 && rule.Reads == 0 && rule.For == 0 &&
		rule.Host == "" && rule.Text == "" && rule.State == "" && !rule.Alone
}
