package remedy

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

func TestTheBreakerCountsDetectionsOfOneCause(t *testing.T) {
	p := mustPolicy(t).Breaker
	seen := func(n int, token, ami string, ago time.Duration) []Detection {
		var out []Detection
		for i := range n {
			out = append(out, Detection{Instance: fmt.Sprint(ami, i), Key: CauseKey{token, ami, "580"}, At: start.Add(-ago)})
		}
		return out
	}
	twice := func(d []Detection) []Detection { return append(d, d...) }
	planned := func(d []Detection) []Detection {
		for i := range d {
			d[i].Planned = true
		}
		return d
	}
	both := func(a, b []Detection) []Detection { return append(a, b...) }
	for name, tc := range map[string]struct {
		detections []Detection
		cluster    int
		amis       map[string]int
		open       []string
	}{
		"three of ten":                {seen(3, "Xid119", "ami-1", time.Minute), 10, map[string]int{"ami-1": 10}, []string{"Xid119 ami-1 580"}},
		"two of ten":                  {seen(2, "Xid119", "ami-1", time.Minute), 10, map[string]int{"ami-1": 10}, nil},
		"one of one is no trend":      {seen(1, "Xid119", "ami-1", time.Minute), 1, map[string]int{"ami-1": 1}, nil},
		"two of two":                  {seen(2, "Xid119", "ami-1", time.Minute), 2, map[string]int{"ami-1": 2}, []string{"Xid119 ami-1 580"}},
		"five of a thousand":          {seen(5, "Xid119", "ami-1", time.Minute), 1000, map[string]int{"ami-1": 1000}, []string{"Xid119 ami-1 580"}},
		"four of a thousand":          {seen(4, "Xid119", "ami-1", time.Minute), 1000, map[string]int{"ami-1": 1000}, nil},
		"too long ago":                {seen(5, "Xid119", "ami-1", time.Hour), 10, map[string]int{"ami-1": 10}, nil},
		"the same hosts twice":        {twice(seen(2, "Xid119", "ami-1", time.Minute)), 10, map[string]int{"ami-1": 10}, nil},
		"planned departures":          {planned(seen(9, "SpotInterruption", "ami-1", time.Minute)), 10, map[string]int{"ami-1": 10}, nil},
		"different codes":             {both(seen(2, "Xid119", "ami-1", time.Minute), seen(2, "Xid79", "ami-1", time.Minute)), 10, map[string]int{"ami-1": 10}, nil},
		"a new AMI opens itself only": {seen(4, "Xid119", "ami-2", time.Minute), 100, map[string]int{"ami-1": 96, "ami-2": 4}, []string{"Xid119 ami-2 580"}},
		"one token over all AMIs":     {both(seen(2, "SilenceConfirmed", "ami-1", time.Minute), seen(1, "SilenceConfirmed", "ami-2", time.Minute)), 10, map[string]int{"ami-1": 8, "ami-2": 2}, []string{"SilenceConfirmed cluster"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, notices := Trip(nil, tc.detections, Population{tc.cluster, tc.amis}, p, start)
			var open []string
			for _, b := range got {
				if b.State == BreakerOpen {
					open = append(open, b.Key.String())
				}
			}
			if fmt.Sprint(open) != fmt.Sprint(tc.open) || len(notices) != len(tc.open) {
				t.Errorf("open %v, notices %v, want %v", open, notices, tc.open)
			}
			for _, n := range notices {
				if !n.Page {
					t.Errorf("nobody is called: %+v", n)
				}
			}
		})
	}
}

func TestAnOpenBreakerCoolsDownFromTheLastDetection(t *testing.T) {
	p := mustPolicy(t).Breaker
	key := CauseKey{"Xid119", "ami-1", "580"}
	pop := Population{10, map[string]int{"ami-1": 10}}
	see := func(host string, at time.Time) Detection { return Detection{Instance: host, Key: key, At: at} }
	now := start
	all := []Detection{see("a", now), see("b", now), see("c", now)}
	b, _ := Trip(nil, all, pop, p, now)
	now = start.Add(29 * time.Minute)
	all = append(all, see("d", now))
	b, _ = Trip(b, all, pop, p, now)
	now = start.Add(40 * time.Minute)
	if b, _ = Trip(b, all, pop, p, now); b[0].State != BreakerOpen && b[1].State != BreakerOpen {
		t.Fatalf("it cooled down although a new host came: %+v", b)
	}
	now = start.Add(60 * time.Minute)
	b, _ = Trip(b, all, pop, p, now)
	specific := b[len(b)-1]
	if specific.Key != key || specific.State != BreakerHalfOpen {
		t.Fatalf("%+v", specific)
	}
	cause := Cause{Token: "Xid119"}
	scope := Scope{AMI: "ami-1", Driver: "580"}
	cases := []Case{
		{ID: "far", Cause: cause, Scope: scope, State: Blocked, Resume: Draining, Opened: start.Add(time.Minute)},
		{ID: "old", Cause: cause, Scope: scope, State: Blocked, Resume: Open, Opened: start},
		{ID: "other", Cause: Cause{Token: "Xid79"}, Scope: scope, State: Verifying, Opened: start},
	}
	specific = Canaries([]Breaker{specific}, cases)[0]
	if specific.Canary != "far" {
		t.Fatalf("canary %q", specific.Canary)
	}
	if _, yes := held([]Breaker{specific}, cases[0]); yes {
		t.Error("the canary itself is held")
	}
	if _, yes := held([]Breaker{specific}, cases[1]); !yes {
		t.Error("another case passes a half-open breaker")
	}
	bad := cases[0]
	bad.State, bad.Block.Reason = Blocked, BlockNewcomerFailed
	again, notices := Settle(specific, bad, p, now)
	if again.State != BreakerOpen || again.CoolDown != 2*specific.CoolDown || !notices[0].Page {
		t.Errorf("%+v %+v", again, notices)
	}
	good := cases[0]
	good.State, good.Outcome = Closed, Replaced
	if closed, _ := Settle(specific, good, p, now); closed.State != BreakerClosed {
		t.Errorf("%+v", closed)
	}
	vain := cases[0]
	vain.State = Cancelled
	if open, _ := Settle(specific, vain, p, now); open.State != BreakerHalfOpen || open.Canary != "" {
		t.Errorf("%+v", open)
	}
}

func TestAResetNeedsAReasonAndForgetsWhatWasSeen(t *testing.T) {
	p := mustPolicy(t).Breaker
	pop := Population{3, map[string]int{"ami-1": 3}}
	var all []Detection
	for _, h := range []string{"a", "b", "c"} {
		all = append(all, Detection{Instance: h, Key: CauseKey{"Xid119", "ami-1", "580"}, At: start})
	}
	breakers, _ := Trip(nil, all, pop, p, start)
	if _, err := Reset(breakers[0], Word{By: "ana"}); !errors.Is(err, ErrReason) {
		t.Errorf("reset without a reason: %v", err)
	}
	for i := range breakers {
		var err error
		if breakers[i], err = Reset(breakers[i], Word{"ana", "driver rolled back", start.Add(time.Minute)}); err != nil {
			t.Fatal(err)
		}
	}
	breakers, _ = Trip(breakers, all, pop, p, start.Add(2*time.Minute))
	for _, b := range breakers {
		if b.State != BreakerClosed {
			t.Errorf("opened again by what was forgiven: %+v", b)
		}
	}
}
