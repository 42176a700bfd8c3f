package ledger

import (
	"cmp"
	"strings"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
)

// Phase is how far a task is in its life, as far as capacity cares. Phases only
// move forward.
type Phase uint8

// ECS frees a task's memory in its own books at Stopping; here it holds until Stopped.
const (
	PhaseActive   Phase = iota // placed, whatever its last status
	PhaseStopping              // desired STOPPED, or on its way down
	PhaseStopped               // STOPPED: final
)

// Task is the newest that was said of one task on this host.
type Task struct {
	ARN     string
	Version int64 // ECS's detail.version; zero when the event had none
	// At is the time of the event that won. It orders events only where there is
	// no version to do it.
	At         time.Time
	Phase      Phase
	LastStatus string // ECS's word
	Definition string // task definition ARN
	Group      string // "service:NAME" or "family:NAME"
	StartedBy  string // the reservation's id when the task is ours
	Tier       gpu.Tier
	Capacity   CapacityType // from the launch type
	// Heard is the latest time at which anything was said of the task, also what was
	// stale or contradicted: until nobody speaks of it any more, its tombstone stays.
	Heard      time.Time
	StoppingAt time.Time
	StoppedAt  time.Time
	// StopTimeout is the longest a container of the task may take to stop.
	StopTimeout time.Duration
	StopCode    string
	StopReason  string // bounded
	Shares      []TaskShare
	// Kept is set while Shares stand on cards that an earlier saying named.
	Kept *Kept
	// Revived is the highest version of a non-stopped event seen for a task that
	// is stopped; greater than Version means that ECS contradicted itself.
	Revived int64
}

// Need says what a container asked of a GPU.
type Need uint8

// Unknown when no definition told and only the ids of cards are at hand.
const (
	NeedUnknown Need = iota
	NeedShare        // sharingStrategy.nvidiaMps
	NeedWhole        // resourceRequirements value "1", "2" …
	NeedAll          // value "ALL": every card of the instance
)

// TaskShare is what one container of the task holds.
type TaskShare struct {
	Container string
	Need      Need
	// Sized is false when the definition could not be read; Memory is then meaningless.
	Sized bool
	// Memory is the declared MiB of a share; zero for whole cards, which hold
	// whatever the card has.
	Memory gpu.MiB
	// Compute is the declared ceiling, zero when none was.
	Compute gpu.Percent
	// GPUs are the cards that ECS named; empty until it did.
	GPUs []gpu.UUID
	// Bad holds ids that are no card's id; they are kept to be shown.
	Bad []string
}

// compare orders what was said of one task: later is greater. It is a total order
// on distinct contents, which is what makes the merge a join.
func (a Task) compare(b Task) int {
	if c := cmp.Compare(boolRank(a.Phase == PhaseStopped), boolRank(b.Phase == PhaseStopped)); c != 0 {
		return c
	}
	if c := cmp.Compare(a.Version, b.Version); c != 0 {
		return c
	}
	// Same version: a duplicate, or a contradiction. Only the latter gets past
	// these, and then any fixed rule will do as long as it is fixed.
	if a.Version == 0 {
		if c := a.At.Compare(b.At); c != 0 {
			return c
		}
	}
	return cmp.Or(
		cmp.Compare(a.Phase, b.Phase),
		compareShares(a.own(), b.own()),
		cmp.Compare(a.LastStatus, b.LastStatus),
		cmp.Compare(a.Definition, b.Definition),
		cmp.Compare(a.Group, b.Group),
		cmp.Compare(a.StartedBy, b.StartedBy),
		cmp.Compare(a.Tier, b.Tier),
		cmp.Compare(a.Capacity, b.Capacity),
		a.StoppedAt.Compare(b.StoppedAt),
		a.StoppingAt.Compare(b.StoppingAt),
		cmp.Compare(a.StopTimeout, b.StopTimeout),
		cmp.Compare(a.StopCode, b.StopCode),
		cmp.Compare(a.StopReason, b.StopReason),
	)
}

func compareShares(a, b []TaskShare) int {
	for i := range min(len(a), len(b)) {
		if c := cmp.Or(
			cmp.Compare(len(a[i].GPUs), len(b[i].GPUs)),
			cmp.Compare(boolRank(a[i].Sized), boolRank(b[i].Sized)),
			strings.Compare(a[i].Container, b[i].Container),
			cmp.Compare(a[i].Need, b[i].Need),
			cmp.Compare(a[i].Memory, b[i].Memory),
			cmp.Compare(a[i].Compute, b[i].Compute),
			compareOrdered(a[i].GPUs, b[i].GPUs),
			compareOrdered(a[i].Bad, b[i].Bad),
		); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}

func compareOrdered[T ~string](a, b []T) int {
	for i := range min(len(a), len(b)) {
		if c := cmp.Compare(a[i], b[i]); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}

func boolRank(b bool) int {
	if b {
		return 1
	}
	return 0
}

// ms cuts a time to milliseconds in UTC, which is what every store keeps: a host
// must be the same before it was stored and after.
func ms(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Millisecond)
}

// Newer merges two sayings about one task: any order gives the same.
func Newer(a, b Task) Task {
	t, _ := joinTask(a, b)
	return t
}

func (t Task) toMillis() Task {
	t.At, t.Heard, t.StoppingAt, t.StoppedAt = ms(t.At), ms(t.Heard), ms(t.StoppingAt), ms(t.StoppedAt)
	t.StopTimeout = t.StopTimeout.Truncate(time.Millisecond)
	return t
}
