package nvmlchild

import (
	"time"

	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/nvml"
)

// Condition says how the child is.
type Condition string

// The conditions. Only OK comes with a fresh sample.
const (
	Starting Condition = "starting" // started, no sample yet
	OK       Condition = "ok"
	Failing  Condition = "failing" // it answers, with an error
	Hung     Condition = "hung"    // no answer within the deadline
	Stuck    Condition = "stuck"   // hung and in uninterruptible sleep: waited for, not killed
	Died     Condition = "died"    // the process ended by itself
)

// Update is told at every change and at every sample.
type Update struct {
	Condition Condition
	Err       error  // why it is not OK; errors.Is works with nvml's errors
	Call      string // the driver's call a hung child was in, "" unknown
	PID       int    // of the child, 0 when none lives
	Restarts  int    // starts after the first, since the agent began
	Deaf      string // why no NVML events are heard, "" when they are

	Sample    nvml.Sample // the last good one
	SampledAt time.Time   // zero: never
	Stale     bool        // Sample is older than this update
}
