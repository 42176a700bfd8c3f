package remedy

import (
	"cmp"
	"fmt"
	"time"
)

// ScopeKind is what a budget counts over.
type ScopeKind string

// The scopes of budgets.
const (
	ScopeCluster          ScopeKind = "cluster"
	ScopeCapacityProvider ScopeKind = "capacity-provider"
	ScopeZone             ScopeKind = "zone"
	ScopeInstanceType     ScopeKind = "instance-type"
	ScopeAMI              ScopeKind = "ami"
)

var scopeKinds = []ScopeKind{ScopeCluster, ScopeCapacityProvider, ScopeZone, ScopeInstanceType, ScopeAMI}

// value is the host's own value in a scope; empty where it has none.
func (s Scope) value(k ScopeKind) string {
	switch k {
	case ScopeCluster:
		return s.Cluster
	case ScopeCapacityProvider:
		return s.CapacityProvider
	case ScopeZone:
		return s.Zone
	case ScopeInstanceType:
		return s.InstanceType
	case ScopeAMI:
		return s.AMI
	}
	return ""
}

// Budget bounds repairs in each value of a scope. Zero means: not bounded by this.
type Budget struct {
	Scope             ScopeKind `yaml:"scope"`
	Parallel          *int      `yaml:"parallel"`        // hosts in repair at a time
	ParallelPercent   *int      `yaml:"parallelPercent"` // of the scope's hosts, rounded down, at least one
	PerHour           *int      `yaml:"perHour"`
	PerDay            *int      `yaml:"perDay"`
	MinHealthy        int       `yaml:"minHealthy"`        // hosts that serve while one more goes
	MinHealthyPercent int       `yaml:"minHealthyPercent"` // rounded down
}

func (b Budget) check() []error {
	var errs []error
	known := false
	for _, k := range scopeKinds {
		known = known || k == b.Scope
	}
	if !known {
		errs = append(errs, fmt.Errorf("budget: scope is %q; it is one of %v", b.Scope, scopeKinds))
	}
	if b.Parallel == nil && b.ParallelPercent == nil {
		errs = append(errs, fmt.Errorf("budget of scope %s: set parallel or parallelPercent", b.Scope))
	}
	for _, f := range []struct {
		name  string
		value *int
	}{{"parallel", b.Parallel}, {"perHour", b.PerHour}, {"perDay", b.PerDay}} {
		if f.value != nil && *f.value < 1 {
			errs = append(errs, fmt.Errorf("budget of scope %s: %s is %d; with less than 1 nothing could ever be repaired: to forbid repairs set mode: observe", b.Scope, f.name, *f.value))
		}
	}
	if v := b.ParallelPercent; v != nil && (*v < 1 || *v > 100) {
		errs = append(errs, fmt.Errorf("budget of scope %s: parallelPercent is %d; a percent of hosts lies between 1 and 100", b.Scope, *v))
	}
	if b.MinHealthyPercent < 0 || b.MinHealthyPercent >= 100 || b.MinHealthy < 0 {
		errs = append(errs, fmt.Errorf("budget of scope %s: minHealthyPercent is %d and minHealthy %d; with 100 percent or a number below 0 no sick host could be repaired", b.Scope, b.MinHealthyPercent, b.MinHealthy))
	}
	return errs
}

// limit is how many hosts of n may be in repair together: the lower of the two
// bounds, and never less than one, or small pools would never be repaired.
func (b Budget) limit(n int) int {
	out := n
	if b.ParallelPercent != nil {
		out = min(out, n**b.ParallelPercent/100)
	}
	if b.Parallel != nil {
		out = min(out, *b.Parallel)
	}
	return max(1, out)
}

// floor is how many hosts of n must serve.
func (b Budget) floor(n int) int { return max(b.MinHealthy, n*b.MinHealthyPercent/100) }

// Usage is one scope of the host as it is counted now, without the case asked for.
type Usage struct {
	Scope     ScopeKind `json:"scope,omitzero"`
	Value     string    `json:"value,omitzero"`
	Hosts     int       `json:"hosts,omitzero"`    // in the scope
	Serving   int       `json:"serving,omitzero"`  // ACTIVE, there, not failed
	InRepair  int       `json:"inRepair,omitzero"` // cases of others that take a place
	Ahead     int       `json:"ahead,omitzero"`    // of these, the ones that took it before this case did
	LastHour  int       `json:"lastHour,omitzero"` // repairs begun by others in the last hour
	LastDay   int       `json:"lastDay,omitzero"`
	SelfCount bool      `json:"selfCount,omitzero"` // this host is among Serving
}

// Fleet is the usage of every scope of the host.
type Fleet struct {
	Scopes []Usage `json:"scopes,omitzero"`
}

// FleetHost is one host as Count sees it.
type FleetHost struct {
	Instance string `json:"instance,omitzero"`
	Scope    Scope  `json:"scope,omitzero"`
	Serving  bool   `json:"serving,omitzero"`
}

// Count computes the usage of a host's scopes from the hosts of the cluster and
// all cases of the last day. Planned departures are not counted as repairs.
func Count(self Case, hosts []FleetHost, cases []Case, now time.Time) Fleet {
	var f Fleet
	for _, k := range scopeKinds {
		value := self.Scope.value(k)
		if value == "" {
			continue
		}
		u := Usage{Scope: k, Value: value}
		for _, h := range hosts {
			if h.Scope.value(k) != value {
				continue
			}
			u.Hosts++
			if h.Serving {
				u.Serving++
				u.SelfCount = u.SelfCount || h.Instance == self.Instance
			}
		}
		for _, c := range cases {
			if c.ID == self.ID || c.Scope.value(k) != value || c.Cause.Planned || c.Entered.IsZero() {
				continue
			}
			if c.InRepair() {
				u.InRepair++
				if !self.Entered.IsZero() && cmp.Or(c.Entered.Compare(self.Entered), cmp.Compare(c.ID, self.ID)) < 0 {
					u.Ahead++
				}
			}
			if now.Sub(c.Entered) < time.Hour {
				u.LastHour++
			}
			if now.Sub(c.Entered) < 24*time.Hour {
				u.LastDay++
			}
		}
		f.Scopes = append(f.Scopes, u)
	}
	return f
}

// allow reports whether one more repair keeps every budget. A case that has its
// place already gives way only to those that took theirs before it (two callers
// may have raced for the last one), and to min-healthy while its host still serves.
func (p Policy) allow(f Fleet, entered bool) (Blocker, string, []Number) {
	var numbers []Number
	for _, b := range p.Budgets {
		u, ok := f.usage(b.Scope)
		if !ok {
			continue
		}
		limit, floor := b.limit(u.Hosts), b.floor(u.Hosts)
		serving := u.Serving
		if u.SelfCount {
			serving-- // it stops serving because of us
		}
		numbers = append(numbers, Number{string(b.Scope) + ".inRepair", u.InRepair}, Number{string(b.Scope) + ".limit", limit},
			Number{string(b.Scope) + ".serving", serving}, Number{string(b.Scope) + ".minHealthy", floor})
		where := fmt.Sprintf("%s %s", b.Scope, u.Value)
		others := u.InRepair
		if entered {
			others = u.Ahead
		}
		switch {
		case others >= limit:
			return BlockBudget, fmt.Sprintf("%s: %d of %d in repair", where, others, limit), numbers
		case serving < floor && (u.SelfCount || !entered):
			return BlockMinHealthy, fmt.Sprintf("%s: %d would serve, %d must", where, serving, floor), numbers
		case entered:
			continue
		case b.PerHour != nil && u.LastHour >= *b.PerHour:
			return BlockBudget, fmt.Sprintf("%s: %d of %d repairs in the last hour", where, u.LastHour, *b.PerHour), numbers
		case b.PerDay != nil && u.LastDay >= *b.PerDay:
			return BlockBudget, fmt.Sprintf("%s: %d of %d repairs in the last day", where, u.LastDay, *b.PerDay), numbers
		}
	}
	return "", "", numbers
}

func (f Fleet) usage(k ScopeKind) (Usage, bool) {
	for _, u := range f.Scopes {
		if u.Scope == k {
			return u, true
		}
	}
	return Usage{}, false
}
