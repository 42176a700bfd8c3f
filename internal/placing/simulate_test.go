package placing

import (
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/placement"
)

func fleetOf(hosts, cards int, total gpu.MiB) placement.View {
	v := placement.View{}
	for i := range hosts {
		h := placement.HostView{ID: fmt.Sprintf("h%02d", i), InstanceType: "g6.12xlarge", Capable: true, Active: true}
		for j := range cards {
			h.Devices = append(h.Devices, placement.Device{UUID: gpu.UUID(fmt.Sprintf("GPU-%d%d", i, j)), Total: total, Sized: true, Mode: gpu.ModeIdle})
		}
		v.Hosts = append(v.Hosts, h)
	}
	return v
}

func tiers(o bool) placement.Policy {
	return placement.Policy{Optimistic: o, Tiers: map[gpu.Tier]placement.TierRule{"a": {Neighbours: placement.Same, Budget: 100}, "b": {Neighbours: placement.Any, Budget: 200}}}
}

func TestASimulationCountsWhatFitsAndNamesWhatWouldMakeTheRestFit(t *testing.T) {
	for name, c := range map[string]struct {
		view    placement.View
		demand  placement.Demand
		count   int
		fits    int
		changes []string
	}{
		"all fit":                   {fleetOf(1, 1, 1000), placement.Demand{Memory: 250, Compute: 25, Tier: "a"}, 4, 4, nil},
		"memory is short":           {fleetOf(1, 1, 1000), placement.Demand{Memory: 300, Compute: 10, Tier: "a"}, 4, 3, []string{"memory 250", "host 1 g6.12xlarge"}},
		"compute is short":          {fleetOf(1, 1, 1000), placement.Demand{Memory: 100, Compute: 50, Tier: "a"}, 4, 2, []string{"tier b", "compute 25", "host 1 g6.12xlarge"}},
		"several hosts are lacking": {fleetOf(1, 1, 1000), placement.Demand{Memory: 900, Compute: 90, Tier: "a"}, 4, 1, []string{"host 3 g6.12xlarge"}},
	} {
		s, err := Simulate(c.view, c.demand, tiers(false), c.count)
		var got []string
		for _, x := range s.Changes {
			got = append(got, x.Kind+" "+x.Value)
		}
		if err != nil || s.Fits != c.fits || fmt.Sprint(got) != fmt.Sprint(c.changes) || (s.Why == "") != (c.fits == c.count) {
			t.Errorf("%s: %v %+v", name, err, s)
		}
	}
	var no *placement.Refusal
	if _, err := Simulate(fleetOf(1, 1, 1000), placement.Demand{Memory: 2000, Tier: "a"}, tiers(false), 1); !errors.As(err, &no) || no.Reason != "LargerThanAnyCard" {
		t.Errorf("%v", err)
	}
}

func TestEveryChangeThatASimulationNamesIsTrueAndTheGreatest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := fleetOf(rapid.IntRange(1, 3).Draw(t, "hosts"), rapid.IntRange(1, 2).Draw(t, "cards"), 1000)
		d := placement.Demand{Memory: gpu.MiB(rapid.IntRange(1, 1000).Draw(t, "memory")), Compute: gpu.Percent(rapid.IntRange(1, 100).Draw(t, "compute")), Tier: "a"}
		count := rapid.IntRange(1, 12).Draw(t, "count")
		p := tiers(rapid.Bool().Draw(t, "optimistic"))
		s, err := Simulate(v, d, p, count)
		if err != nil {
			t.Fatal(err)
		}
		total := 0
		for _, h := range s.Where {
			total += h.Copies
		}
		if total != s.Fits || s.Fits > s.AtMost || s.AtMost > count {
			t.Fatalf("%+v", s)
		}
		for _, c := range s.Changes {
			o := d
			switch c.Kind {
			case "memory":
				fmt.Sscan(c.Value, &o.Memory)
			case "compute":
				fmt.Sscan(c.Value, &o.Compute)
			default:
				continue
			}
			if again, err := Simulate(v, o, p, count); err != nil || again.Fits != count {
				t.Fatalf("%+v does not help: %+v", c, again)
			}
		}
	})
}
