package remedy

import (
	"fmt"
	"strings"
	"time"
)

// loop is one pass of what the functions do: judge, trip, open, move, act.
func (f *fleet) loop() {
	var detections []Detection
	population := Population{ByAMI: map[string]int{}}
	for _, h := range f.hosts {
		f.assess(h)
		if h.gone {
			continue
		}
		detections = append(detections, Detections(f.look(h))...)
		population.Cluster++
		population.ByAMI[h.scope.AMI]++
	}
	var notices []Notice
	f.breakers, notices = Trip(f.breakers, detections, population, f.policy.Breaker, f.now)
	f.breakers = Canaries(f.breakers, f.cases)
	for i := range f.breakers {
		for _, c := range f.cases {
			var more []Notice
			f.breakers[i], more = Settle(f.breakers[i], c, f.policy.Breaker, f.now)
			notices = append(notices, more...)
		}
	}
	for _, n := range notices {
		f.say("%s%s", map[bool]string{true: "PAGE "}[n.Page], n.Text)
	}
	for _, h := range f.hosts {
		if c, ok, _ := Consider(f.look(h), f.cases, f.policy, f.now); ok {
			f.cases = append(f.cases, c)
			f.say("%s case opened for %s by rule %s", h.id, c.Cause.Token, c.Rule)
		}
	}
	for i := range f.cases {
		f.move(i)
	}
}

// move stores what Next says, then takes each step.
func (f *fleet) move(i int) {
	before := f.cases[i]
	c, steps := Next(before, f.view(before), f.policy, f.now)
	f.cases[i] = c
	f.tell(before, c)
	for _, s := range steps {
		if f.between != nil {
			f.between(s)
		}
		w := f.view(f.cases[i])
		k := Confirm(s, w, f.policy, f.now)
		if !k.Go {
			f.say("%s %s %s: %s", c.Instance, s.Kind, s.Target, strings.TrimPrefix(k.Err().Error(), "step not taken: "))
			f.cases[i] = Record(f.cases[i], s, k.Result, k.Detail, f.now)
			continue
		}
		if f.crash != nil && f.crash(s, false) {
			return
		}
		h := f.host(c.Instance)
		if f.onAct != nil {
			f.onAct(s, h, w)
		}
		var r Result
		if f.outcome != nil {
			r = f.outcome(s)
		}
		if r == Pending {
			r = f.act(s, h)
		}
		if f.lost != nil && r == Done && f.lost(s) {
			r = Transient
		}
		detail := map[Result]string{Refused: "AccessDenied", Transient: "time-out or throttle"}[r]
		if s.Kind.notifies() {
			detail = s.Reason
		}
		f.say("%s %s", c.Instance, strings.Join(strings.Fields(fmt.Sprintf("%s %s %s %s", s.Kind, s.Target, r, detail)), " "))
		if f.crash != nil && f.crash(s, true) {
			return
		}
		f.cases[i] = Record(f.cases[i], s, r, detail, f.now)
	}
}

// tell traces what changed of a case.
func (f *fleet) tell(a, b Case) {
	switch {
	case b.State == Blocked && (a.State != Blocked || a.Block.Reason != b.Block.Reason):
		f.say("%s Blocked in %s: %s: %s", b.Instance, b.Resume, b.Block.Reason, b.Block.Detail)
	case b.State.Final() && !a.State.Final():
		f.say("%s %s %s after %s", b.Instance, b.State, b.Outcome, b.MTTR())
	case a.State != b.State:
		f.say("%s %s -> %s", b.Instance, a.State, b.State)
	}
	if b.Waiting != "" && b.Waiting != a.Waiting {
		f.say("%s waits for: %s", b.Instance, b.Waiting)
	}
}

// advance lets time pass in ticks.
func (f *fleet) advance(d, tick time.Duration) {
	for end := f.now.Add(d); f.now.Before(end); {
		f.now = f.now.Add(tick)
		f.nature()
		f.loop()
	}
}
