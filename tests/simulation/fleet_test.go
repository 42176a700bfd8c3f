package simulation

import (
	"flag"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

var (
	fleets  = flag.Int("fleets", 0, "how many fleets to live through (default 15, or as many as -seeds)")
	minutes = flag.Int("minutes", 120, "minutes of fleet time under faults")
	faults  = flag.String("faults", strings.Join(FaultNames, ","), "the faults that happen")
)

func TestTheLawsHoldInEveryFleet(t *testing.T) {
	start := time.Now()
	from, many := span(fleetsWanted())
	results := make(chan result)
	var next atomic.Uint64
	next.Store(from)
	workers := runtime.GOMAXPROCS(0)
	for range workers {
		go func() {
			for {
				seed := next.Add(1) - 1
				if seed >= from+uint64(many) {
					results <- result{done: true}
					return
				}
				p := Plan{Seed: seed, Minutes: *minutes}
				if *faults != "" {
					p.Faults = strings.Split(*faults, ",")
				}
				out, err := Run(p)
				results <- result{plan: p, Outcome: out, err: err}
			}
		}()
	}
	var sum Outcome
	lived := 0
	var worst *result
	for left := workers; left > 0; {
		r := <-results
		if r.done {
			left--
			continue
		}
		lived++
		sum.Emitted, sum.Carried, sum.Decisions = sum.Emitted+r.Emitted, sum.Carried+r.Carried, sum.Decisions+r.Decisions
		if r.err != nil && (worst == nil || r.plan.Seed < worst.plan.Seed) {
			worst = &r
			next.Store(from + uint64(many)) // no new ones
		}
		if lived%250 == 0 {
			t.Logf("%d fleets, %d deliveries", lived, sum.Carried)
		}
	}
	if worst != nil {
		least := Least(worst.plan)
		_, why := Run(least)
		t.Fatalf("seed %d: %v\nthe least found that breaks a law:\n  %s\nkeep it as a line of %s:\n  %s\n%v", worst.plan.Seed, worst.err, least.Command(), foundFile, least, why)
	}
	rate := float64(sum.Carried) / time.Since(start).Seconds()
	t.Logf("%d fleets, %d events, %d deliveries, %d decisions, %.0f deliveries a second on %d cores, no law broken", lived, sum.Emitted, sum.Carried, sum.Decisions, rate, workers)
	if sum.Carried < 10*lived {
		t.Error("the fleets hardly lived")
	}
}

// fleetsWanted are few, unless seeds were asked for by number: a fleet is fifty
// times the work of a script.
func fleetsWanted() int {
	n := 15
	flag.Visit(func(f *flag.Flag) {
		if f.Name == "seeds" {
			n = *seeds
		}
	})
	if *fleets > 0 {
		n = *fleets
	}
	return n
}

// result is one fleet's, or the word that a worker is done.
type result struct {
	Outcome
	plan Plan
	err  error
	done bool
}

func TestTheSameSeedLivesTheSameFleet(t *testing.T) {
	p := Plan{Seed: 3, Minutes: 60, Faults: FaultNames}
	a, errA := Run(p)
	b, errB := Run(p)
	if a != b || (errA == nil) != (errB == nil) {
		t.Errorf("%+v %v, then %+v %v", a, errA, b, errB)
	}
}

// foundFile keeps the plans that once broke a law, one a line.
const foundFile = "testdata/found.txt"

func TestWhatOnceBrokeALawNoLongerDoes(t *testing.T) {
	b, err := os.ReadFile(foundFile)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for i, line := range strings.Split(string(b), "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		p, err := ParsePlan(line)
		if err != nil {
			t.Fatalf("%s:%d: %v", foundFile, i+1, err)
		}
		n++
		if _, err := Run(p); err != nil {
			t.Errorf("%s:%d: %v\n  %s", foundFile, i+1, err, p.Command())
		}
	}
	if n == 0 {
		t.Error("nothing was ever found")
	}
}

func TestAPlanThatIsNoneSaysWhy(t *testing.T) {
	for line, want := range map[string]string{"x 1 late": "no seed", "1 0 late": "minutes", "1 10 fire": "no fault", "1 10": "want"} {
		if _, err := ParsePlan(line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", line, err)
		}
	}
}
