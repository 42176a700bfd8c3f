package health

import (
	"cmp"
	"slices"
	"time"
)

// ingest folds one batch into the state. Signals that are refused are returned
// as errors beside the others, which are kept.
func (st *State) ingest(signals []Signal, p *Policy, now time.Time) []error {
	var refused []error
	batch := make([]Signal, 0, len(signals))
	for _, s := range signals {
		s, err := s.Normalize(now)
		if err != nil {
			refused = append(refused, err)
			continue
		}
		batch = append(batch, s)
	}
	slices.SortFunc(batch, compareSignals)
	for _, s := range batch {
		st.take(s, p)
	}
	st.thin(p.Quiet)
	return refused
}

func compareSignals(a, b Signal) int {
	return cmp.Or(a.LastSeen.Compare(b.LastSeen), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Code, b.Code),
		cmp.Compare(a.Device, b.Device), cmp.Compare(a.Witness, b.Witness), cmp.Compare(a.PID, b.PID),
		cmp.Compare(a.Task, b.Task), cmp.Compare(a.Reading, b.Reading), cmp.Compare(a.BootID, b.BootID),
		a.FirstSeen.Compare(b.FirstSeen), cmp.Compare(a.Count, b.Count), cmp.Compare(a.Family, b.Family),
		cmp.Compare(a.Unit, b.Unit), cmp.Compare(a.Value, b.Value), cmp.Compare(a.Text, b.Text))
}

// take folds in one signal.
func (st *State) take(s Signal, p *Policy) {
	if s.BootID != "" && !st.boot(s, p) {
		st.Stale++
		return
	}
	if s.Witness.OnHost() && s.LastSeen.After(st.HeardAgent) {
		st.HeardAgent = s.LastSeen
	}
	switch s.Kind {
	case KindReport:
		return
	case KindSetHealthy:
		st.setHealthy(s)
		return
	}
	row := p.row(s.Kind, s.Code)
	if row.Form == FormState {
		st.takeState(s, row, p)
		return
	}
	st.takeEvent(s, row, p)
}

// boot makes the signal's boot the current one when it is new, closes what was
// sticky on the old one, and reports whether the signal is of the current boot.
func (st *State) boot(s Signal, p *Policy) bool {
	if s.BootID == st.BootID {
		return true
	}
	known := slices.ContainsFunc(st.Boots, func(b Boot) bool { return b.ID == s.BootID })
	if known {
		return false
	}
	if n := len(st.Boots); n > 0 && !s.LastSeen.After(st.Boots[n-1].Since) {
		return false // older than the boot we know
	}
	if st.BootID != "" {
		for i := range st.Conditions {
			c := &st.Conditions[i]
			row := p.row(c.Kind, c.Code)
			offHostState := row.Form == FormState && !c.Witness.OnHost()
			if row.Clear.On == "replace" || (offHostState && row.Clear.On != "boot") {
				continue
			}
			c.clear(s.LastSeen, "boot "+s.BootID)
			c.Events = nil
		}
	}
	st.BootID = s.BootID
	st.Boots = append(st.Boots, Boot{s.BootID, s.LastSeen})
	if n := len(st.Boots) - maxBoots; n > 0 {
		st.Boots = slices.Delete(st.Boots, 0, n)
	}
	return true
}

// setHealthy is a person's all-clear for a card, or for the whole host.
func (st *State) setHealthy(s Signal) {
	for i := range st.Conditions {
		c := &st.Conditions[i]
		if (s.Device == "" || c.Device == s.Device) && !c.LastSeen.After(s.LastSeen) {
			c.clear(s.LastSeen, "a person")
			c.Events = nil
		}
	}
}

// begin starts a new episode when the last one is over, and reports false for a
// signal that belongs to the episode that was cleared.
func (c *Condition) begin(s *Signal, boot string) bool {
	if !c.Cleared.IsZero() {
		if !s.LastSeen.After(c.Cleared) {
			return false
		}
		if s.FirstSeen.Before(c.Cleared) {
			s.FirstSeen = s.LastSeen
		}
		c.Cleared, c.ClearedBy, c.FirstSeen, c.LastSeen, c.Count = time.Time{}, "", time.Time{}, time.Time{}, 0
		c.Good = Streak{}
	}
	if c.FirstSeen.IsZero() {
		c.FirstSeen, c.BootID = s.FirstSeen, boot
	}
	return true
}

func (st *State) takeEvent(s Signal, row Row, p *Policy) {
	c := st.find(conditionKey{s.Device, s.Kind, s.Code, ""})
	if !c.begin(&s, st.BootID) {
		st.Stale++
		return
	}
	e := Event{At: s.LastSeen, PID: s.PID, Task: s.Task, Family: s.Family, Unit: s.Unit, Witness: s.Witness, Expected: s.Expected}
	if !c.addEvent(e, p.UnionWindow) {
		return
	}
	if s.FirstSeen.Before(s.LastSeen) {
		e.At = s.FirstSeen
		c.addEvent(e, p.UnionWindow)
	}
	if s.FirstSeen.Before(c.FirstSeen) {
		c.FirstSeen = s.FirstSeen
	}
	if !s.LastSeen.Before(c.LastSeen) {
		c.LastSeen, c.Text = s.LastSeen, s.Text
	}
	c.Count = min(c.Count+s.Count, MaxCount)
}

// reading is what a signal says of a state, by its limit where the row has one.
func (l *Limit) reading(s Signal, standing bool) Reading {
	if s.Reading != Seen && s.Reading != Clear {
		return s.Reading
	}
	if l == nil {
		return s.Reading
	}
	if !s.HasValue {
		return Unreadable
	}
	switch {
	case l.AtMost != nil && s.Value <= *l.AtMost, l.AtLeast != nil && s.Value >= *l.AtLeast:
		return Seen
	case l.AtMost != nil && s.Value >= l.Clear, l.AtLeast != nil && s.Value <= l.Clear:
		return Clear
	case standing:
		return Seen // between the two bounds: as it was
	}
	return Clear
}

func (st *State) takeState(s Signal, row Row, p *Policy) {
	k := conditionKey{s.Device, s.Kind, s.Code, s.Witness}
	i := slices.IndexFunc(st.Conditions, func(c Condition) bool { return c.key() == k })
	standing := i >= 0 && !st.Conditions[i].Stood.IsZero()
	r := row.Limit.reading(s, standing)
	switch {
	case r == NotSupported || r == Unreadable:
		return
	case r == Clear && i < 0 && !p.outranks(s.Kind):
		return
	}
	c := st.find(k)
	if !s.LastSeen.After(c.LastRead) {
		st.Stale++
		return
	}
	c.LastRead = s.LastSeen
	if r == Clear {
		c.good(s)
		return
	}
	if !c.begin(&s, st.BootID) {
		st.Stale++
		return
	}
	c.bad(s, row.Debounce)
}

// good extends the run of good readings; it ends a run of bad ones that was not
// yet believed.
func (c *Condition) good(s Signal) {
	if c.Good.N == 0 {
		c.Good.First = s.FirstSeen
	}
	c.Good.N++
	c.Good.Last = s.LastSeen
	if c.Stood.IsZero() {
		c.Bad = Streak{}
		c.FirstSeen = time.Time{}
	}
}

// bad extends the run of bad readings. A signal that stands for several readings
// counts them, as far as they lie apart enough.
func (c *Condition) bad(s Signal, d Debounce) {
	c.Good = Streak{}
	c.LastSeen, c.Text = s.LastSeen, s.Text
	c.Count = min(c.Count+s.Count, MaxCount)
	n := int(min(s.Count, 1_000))
	if apart := time.Duration(d.Apart); apart > 0 {
		n = min(n, 1+int(s.LastSeen.Sub(s.FirstSeen)/apart))
		if c.Bad.N > 0 && s.LastSeen.Sub(c.Bad.Last) < apart {
			return
		}
	}
	if c.Bad.N == 0 {
		c.Bad.First = s.FirstSeen
	}
	c.Bad.N = min(c.Bad.N+n, 1_000_000)
	c.Bad.Last = s.LastSeen
}
