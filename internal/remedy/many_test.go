package remedy

import (
	"fmt"
	"testing"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/health"
)

func TestAHostOfHundredsOfTasksKeepsItsCaseSmall(t *testing.T) {
	p := mustPolicy(t)
	p.Mode, p.Drain.Standalone = Act, "stop"
	f := newFleet(4, 1, p, mustJudge(t))
	f.quiet = true
	h := f.hosts[0]
	for i := range 300 {
		h.tasks = append(h.tasks, &task{arn: fmt.Sprintf("t%03d", i)})
	}
	stopped := map[string]int{}
	f.onAct = func(s Step, _ *host, _ World) {
		if s.Kind == StepStopTask {
			stopped[s.Target]++
		}
	}
	f.assess(h, health.Signal{Kind: health.KindXid, Code: 79, Device: card, Witness: health.WitnessKernelLog})
	for range 120 {
		f.advance(10*time.Second, 10*time.Second)
		if n := len(f.cases[0].Attempts); n > maxAttempts {
			t.Fatalf("%d attempts", n)
		}
	}
	c := f.cases[0]
	if c.State != Closed || c.Outcome != Replaced || len(stopped) != 300 {
		t.Errorf("%s %s, %d tasks stopped, waits for %q", c.State, c.Outcome, len(stopped), c.Waiting)
	}
	for arn, n := range stopped {
		if n != 1 {
			t.Errorf("%s was stopped %d times", arn, n)
		}
	}
	if _, ok := c.attempt(c.key(StepDrain, "", c.round())); !ok {
		t.Error("what a case needs to know of itself was pushed out by its tasks")
	}
}
