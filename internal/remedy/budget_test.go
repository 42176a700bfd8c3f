package remedy

import (
	"strings"
	"testing"
	"time"
)

func ptr(n int) *int { return &n }

func TestALimitHasAFloorOfOne(t *testing.T) {
	for _, tc := range []struct {
		budget     Budget
		hosts      int
		limit, min int
	}{
		{Budget{ParallelPercent: ptr(20)}, 1, 1, 0},
		{Budget{ParallelPercent: ptr(20)}, 4, 1, 0},
		{Budget{ParallelPercent: ptr(20)}, 9, 1, 0},
		{Budget{ParallelPercent: ptr(20)}, 10, 2, 0},
		{Budget{ParallelPercent: ptr(20)}, 1000, 200, 0},
		{Budget{ParallelPercent: ptr(20), Parallel: ptr(5)}, 1000, 5, 0},
		{Budget{ParallelPercent: ptr(1), Parallel: ptr(5)}, 100, 1, 0},
		{Budget{ParallelPercent: ptr(100)}, 0, 1, 0},
		{Budget{ParallelPercent: ptr(100), MinHealthyPercent: 60}, 1, 1, 0},
		{Budget{ParallelPercent: ptr(100), MinHealthyPercent: 60}, 10, 10, 6},
		{Budget{ParallelPercent: ptr(100), MinHealthyPercent: 60, MinHealthy: 8}, 10, 10, 8},
	} {
		if got := tc.budget.limit(tc.hosts); got != tc.limit {
			t.Errorf("%+v of %d hosts: limit %d, want %d", tc.budget, tc.hosts, got, tc.limit)
		}
		if got := tc.budget.floor(tc.hosts); got != tc.min {
			t.Errorf("%+v of %d hosts: floor %d, want %d", tc.budget, tc.hosts, got, tc.min)
		}
	}
}

func TestABudgetSaysWhichBoundHolds(t *testing.T) {
	usage := func(change func(*Usage)) Fleet {
		u := Usage{Scope: ScopeCluster, Value: "gpu", Hosts: 10, Serving: 9}
		change(&u)
		return Fleet{[]Usage{u}}
	}
	p := Policy{Budgets: []Budget{{Scope: ScopeCluster, Parallel: ptr(2), PerHour: ptr(3), PerDay: ptr(5), MinHealthyPercent: 60}}}
	for name, tc := range map[string]struct {
		change  func(*Usage)
		entered bool
		want    Blocker
		says    string
	}{
		"free":                   {func(*Usage) {}, false, "", ""},
		"parallel":               {func(u *Usage) { u.InRepair = 2 }, false, BlockBudget, "2 of 2 in repair"},
		"parallel, entered":      {func(u *Usage) { u.InRepair = 2 }, true, "", ""},
		"others came before":     {func(u *Usage) { u.InRepair, u.Ahead = 2, 2 }, true, BlockBudget, "2 of 2"},
		"hour":                   {func(u *Usage) { u.LastHour = 3 }, false, BlockBudget, "last hour"},
		"hour, entered":          {func(u *Usage) { u.LastHour = 3 }, true, "", ""},
		"day":                    {func(u *Usage) { u.LastDay = 5 }, false, BlockBudget, "last day"},
		"too few serve":          {func(u *Usage) { u.Serving = 5 }, false, BlockMinHealthy, "5 would serve, 6 must"},
		"this one is needed":     {func(u *Usage) { u.Serving, u.SelfCount = 6, true }, false, BlockMinHealthy, "5 would serve"},
		"out of service already": {func(u *Usage) { u.Serving = 2 }, true, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, detail, _ := p.allow(usage(tc.change), tc.entered)
			if got != tc.want || !strings.Contains(detail, tc.says) {
				t.Errorf("%s %q, want %s %q", got, detail, tc.want, tc.says)
			}
		})
	}
}

func TestCountingLeavesOutPlannedDeparturesAndTheCaseItself(t *testing.T) {
	scope := Scope{Cluster: "gpu", AMI: "ami-1"}
	at := func(ago time.Duration) time.Time { return start.Add(-ago) }
	self := Case{ID: "self", Instance: "i-1", Scope: scope, Entered: at(time.Minute), Repair: true, State: Draining}
	cases := []Case{
		self,
		{ID: "a", Scope: scope, Entered: at(2 * time.Minute), Repair: true, State: Blocked, Resume: Draining},
		{ID: "b", Scope: scope, Entered: at(time.Second), Repair: true, State: Verifying},
		{ID: "spot", Scope: scope, Entered: at(time.Minute), Repair: true, State: Draining, Cause: Cause{Planned: true}},
		{ID: "old", Scope: scope, Entered: at(3 * time.Hour), State: Closed},
		{ID: "older", Scope: scope, Entered: at(30 * time.Hour), State: Closed},
		{ID: "other", Scope: Scope{Cluster: "gpu", AMI: "ami-2"}, Entered: at(time.Minute), Repair: true, State: Draining},
		{ID: "waits", Scope: scope, State: Open},
	}
	hosts := []FleetHost{{"i-1", scope, true}, {"i-2", scope, true}, {"i-3", scope, false}, {"i-4", Scope{Cluster: "gpu", AMI: "ami-2"}, true}}
	u, _ := Count(self, hosts, cases, start).usage(ScopeAMI)
	want := Usage{Scope: ScopeAMI, Value: "ami-1", Hosts: 3, Serving: 2, InRepair: 2, Ahead: 1, LastHour: 2, LastDay: 3, SelfCount: true}
	if u != want {
		t.Errorf("%+v, want %+v", u, want)
	}
	if u, _ := Count(self, hosts, cases, start).usage(ScopeCluster); u.Hosts != 4 || u.InRepair != 3 {
		t.Errorf("cluster %+v", u)
	}
	if _, ok := Count(self, hosts, cases, start).usage(ScopeZone); ok {
		t.Error("a host without a zone has no usage of one")
	}
}

func TestOnlyRepairsThatBroughtTheHostBackCountAsFixes(t *testing.T) {
	fixed := func(change func(*Case)) Case {
		c := Case{Instance: "i-1", State: Closed, Outcome: Recovered, Entered: start, Closed: start}
		change(&c)
		return c
	}
	cases := []Case{
		fixed(func(*Case) {}),
		fixed(func(c *Case) { c.Outcome = CordonLeft }),
		fixed(func(c *Case) { c.Instance = "i-2" }),
		fixed(func(c *Case) { c.Entered = time.Time{} }),
		fixed(func(c *Case) { c.Outcome = Replaced }),
		fixed(func(c *Case) { c.State = Cancelled }),
		fixed(func(c *Case) { c.Closed = start.Add(-8 * 24 * time.Hour) }),
	}
	if got := Fixes("i-1", cases, 7*24*time.Hour, start); got != 2 {
		t.Errorf("%d fixes, want 2", got)
	}
}
