package health

import (
	"cmp"
	"slices"
	"strings"
)

// confirmSilence believes silence when two witnesses that do not share a fate
// have both fallen silent. While our agent is silent, what it said last of other
// silences (NVML hung, a process in D state) is its own fate too.
func (st *State) confirmSilence(p *Policy) (Reason, bool) {
	type silent struct {
		c    *Condition
		fate string
	}
	agentSilent := slices.ContainsFunc(st.Conditions, func(c Condition) bool {
		return c.Kind == KindAgentSilent && !c.Stood.IsZero() && c.Cleared.IsZero()
	})
	var found []silent
	for i := range st.Conditions {
		c := &st.Conditions[i]
		fate := p.row(c.Kind, c.Code).Fate
		if c.Stood.IsZero() || !c.Cleared.IsZero() || fate == "" || fate == "none" {
			continue
		}
		if agentSilent && c.Witness.OnHost() {
			continue
		}
		found = append(found, silent{c, fate})
	}
	slices.SortFunc(found, func(a, b silent) int { return cmp.Or(a.c.Stood.Compare(b.c.Stood), compareKeys(a.c.key(), b.c.key())) })
	if len(found) == 0 {
		return Reason{}, false
	}
	second := slices.IndexFunc(found, func(s silent) bool { return s.fate != found[0].fate })
	if second < 0 {
		return Reason{}, false
	}
	row := p.row(KindSilenceConfirmed, 0)
	names := make([]string, 0, len(found))
	r := Reason{Token: token(row.Kind, 0), Kind: row.Kind, Class: row.Class, Actions: row.Action, Closed: true,
		FirstSeen: found[second].c.Stood, Stood: found[second].c.Stood}
	r.Level = levelOf(row, r.Actions, true)
	for _, s := range found {
		names = append(names, string(s.c.Kind))
		r.Count++
		r.Witnesses = append(r.Witnesses, s.c.Witness)
		if s.c.LastSeen.After(r.LastSeen) {
			r.LastSeen = s.c.LastSeen
		}
	}
	slices.Sort(r.Witnesses)
	r.Witnesses = slices.Compact(r.Witnesses)
	r.Why = "witnesses of different fate: " + strings.Join(names, ", ")
	r.Fault = faultID(r.Token, "", st.BootID, r.FirstSeen)
	return r, true
}
