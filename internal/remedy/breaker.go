package remedy

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// BreakerPolicy says when many hosts with one cause stop all remedies for it.
type BreakerPolicy struct {
	Percent     int      `yaml:"percent"` // of the hosts with the AMI, or of the cluster
	Hosts       int      `yaml:"hosts"`   // or so many
	Floor       int      `yaml:"floor"`   // one host is no trend: at least so many for percent
	Window      Duration `yaml:"window"`
	CoolDown    Duration `yaml:"coolDown"`    // without a new detection, before one canary may try
	MaxCoolDown Duration `yaml:"maxCoolDown"` // doubled after each failed canary, up to this
}

func (b BreakerPolicy) check() []error {
	var errs []error
	if b.Percent < 1 || b.Percent > 100 {
		errs = append(errs, fmt.Errorf("breaker.percent is %d; a percent of hosts lies between 1 and 100", b.Percent))
	}
	if b.Hosts < 2 || b.Floor < 2 {
		errs = append(errs, fmt.Errorf("breaker.hosts is %d and breaker.floor %d; one host is no trend, so each is at least 2", b.Hosts, b.Floor))
	}
	if b.Window == 0 || b.CoolDown == 0 || b.MaxCoolDown < b.CoolDown {
		errs = append(errs, fmt.Errorf("breaker.window and breaker.coolDown need times above 0, and maxCoolDown one not below coolDown"))
	}
	return errs
}

// CauseKey is what a breaker stands for. With AMI and driver empty it counts one
// token over the whole cluster.
type CauseKey struct {
	Token  string `json:"token,omitzero"`
	AMI    string `json:"ami,omitzero"`
	Driver string `json:"driver,omitzero"`
}

// of reports whether a case falls under the key.
func (k CauseKey) of(c Case) bool {
	return k.Token == c.Cause.Token && (k.AMI == "" && k.Driver == "" || k.AMI == c.Scope.AMI && k.Driver == c.Scope.Driver)
}

// String writes the key for tables: "Xid119 ami-1 580.159.03".
func (k CauseKey) String() string {
	if k.AMI == "" && k.Driver == "" {
		return k.Token + " cluster"
	}
	return k.Token + " " + k.AMI + " " + k.Driver
}

// Detection is one host on which a cause was found, acted upon or not.
type Detection struct {
	Instance string    `json:"instance,omitzero"`
	Key      CauseKey  `json:"key,omitzero"` // with AMI and driver
	At       time.Time `json:"at,omitzero"`
	Planned  bool      `json:"planned,omitzero"`
}

// Detections lists what a host's verdict adds, once for each cause that asks for
// something to be done.
func Detections(h HostView) []Detection {
	var out []Detection
	for _, r := range h.Verdict.Reasons {
		if demands(r) || r.Planned {
			out = append(out, Detection{Instance: h.Instance, At: r.Stood, Planned: r.Planned,
				Key: CauseKey{r.Token, h.Scope.AMI, h.Scope.Driver}})
		}
	}
	return out
}

// BreakerState is closed, open or half-open.
type BreakerState string

// Closed lets remedies through; open lets none; half-open one canary.
const (
	BreakerClosed   BreakerState = "closed"
	BreakerOpen     BreakerState = "open"
	BreakerHalfOpen BreakerState = "half-open"
)

// Breaker is one cause that is, or was, held.
type Breaker struct {
	Key       CauseKey      `json:"key,omitzero"`
	State     BreakerState  `json:"state,omitzero"`
	Since     time.Time     `json:"since,omitzero"`
	LastSeen  time.Time     `json:"lastSeen,omitzero"` // last detection: the cool-down counts from here
	CoolDown  time.Duration `json:"coolDown,omitzero"`
	Canary    string        `json:"canary,omitzero"`    // case id
	Hosts     int           `json:"hosts,omitzero"`     // that made it open
	Of        int           `json:"of,omitzero"`        // hosts in the population
	ResetBy   Word          `json:"resetBy,omitzero"`   // a person closed it
	Forgotten time.Time     `json:"forgotten,omitzero"` // detections up to here no longer count
}

// Population counts the hosts that a cause could have met.
type Population struct {
	Cluster int
	ByAMI   map[string]int
}

// Notice is what people are told when a breaker changes.
type Notice struct {
	Key  CauseKey `json:"key,omitzero"`
	Page bool     `json:"page,omitzero"`
	Text string   `json:"text,omitzero"`
}

// Trip judges all detections of the window (planned ones never count) and returns
// the breakers, by key, with what changed. Cooling down is judged here too.
func Trip(breakers []Breaker, detections []Detection, pop Population, p BreakerPolicy, now time.Time) ([]Breaker, []Notice) {
	breakers = slices.Clone(breakers)
	var notices []Notice
	for _, key := range keysOf(detections) {
		i := slices.IndexFunc(breakers, func(b Breaker) bool { return b.Key == key })
		if i < 0 {
			breakers = append(breakers, Breaker{Key: key, State: BreakerClosed, Since: now, CoolDown: dur(p.CoolDown)})
			i = len(breakers) - 1
		}
		b := &breakers[i]
		hosts, kinds, last := b.tally(detections, p, now)
		if last.After(b.LastSeen) {
			b.LastSeen = last
		}
		of := pop.Cluster
		if key.AMI != "" {
			of = pop.ByAMI[key.AMI]
		}
		if b.State == BreakerClosed && (key.AMI != "" || kinds > 1) && p.trips(key, hosts, of) {
			b.State, b.Since, b.Hosts, b.Of, b.Canary = BreakerOpen, now, hosts, of, ""
			notices = append(notices, Notice{key, true, fmt.Sprintf("breaker open: %d of %d hosts with %s within %s", hosts, of, key, dur(p.Window))})
		}
	}
	for i := range breakers {
		b := &breakers[i]
		if b.State == BreakerOpen && now.Sub(later(b.LastSeen, b.Since)) >= b.CoolDown {
			b.State, b.Since, b.Canary = BreakerHalfOpen, now, ""
			notices = append(notices, Notice{b.Key, false, fmt.Sprintf("breaker half-open: %s without a new host with %s", b.CoolDown, b.Key)})
		}
	}
	breakers = slices.DeleteFunc(breakers, func(b Breaker) bool {
		return b.State == BreakerClosed && now.Sub(later(b.LastSeen, b.Since)) > 24*time.Hour
	})
	slices.SortFunc(breakers, func(a, b Breaker) int { return compareKeys(a.Key, b.Key) })
	return breakers, notices
}

// trips applies the two bounds. Over the whole cluster only the percent counts:
// five hosts of a thousand with one code and five drivers are no trend.
func (p BreakerPolicy) trips(key CauseKey, hosts, of int) bool {
	percent := hosts >= p.Floor && of > 0 && hosts*100 >= p.Percent*of
	if key.AMI == "" {
		return percent
	}
	return percent || hosts >= p.Hosts
}

// tally counts different hosts in the window, and how many kinds of them (AMI and
// driver): the breaker of the whole cluster is for what more than one kind has.
func (b Breaker) tally(detections []Detection, p BreakerPolicy, now time.Time) (int, int, time.Time) {
	hosts, kinds := map[string]bool{}, map[CauseKey]bool{}
	var last time.Time
	for _, d := range detections {
		same := d.Key == b.Key || b.Key.AMI == "" && d.Key.Token == b.Key.Token
		if !same || d.Planned || d.At.After(now) || !d.At.After(b.Forgotten) || now.Sub(d.At) > dur(p.Window) {
			continue
		}
		hosts[d.Instance], kinds[d.Key] = true, true
		last = later(last, d.At)
	}
	return len(hosts), len(kinds), last
}

// keysOf lists every key that the detections touch: with AMI and driver, and the
// token alone.
func keysOf(detections []Detection) []CauseKey {
	var out []CauseKey
	for _, d := range detections {
		if d.Planned {
			continue
		}
		for _, k := range []CauseKey{d.Key, {Token: d.Key.Token}} {
			if !slices.Contains(out, k) {
				out = append(out, k)
			}
		}
	}
	slices.SortFunc(out, compareKeys)
	return out
}

func compareKeys(a, b CauseKey) int {
	return cmp.Or(cmp.Compare(a.Token, b.Token), cmp.Compare(a.AMI, b.AMI), cmp.Compare(a.Driver, b.Driver))
}

// Canaries gives each half-open breaker without one its canary: the case that has
// come furthest, then the oldest.
func Canaries(breakers []Breaker, cases []Case) []Breaker {
	breakers = slices.Clone(breakers)
	for i := range breakers {
		b := &breakers[i]
		if b.State != BreakerHalfOpen || b.Canary != "" {
			continue
		}
		var best *Case
		for j := range cases {
			c := &cases[j]
			if c.State.Final() || c.Cause.Planned || !b.Key.of(*c) {
				continue
			}
			if best == nil || cmp.Or(-cmp.Compare(progress(*c), progress(*best)), c.Opened.Compare(best.Opened), cmp.Compare(c.ID, best.ID)) < 0 {
				best = c
			}
		}
		if best != nil {
			b.Canary = best.ID
		}
	}
	return breakers
}

// progress orders cases by how far they came.
func progress(c Case) int {
	s := c.State
	if s == Blocked {
		s = c.Resume
	}
	return slices.Index([]State{Open, Quarantined, Draining, Evidence, Replacing, Verifying}, s)
}

// Settle tells a breaker what came of its canary: a host that serves again closes
// it; a canary that failed opens it for twice the time.
func Settle(b Breaker, canary Case, p BreakerPolicy, now time.Time) (Breaker, []Notice) {
	if b.State != BreakerHalfOpen || b.Canary != canary.ID {
		return b, nil
	}
	switch {
	case canary.State == Closed && (canary.Outcome == Replaced || canary.Outcome == Recovered):
		b.State, b.Since, b.Canary, b.CoolDown, b.Forgotten = BreakerClosed, now, "", dur(p.CoolDown), now
		return b, []Notice{{b.Key, false, fmt.Sprintf("breaker closed: canary %s %s", canary.ID, canary.Outcome)}}
	case canary.State.Final():
		b.Canary = "" // ended without a proof: another may try
		return b, nil
	case canary.State == Blocked && (canary.Block.Reason == BlockNewcomerFailed || canary.Block.Reason == BlockNewcomer || canary.Block.Reason == BlockStep):
		b.State, b.Since, b.Canary = BreakerOpen, now, ""
		b.CoolDown = min(2*b.CoolDown, dur(p.MaxCoolDown))
		return b, []Notice{{b.Key, true, fmt.Sprintf("breaker open again: canary %s: %s %s", canary.ID, canary.Block.Reason, canary.Block.Detail)}}
	}
	return b, nil
}

// Reset is a person's word that the cause is understood.
func Reset(b Breaker, word Word) (Breaker, error) {
	if word.Reason == "" || word.By == "" {
		return b, fmt.Errorf("breaker %s: %w, and who says so", b.Key, ErrReason)
	}
	b.State, b.Since, b.Canary, b.ResetBy, b.Forgotten = BreakerClosed, word.At, "", word, word.At
	return b, nil
}

// held reports whether a breaker keeps the case from acting.
func held(breakers []Breaker, c Case) (string, bool) {
	if c.Cause.Planned {
		return "", false
	}
	for _, b := range breakers {
		if !b.Key.of(c) {
			continue
		}
		switch {
		case b.State == BreakerOpen:
			return fmt.Sprintf("%s: %d of %d hosts", b.Key, b.Hosts, b.Of), true
		case b.State == BreakerHalfOpen && b.Canary != c.ID:
			return fmt.Sprintf("%s: half-open, the canary is %s", b.Key, cmp.Or(b.Canary, "not chosen yet")), true
		}
	}
	return "", false
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
