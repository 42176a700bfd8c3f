package remedy

import "time"

// Fields are the fixed keys of the one log line that a decision gets, with the
// numbers that allowed it, as alternating keys and values.
func (s Step) Fields() []any {
	out := []any{"case", s.Case, "decision", s.Decision, "step", string(s.Kind), "key", s.Key, "host", s.Host,
		"instance", s.Instance, "target", s.Target, "cause", s.Guard.Cause.Token, "rule", s.Guard.Rule, "reason", s.Reason}
	for _, n := range s.Numbers {
		out = append(out, n.Name, n.Value)
	}
	return out
}

// Fields are the fixed keys of the line that tells where a case stands.
func (c Case) Fields() []any {
	out := []any{"case", c.ID, "decision", c.Decision, "host", c.Host, "instance", c.Instance, "cause", c.Cause.Token,
		"rule", c.Rule, "state", string(c.State), "rung", c.Rung}
	switch {
	case c.State == Blocked:
		out = append(out, "resume", string(c.Resume), "blocker", string(c.Block.Reason), "detail", c.Block.Detail)
	case c.State.Final():
		out = append(out, "outcome", string(c.Outcome), "mttr_seconds", int(c.MTTR().Seconds()))
	case c.Waiting != "":
		out = append(out, "waiting", c.Waiting)
	}
	return out
}

// Fixes counts the cases of an instance that brought it back into service within
// the window: a host that needs it too often is a person's (World.Fixes).
func Fixes(instance string, cases []Case, within time.Duration, now time.Time) int {
	n := 0
	for _, c := range cases {
		back := c.State == Closed && (c.Outcome == Recovered || c.Outcome == CordonLeft)
		if c.Instance == instance && back && !c.Entered.IsZero() && now.Sub(c.Closed) <= within {
			n++
		}
	}
	return n
}
