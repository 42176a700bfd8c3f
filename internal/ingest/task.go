package ingest

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

// taskFacts is what an event or a description says of a task, before it becomes
// the ledger's value. Both go through here, so they cannot differ.
type taskFacts struct {
	arn, definition, group, startedBy, launchType string
	last, desired, stopCode, stopReason           string
	version                                       int64
	stopping, stopped, at                         time.Time
}

func (f taskFacts) check() error {
	switch {
	case f.version < 0 || f.version > MaxVersion:
		return absurdVersion(f.version)
	case !strings.HasPrefix(f.arn, "arn:") || !strings.Contains(f.arn, ":task/") || len(f.arn) > MaxARN:
		return rejected{RejectedIdentity, fmt.Sprintf("taskArn %q is no task's ARN", Bounded(f.arn, 80))}
	}
	return nil
}

// MaxARN bounds identities; ECS's own are well under 300 characters.
const MaxARN = 512

func absurdVersion(v int64) error {
	return rejected{RejectedVersion, fmt.Sprintf("version %d is outside 0..%d and would lock out every true event", v, MaxVersion)}
}

// rejected is a reason not to believe an input.
type rejected struct{ token, text string }

func (r rejected) Error() string { return r.token + ": " + r.text }

func (f taskFacts) task() ledger.Task {
	t := ledger.Task{
		ARN: f.arn, Version: f.version, At: ms(f.at), Phase: phaseOf(f.last, f.desired), LastStatus: Bounded(f.last, 32),
		Definition: Bounded(f.definition, MaxARN), Group: Bounded(f.group, 255), StartedBy: Bounded(f.startedBy, 128),
		Capacity: capacityOf(f.launchType), StoppingAt: ms(f.stopping), StoppedAt: ms(f.stopped),
		StopCode: Bounded(f.stopCode, 64), StopReason: Bounded(f.stopReason, 256),
	}
	switch t.Phase {
	case ledger.PhaseStopped:
		if t.StoppedAt.IsZero() {
			t.StoppedAt = ms(f.at) // a tombstone must have an age
		}
	case ledger.PhaseStopping:
		if t.StoppingAt.IsZero() {
			t.StoppingAt = ms(f.at)
		}
	}
	return t
}

// phaseOf maps ECS's two statuses. ECS wants a task gone at desired STOPPED, and
// frees it in its own books then; it holds its card until lastStatus STOPPED.
func phaseOf(last, desired string) ledger.Phase {
	switch last {
	case "STOPPED", "DELETED":
		return ledger.PhaseStopped
	case "DEACTIVATING", "STOPPING", "DEPROVISIONING":
		return ledger.PhaseStopping
	}
	if desired == "STOPPED" {
		return ledger.PhaseStopping
	}
	return ledger.PhaseActive
}

func capacityOf(launchType string) ledger.CapacityType {
	switch launchType {
	case "EC2":
		return ledger.CapacityEC2
	case "MANAGED_INSTANCES":
		return ledger.CapacityManaged
	}
	return ledger.CapacityUnknown
}

// ms cuts a time to milliseconds in UTC: what every store keeps.
func ms(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Millisecond)
}

// Time reads a time as AWS writes it: ISO text or epoch seconds, absent, null or
// empty. What is none of these is no time, not an error: no time decides alone.
type Time struct{ time.Time }

// UnmarshalJSON reads it.
func (t *Time) UnmarshalJSON(b []byte) error {
	s := strings.Trim(string(b), `"`)
	t.Time = time.Time{}
	if s == "" || s == "null" || len(s) > 64 {
		return nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999Z0700", "2006-01-02T15:04:05.999999999"} {
		if v, err := time.Parse(layout, s); err == nil {
			t.Time = v.UTC()
			return nil
		}
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil && f > 0 && f < 1e12 {
		t.Time = time.UnixMilli(int64(f * 1000)).UTC()
	}
	return nil
}
