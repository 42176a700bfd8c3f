package remedy

import (
	"testing"
	"time"
)

func TestEveryLineHasItsKeysInPairs(t *testing.T) {
	check := func(fields []any, want ...string) {
		t.Helper()
		seen := map[string]any{}
		for i := 0; i+1 < len(fields); i += 2 {
			key, ok := fields[i].(string)
			if _, twice := seen[key]; !ok || twice {
				t.Errorf("key %v is no text or stands twice", fields[i])
			}
			seen[key] = fields[i+1]
		}
		for _, key := range want {
			if _, ok := seen[key]; !ok || len(fields)%2 != 0 {
				t.Errorf("no %s in %v", key, fields)
			}
		}
	}
	check(Step{Kind: StepDrain, Numbers: []Number{{"cluster.inRepair", 1}}}.Fields(), "step", "case", "decision", "cluster.inRepair")
	check(Case{State: Blocked, Block: Block{Reason: BlockBudget}}.Fields(), "blocker", "resume")
	check(Case{State: Draining, Waiting: "t1"}.Fields(), "waiting")
	over := Case{State: Closed, Outcome: Replaced, Opened: start, Closed: start.Add(time.Minute)}
	check(over.Fields(), "outcome", "mttr_seconds")
	if over.MTTR() != time.Minute || (Case{Opened: start}).MTTR() != 0 {
		t.Errorf("MTTR %s", over.MTTR())
	}
}
