package remedy

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/health"
)

func TestANewInstallationObserves(t *testing.T) {
	p := mustPolicy(t)
	if p.Mode != Observe {
		t.Errorf("mode %s", p.Mode)
	}
	for _, r := range p.Rules {
		if p.ModeOf(r) != Observe {
			t.Errorf("rule %s is in mode %s", r.Name, p.ModeOf(r))
		}
	}
}

func TestTheGlobalModeIsACeiling(t *testing.T) {
	for _, tc := range []struct{ global, rules, own, want Mode }{
		{Observe, Act, Act, Observe},
		{Act, Observe, "", Observe},
		{Act, Observe, Act, Act},
		{Act, Act, Recommend, Recommend},
		{Recommend, Act, "", Recommend},
		{Act, Act, "", Act},
	} {
		p := Policy{Mode: tc.global, RuleMode: tc.rules}
		if got := p.ModeOf(Rule{Mode: tc.own}); got != tc.want {
			t.Errorf("global %s, rules %s, own %q: %s, want %s", tc.global, tc.rules, tc.own, got, tc.want)
		}
	}
}

func TestEveryReasonThatDemandsHasARule(t *testing.T) {
	p, judge := mustPolicy(t), mustJudge(t)
	check := func(row health.Row, actions []health.Action, token string) {
		r := health.Reason{Token: token, Class: row.Class, Actions: actions, Planned: row.Planned}
		if _, ok := p.RuleFor(r); !ok && demands(r) {
			t.Errorf("%s with %v has no rule", token, actions)
		}
	}
	for _, table := range []health.Table{judge.Xids, judge.Conditions} {
		for _, row := range table.Rows {
			token := string(row.Kind)
			if token == "" {
				token = row.Name
			}
			check(row, row.Action, token)
			for _, rule := range row.Rules {
				check(row, rule.Action, token)
			}
		}
	}
}

func TestABadPolicyIsRefusedWithASentence(t *testing.T) {
	for old, tc := range map[string]struct{ now, says string }{
		"version: \"2026.12\"":                      {"version: \"\"", "version is required"},
		"parallelPercent: 20, perHour: 4":           {"parallelPercent: 0, perHour: 4", "between 1 and 100"},
		"perHour: 4":                                {"perHour: 0", "nothing could ever be repaired"},
		"parallelPercent: 34":                       {"minHealthy: 1", "set parallel or parallelPercent"},
		"- {do: reboot, drain: 30m, wait: 10m}":     {"- {do: reboot, wait: 10m}", "set drain"},
		"- {do: restart-mps, wait: 60s, tries: 2}":  {"- {do: restart-mps}", "needs wait"},
		"ladder: victims}":                          {"ladder: nothing}", `no ladder "nothing"`},
		"evidence: {required: false, deadline: 5m}": {"evidence: {required: false}", "evidence.deadline"},
		"limit: 47h":                                {"limit: 49h", "48h"},
		"tries: 8":                                  {"tries: 0", "retry.tries"},
		"fixes: 3":                                  {"fixes: 0", "repeat.fixes"},
		"maxCoolDown: 8h":                           {"maxCoolDown: 1m", "maxCoolDown"},
		"percent: 30":                               {"percent: 101", "breaker.percent"},
		"standaloneFor: 2h":                         {"standaloneFor: soon", "soon"},
		"mode: observe ":                            {"mode: [observe] ", "cannot unmarshal"},
	} {
		if !strings.Contains(string(defaultYAML), old) {
			t.Errorf("the default has no %q", old)
			continue
		}
		_, err := ParsePolicy([]byte(strings.Replace(string(defaultYAML), old, tc.now, 1)))
		if !errors.Is(err, ErrPolicy) || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%q: got %v, want %q", tc.now, err, tc.says)
		}
	}
	if _, err := ParsePolicy(make([]byte, MaxPolicyBytes+1)); !errors.Is(err, ErrPolicy) {
		t.Errorf("a document beyond the bound: %v", err)
	}
	if _, err := ParsePolicy(nil); !errors.Is(err, ErrPolicy) {
		t.Errorf("an empty document: %v", err)
	}
}

func TestAReasonFindsTheFirstRuleThatMatches(t *testing.T) {
	p := mustPolicy(t)
	for token, tc := range map[string]struct {
		actions []health.Action
		planned bool
		want    string
	}{
		"Xid79":            {[]health.Action{health.Replace}, false, "hardware"},
		"Xid31":            {[]health.Action{health.CloseGPU}, false, "card"},
		"RowRemapPending":  {[]health.Action{health.CloseGPU}, false, "remap"},
		"MpsServerFault":   {[]health.Action{health.CloseGPU}, false, "mps-fault"},
		"MpsControlDead":   {[]health.Action{health.Replace}, false, "mps-daemon"},
		"SilenceConfirmed": {[]health.Action{health.Replace}, false, "silence"},
		"SpotInterruption": {[]health.Action{health.Replace}, true, "departure"},
	} {
		got, ok := p.RuleFor(health.Reason{Token: token, Actions: tc.actions, Planned: tc.planned})
		if !ok || got.Name != tc.want {
			t.Errorf("%s: rule %q, want %q", token, got.Name, tc.want)
		}
	}
}

func TestARetryWaitsLongerEachTime(t *testing.T) {
	p := Policy{Retry: RetryPolicy{After: Duration(30 * time.Second)}}
	last := time.Duration(0)
	for tries := 1; tries <= 5; tries++ {
		if got := p.backoff(tries); got <= last {
			t.Errorf("try %d waits %s", tries, got)
		} else {
			last = got
		}
	}
	if p.backoff(50) != 8*time.Minute {
		t.Errorf("the wait is not bounded: %s", p.backoff(50))
	}
}

func FuzzParsePolicy(f *testing.F) {
	f.Add(defaultYAML)
	f.Add([]byte("mode: act\nbudgets: [{scope: cluster, parallel: -1}]"))
	f.Add([]byte("rules: [&a [*a]]"))
	f.Fuzz(func(t *testing.T, src []byte) {
		p, err := ParsePolicy(src)
		if err != nil {
			return
		}
		if err := p.check(); err != nil {
			t.Fatalf("accepted, and yet: %v", err)
		}
		for _, b := range p.Budgets {
			for n := range 20 {
				if l := b.limit(n); l < 1 {
					t.Fatalf("a limit of %d", l)
				}
			}
		}
	})
}
