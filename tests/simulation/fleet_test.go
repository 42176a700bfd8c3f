package simulation

import (
	"flag"
	"strings"
	"testing"
	"time"
)

var (
	fleets  = flag.Int("fleets", 15, "how many fleets to live through")
	minutes = flag.Int("minutes", 120, "minutes of fleet time under faults")
	faults  = flag.String("faults", strings.Join(FaultNames, ","), "the faults that happen")
)

func TestTheLawsHoldInEveryFleet(t *testing.T) {
	start := time.Now()
	var sum Outcome
	for seed := *first; seed < *first+uint64(*fleets); seed++ {
		p := Plan{Seed: seed, Minutes: *minutes}
		if *faults != "" {
			p.Faults = strings.Split(*faults, ",")
		}
		out, err := Run(p)
		sum.Emitted, sum.Carried, sum.Decisions = sum.Emitted+out.Emitted, sum.Carried+out.Carried, sum.Decisions+out.Decisions
		if err != nil {
			least := Least(p)
			_, why := Run(least)
			t.Fatalf("seed %d: %v\nthe least found that breaks a law:\n  %s\n%v", seed, err, least.Command(), why)
		}
	}
	took := time.Since(start)
	t.Logf("%d fleets, %d events, %d deliveries, %d decisions, %.0f deliveries a second, no law broken", *fleets, sum.Emitted, sum.Carried, sum.Decisions, float64(sum.Carried)/took.Seconds())
	if sum.Carried < 10**fleets {
		t.Error("the fleets hardly lived")
	}
}

func TestTheSameSeedLivesTheSameFleet(t *testing.T) {
	p := Plan{Seed: 3, Minutes: 60, Faults: FaultNames}
	a, errA := Run(p)
	b, errB := Run(p)
	if a != b || (errA == nil) != (errB == nil) {
		t.Errorf("%+v %v, then %+v %v", a, errA, b, errB)
	}
}
