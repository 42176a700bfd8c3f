package simulation

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-ecs/bulkhead/tests/scenario"
)

var (
	seeds = flag.Int("seeds", 200, "how many seeds to play")
	first = flag.Uint64("first", 1, "the first seed")
	one   = flag.Uint64("seed", 0, "play this seed alone")
	lines = flag.Int("lines", 120, "lines of a script")
)

// span is the first seed, and how many: many, unless one alone is asked for.
func span(many int) (from uint64, n int) {
	if *one > 0 {
		return *one, 1
	}
	return *first, many
}

// broken plays a script and returns the law that it breaks.
func broken(script []string) error {
	p := scenario.NewPlay()
	for n, line := range script {
		p.Line(line)
		if err := p.Laws(); err != nil {
			return fmt.Errorf("after line %d (%s): %w", n+1, line, err)
		}
	}
	if err := p.Settle(); err != nil {
		return fmt.Errorf("two sweeps after the last fault: %w", err)
	}
	return nil
}

// shortest drops lines while the script still breaks a law.
func shortest(script []string) []string {
	for size := len(script) / 2; size > 0; size /= 2 {
		for i := 0; i+size <= len(script); {
			without := slices.Concat(script[:i], script[i+size:])
			if broken(without) != nil {
				script = without
			} else {
				i += size
			}
		}
	}
	return script
}

func TestTheLawsHoldForEverySeed(t *testing.T) {
	events := 0
	from, many := span(*seeds)
	for seed := from; seed < from+uint64(many); seed++ {
		script := Script(seed, *lines)
		events += len(script)
		if err := broken(script); err != nil {
			small := shortest(script)
			t.Fatalf("seed %d: %v\nplay it again: go test ./tests/simulation -run Seed -seed %d -lines %d\nshortest script found (%v):\n%s",
				seed, err, seed, *lines, broken(small), strings.Join(small, "\n"))
		}
	}
	t.Logf("%d seeds, %d lines, no law broken", many, events)
}

func TestTheSameSeedMakesTheSameScript(t *testing.T) {
	if !slices.Equal(Script(7, 200), Script(7, 200)) || slices.Equal(Script(7, 200), Script(8, 200)) {
		t.Error("a seed is not a script")
	}
}
