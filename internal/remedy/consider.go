package remedy

import (
	"fmt"
	"slices"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/health"
)

// Consider opens a case for a host whose verdict asks for one, or says why not.
// known are the cases of this instance, open and past: a host has one open case at
// a time, and a fault that a case answered for is never answered twice.
//
// The id is made of the instance, the token and the fault's first sight, so two
// callers that consider the same verdict make the same case.
func Consider(h HostView, known []Case, p Policy, now time.Time) (Case, bool, string) {
	if h.Gone {
		return Case{}, false, "the instance is gone"
	}
	if h.OptOut {
		return Case{}, false, "the host has the tag " + p.OptOutTag
	}
	for _, c := range known {
		if c.Instance == h.Instance && !c.State.Final() {
			return Case{}, false, "case " + c.ID + " is open"
		}
	}
	why := "nothing asks for the host"
	var opened Case
	for _, r := range h.Verdict.Reasons {
		if !demands(r) {
			continue
		}
		if slices.ContainsFunc(known, func(c Case) bool { return c.Instance == h.Instance && slices.Contains(c.Faults, r.Fault) }) {
			if opened.ID == "" {
				why = fmt.Sprintf("%s was answered already", r.Fault)
			}
			continue
		}
		rule, ok := p.RuleFor(r)
		if !ok {
			if opened.ID == "" {
				why = fmt.Sprintf("no rule of the policy matches %s", r.Token)
			}
			continue
		}
		if opened.ID == "" {
			opened, why = begin(h, r, rule, now), rule.Name
		} else if len(opened.Faults) < maxFaults {
			opened.Faults = append(opened.Faults, r.Fault)
		}
	}
	return opened, opened.ID != "", why
}

// begin makes the case of a reason.
func begin(h HostView, r health.Reason, rule Rule, now time.Time) Case {
	c := Case{
		ID:   fmt.Sprintf("%s.%s.%d", h.Instance, r.Token, r.FirstSeen.Unix()),
		Host: h.ARN, Instance: h.Instance, BootID: h.BootID, Scope: h.Scope,
		Cause: causeOf(r), Faults: []string{r.Fault}, Rule: rule.Name,
		State: Open, Since: now, Opened: now,
	}
	c.note(now, fmt.Sprintf("opened for %s: %s", r.Token, r.Why))
	return c
}
