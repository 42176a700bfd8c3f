package remedy

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// check says everything that is wrong, each in a sentence that tells what to do.
func (p Policy) check() error {
	var errs []error
	bad := func(format string, a ...any) { errs = append(errs, fmt.Errorf(format, a...)) }
	if p.Version == "" {
		bad("version is required, so that every decision can name the document it was made under")
	}
	if _, ok := modeRank[p.Mode]; !ok {
		bad("mode is %q; it is one of observe, recommend, act", p.Mode)
	}
	if _, ok := modeRank[p.RuleMode]; !ok {
		bad("ruleMode is %q; it is one of observe, recommend, act", p.RuleMode)
	}
	errs = append(errs, p.checkLadders()...)
	errs = append(errs, p.checkRules()...)
	errs = append(errs, p.checkTimes()...)
	for _, b := range p.Budgets {
		errs = append(errs, b.check()...)
	}
	if !slices.ContainsFunc(p.Budgets, func(b Budget) bool { return b.Scope == ScopeCluster }) {
		bad("budgets has none for the scope cluster; without it nothing bounds the whole")
	}
	errs = append(errs, p.Breaker.check()...)
	return errors.Join(errs...)
}

func (p Policy) checkLadders() []error {
	var errs []error
	seen := map[string]bool{}
	for _, l := range p.Ladders {
		switch {
		case l.Name == "" || seen[l.Name]:
			errs = append(errs, fmt.Errorf("ladder %q: give each ladder a name of its own", l.Name))
		case len(l.Rungs) == 0 || len(l.Rungs) > 8:
			errs = append(errs, fmt.Errorf("ladder %q: it has %d rungs; 1 to 8 are possible", l.Name, len(l.Rungs)))
		}
		seen[l.Name] = true
		for i, r := range l.Rungs {
			switch {
			case !slices.Contains(doWords, r.Do):
				errs = append(errs, fmt.Errorf("ladder %q, rung %d: do is %q; it is one of %v", l.Name, i+1, r.Do, doWords))
			case r.Do.drains() && r.Drain == 0:
				errs = append(errs, fmt.Errorf("ladder %q, rung %d: %s needs a deadline: set drain", l.Name, i+1, r.Do))
			case r.Do != DoReplace && r.Do != DoLeave && r.Wait == 0:
				errs = append(errs, fmt.Errorf("ladder %q, rung %d: %s needs wait, the time for the fault to clear", l.Name, i+1, r.Do))
			case r.Tries < 0 || r.Tries > 10:
				errs = append(errs, fmt.Errorf("ladder %q, rung %d: tries is %d; 1 to 10 are possible", l.Name, i+1, r.Tries))
			case (r.Do == DoReplace || r.Do == DoLeave) && i < len(l.Rungs)-1:
				errs = append(errs, fmt.Errorf("ladder %q, rung %d: nothing can follow %s", l.Name, i+1, r.Do))
			}
		}
	}
	return errs
}

func (p Policy) checkRules() []error {
	var errs []error
	seen := map[string]bool{}
	if len(p.Rules) == 0 {
		errs = append(errs, errors.New("rules is empty; nothing would ever be judged"))
	}
	for _, r := range p.Rules {
		if r.Name == "" || seen[r.Name] {
			errs = append(errs, fmt.Errorf("rule %q: give each rule a name of its own", r.Name))
		}
		seen[r.Name] = true
		if !slices.ContainsFunc(p.Ladders, func(l Ladder) bool { return l.Name == r.Ladder }) {
			errs = append(errs, fmt.Errorf("rule %q: there is no ladder %q", r.Name, r.Ladder))
		}
		if _, ok := modeRank[r.Mode]; !ok && r.Mode != "" {
			errs = append(errs, fmt.Errorf("rule %q: mode is %q; it is one of observe, recommend, act", r.Name, r.Mode))
		}
	}
	return errs
}

func (p Policy) checkTimes() []error {
	var errs []error
	bad := func(format string, a ...any) { errs = append(errs, fmt.Errorf(format, a...)) }
	stopOrBlock := []string{"stop", "block"}
	if !slices.Contains(stopOrBlock, p.Drain.After) || !slices.Contains(stopOrBlock, p.Drain.AfterProtection) {
		bad("drain.after is %q and drain.afterProtection is %q; each is stop or block", p.Drain.After, p.Drain.AfterProtection)
	}
	if !slices.Contains([]string{"wait", "stop", "block"}, p.Drain.Standalone) {
		bad("drain.standalone is %q; it is wait, stop or block", p.Drain.Standalone)
	}
	if p.Drain.Standalone == "wait" && p.Drain.StandaloneFor == 0 {
		bad("drain.standaloneFor is 0; say how long to wait for standalone tasks")
	}
	if dur(p.Drain.Protection) > 48*time.Hour {
		bad("drain.protection is %s; ECS protects a task for 48h at most", dur(p.Drain.Protection))
	}
	if p.Evidence.Deadline == 0 || p.Replacement.Newcomer == 0 || p.Replacement.Healthy == 0 {
		bad("evidence.deadline, replacement.newcomer and replacement.healthy need a time above 0")
	}
	if p.Hook.Heartbeat == 0 || p.Hook.Limit == 0 || dur(p.Hook.Limit) > 48*time.Hour {
		bad("hook.heartbeat needs a time above 0 and hook.limit one up to 48h, where Auto Scaling ends the wait")
	}
	if p.Retry.After == 0 || p.Retry.Tries < 1 || p.Retry.Tries > 100 {
		bad("retry.after needs a time above 0 and retry.tries a number from 1 to 100")
	}
	if p.Repeat.Fixes < 1 || p.Repeat.Within == 0 {
		bad("repeat.fixes is %d; at least 1, within a time above 0", p.Repeat.Fixes)
	}
	return errs
}
