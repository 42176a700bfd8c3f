package health

import (
	"fmt"
	"slices"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
)

// Assess folds the signals into the state and judges it as of now. It returns the
// new state (the old one is left as it was), the verdict, and one error for each
// signal that was refused; those wrap ErrSignal and the rest of the batch counts.
//
// Called without signals it judges what time alone has changed: a debounce that
// has run out, quiet that clears, silence.
func Assess(st State, signals []Signal, p Policy, now time.Time) (State, Verdict, []error) {
	st = st.clone()
	refused := st.ingest(signals, &p, now)
	st.listen(&p, now)
	for i := range st.Conditions {
		st.settle(&st.Conditions[i], &p, now)
	}
	st.outrank(&p, now)
	var reasons []Reason
	for i := range st.Conditions {
		if r, ok := st.reason(&st.Conditions[i], &p, now); ok {
			reasons = append(reasons, r)
		}
	}
	if r, ok := st.confirmSilence(&p); ok {
		reasons = append(reasons, r)
	}
	st.forget(&p, now)
	return st, conclude(&st, mergeWitnesses(reasons), now), refused
}

// listen turns the age of our agent's last word into the condition AgentSilent.
func (st *State) listen(p *Policy, now time.Time) {
	if !st.Facts.AgentExpected {
		return
	}
	last := st.HeardAgent
	if st.Facts.BootAt.After(last) {
		last = st.Facts.BootAt
	}
	after := p.SilenceAfter
	if lease := st.Facts.AgentLease; lease > 0 {
		after = 2*lease + 30*time.Second
	}
	s := Signal{Kind: KindAgentSilent, Witness: WitnessLedger, Count: 1, FirstSeen: last, LastSeen: now, Reading: Clear}
	if now.Sub(last) > after {
		s.Reading = Seen
	}
	row := p.row(KindAgentSilent, 0)
	st.takeState(s, row, p)
}

// settle moves a condition between debounced, standing and cleared.
func (st *State) settle(c *Condition, p *Policy, now time.Time) {
	if !c.Cleared.IsZero() || c.FirstSeen.IsZero() {
		return
	}
	row := p.row(c.Kind, c.Code)
	if row.Form == FormEvent {
		if c.Stood.IsZero() {
			c.Stood = c.FirstSeen
		}
		quiet := time.Duration(row.Clear.For)
		if row.Clear.On == "quiet" && len(c.Latched) == 0 && now.Sub(c.LastSeen) > quiet {
			c.clear(now, "quiet for "+quiet.String())
		}
		return
	}
	young := !st.Facts.BootAt.IsZero() && now.Sub(st.Facts.BootAt) < time.Duration(row.Grace)
	believed := c.Bad.N >= max(1, row.Debounce.Reads) && now.Sub(c.Bad.First) >= time.Duration(row.Debounce.For)
	if c.Stood.IsZero() && believed && !young {
		c.Stood = now
	}
	well := c.Good.N >= row.Clear.Reads && c.Good.N > 0 && now.Sub(c.Good.First) >= time.Duration(row.Clear.For)
	if row.Clear.On == "reads" && !c.Stood.IsZero() && well {
		c.clear(now, fmt.Sprintf("%d good readings", c.Good.N))
	}
}

// outrank closes events that a later state or a cancelling code voids.
func (st *State) outrank(p *Policy, now time.Time) {
	for i := range st.Conditions {
		c := &st.Conditions[i]
		if c.FirstSeen.IsZero() || !c.Cleared.IsZero() {
			continue
		}
		row := p.row(c.Kind, c.Code)
		for j := range st.Conditions {
			o := &st.Conditions[j]
			if slices.Contains(row.OutrankedBy, o.Kind) && (o.Device == c.Device || o.Device == "") && o.LastRead.After(c.LastSeen) {
				c.clear(now, "state "+string(o.Kind)+" was read after it")
			}
			if c.Kind == KindXid && o.Kind == KindXid && o.Device == c.Device && !o.LastSeen.Before(c.LastSeen) &&
				slices.Contains(p.row(KindXid, o.Code).Cancels, c.Code) {
				c.clear(now, fmt.Sprintf("Xid%d cancels it", o.Code))
			}
		}
	}
}

// reason judges one condition; false when it does not stand.
func (st *State) reason(c *Condition, p *Policy, now time.Time) (Reason, bool) {
	if c.Stood.IsZero() || !c.Cleared.IsZero() {
		return Reason{}, false
	}
	row := p.row(c.Kind, c.Code)
	r := Reason{Token: token(c.Kind, c.Code), Kind: c.Kind, Code: c.Code, Device: c.Device, Class: row.Class,
		Actions: row.Action, Closed: row.Closed, Planned: row.Planned, Why: row.Meaning, Text: c.Text,
		FirstSeen: c.FirstSeen, Stood: c.Stood, LastSeen: c.LastSeen, Count: c.Count}
	if row.AttachTo > 0 {
		r.AttachTo = token(KindXid, row.AttachTo)
	}
	if len(c.Latched) > 0 {
		r.Actions, r.Why = c.Latched, c.LatchedBy
	} else if rule, why, ok := st.match(c, row, p, now); ok {
		r.Actions, r.Closed, r.Why = rule.Action, rule.Closed, why
		if rule.counts() && acts(rule.Action) {
			c.Latched, c.LatchedBy = rule.Action, why
		}
	}
	r.Closed = r.Closed || acts(r.Actions) || row.Fate != ""
	r.Level = levelOf(row, r.Actions, r.Closed)
	r.Witnesses, r.Families = c.seenBy(), c.families()
	r.Fault = faultID(r.Token, c.Device, c.BootID, c.FirstSeen)
	return r, true
}

// faultID names one episode of one condition.
func faultID(token string, device gpu.UUID, boot string, first time.Time) string {
	return fmt.Sprintf("%s/%s/%s/%d", token, device, boot, first.Unix())
}

func (c *Condition) seenBy() []Witness {
	if c.Witness != "" {
		return []Witness{c.Witness}
	}
	var out []Witness
	for _, e := range c.Events {
		if !slices.Contains(out, e.Witness) {
			out = append(out, e.Witness)
		}
	}
	slices.Sort(out)
	return out
}

func (c *Condition) families() []string {
	var out []string
	for _, e := range c.Events {
		if e.Family != "" && !slices.Contains(out, e.Family) {
			out = append(out, e.Family)
		}
	}
	slices.Sort(out)
	return out
}

// mergeWitnesses makes one reason of a state that several witnesses see.
func mergeWitnesses(reasons []Reason) []Reason {
	var out []Reason
	for _, r := range reasons {
		i := slices.IndexFunc(out, func(o Reason) bool { return o.Token == r.Token && o.Device == r.Device })
		if i < 0 {
			out = append(out, r)
			continue
		}
		o := &out[i]
		o.Witnesses = append(slices.Clone(o.Witnesses), r.Witnesses...)
		slices.Sort(o.Witnesses)
		o.Count += r.Count
		if r.LastSeen.After(o.LastSeen) {
			o.LastSeen = r.LastSeen
		}
		if Strongest(r.Actions).Stronger(Strongest(o.Actions)) {
			o.Actions, o.Level, o.Closed, o.Why = r.Actions, r.Level, r.Closed, r.Why
		}
		if r.FirstSeen.Before(o.FirstSeen) {
			o.FirstSeen, o.Stood, o.Fault = r.FirstSeen, r.Stood, r.Fault
		}
	}
	return out
}

// forget drops history past its time, then, if there is still too much, what
// weighs least: cleared before standing, old before new.
func (st *State) forget(p *Policy, now time.Time) {
	st.Conditions = slices.DeleteFunc(st.Conditions, func(c Condition) bool {
		idle := c.FirstSeen.IsZero() && !p.outranks(c.Kind)
		return idle || !c.Cleared.IsZero() && now.Sub(c.Cleared) > p.KeepCleared && now.Sub(c.LastSeen) > p.KeepCleared
	})
	for len(st.Conditions) > MaxConditions {
		weakest := 0
		for i := range st.Conditions {
			if st.Conditions[i].lighter(&st.Conditions[weakest], p) {
				weakest = i
			}
		}
		st.Conditions = slices.Delete(st.Conditions, weakest, weakest+1)
		st.Dropped++
	}
}

// lighter orders conditions by how little is lost with them.
func (c *Condition) lighter(o *Condition, p *Policy) bool {
	weight := func(c *Condition) int {
		w := actionRank[Strongest(p.row(c.Kind, c.Code).Action)]
		if len(c.Latched) > 0 {
			w = actionRank[Replace]
		}
		if !c.Cleared.IsZero() {
			w -= 10
		}
		return w
	}
	a, b := weight(c), weight(o)
	return a < b || a == b && c.LastSeen.Before(o.LastSeen)
}
