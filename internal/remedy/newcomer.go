package remedy

import (
	"cmp"
	"slices"
	"time"
)

// Candidate is an instance that the group of a case launched.
type Candidate struct {
	Instance string
	Launched time.Time
}

// Newcomer says which launched instance stands in the place of the case's own, or
// false while none does. One it has already stays, as long as it is a candidate.
// Otherwise the cases that wait are served in the order in which their hosts were
// given up, each with the first instance launched since then that nobody has, so
// that two callers with the same view never give one instance to two cases.
//
// launched are the living instances of the case's group; cases those of the group.
func Newcomer(c Case, launched []Candidate, cases []Case) (string, bool) {
	has := func(id string) bool {
		return slices.ContainsFunc(launched, func(l Candidate) bool { return l.Instance == id })
	}
	if c.Newcomer != "" && has(c.Newcomer) {
		return c.Newcomer, true
	}
	taken := map[string]bool{}
	waiting := []Case{}
	for _, o := range cases {
		if o.ID == c.ID {
			continue
		}
		if o.Newcomer != "" && has(o.Newcomer) {
			taken[o.Newcomer] = true
		} else if !o.State.Final() && !o.givenUp().IsZero() {
			waiting = append(waiting, o)
		}
	}
	if c.givenUp().IsZero() {
		return "", false
	}
	waiting = append(waiting, c)
	slices.SortFunc(waiting, func(a, b Case) int { return cmp.Or(a.givenUp().Compare(b.givenUp()), cmp.Compare(a.ID, b.ID)) })
	launched = slices.Clone(launched)
	slices.SortFunc(launched, func(a, b Candidate) int {
		return cmp.Or(a.Launched.Compare(b.Launched), cmp.Compare(a.Instance, b.Instance))
	})
	for _, o := range waiting {
		i := slices.IndexFunc(launched, func(l Candidate) bool {
			return !taken[l.Instance] && l.Instance != o.Instance && !l.Launched.Before(o.givenUp())
		})
		if i < 0 {
			continue
		}
		if o.ID == c.ID {
			return launched[i].Instance, true
		}
		taken[launched[i].Instance] = true
	}
	return "", false
}

// givenUp is when the end of the host was first asked for; zero before. Planned
// departures have no newcomer of ours.
func (c Case) givenUp() time.Time {
	var at time.Time
	if c.Cause.Planned {
		return at
	}
	for _, a := range c.Attempts {
		end := a.Kind == StepDetach || a.Kind == StepTerminate || a.Kind == StepTerminateInGroup
		if end && a.Result != Refused && a.Result != Withdrawn && (at.IsZero() || a.Asked.Before(at)) {
			at = a.Asked
		}
	}
	if at.IsZero() && c.Ended {
		at = c.Entered // its group ended it; the answer was never ours
	}
	return at
}
