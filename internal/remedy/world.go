package remedy

import (
	"slices"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/health"
)

// World is what is so right now, as far as one case needs it. The caller reads it
// before Next and again, freshly, before each Confirm.
type World struct {
	Case     CaseMark // what the table holds of the case now
	Paused   Word     // a person paused all remedies; zero: not
	Host     HostView
	Group    GroupView
	Newcomer *NewcomerView // the instance that came in this one's place
	Fleet    Fleet
	Breakers []Breaker
	Fixes    int // cases of this instance that ended in repair within policy.repeat.within
}

// CaseMark is the case as stored, so that Confirm sees a cancellation.
type CaseMark struct {
	ID       string
	State    State
	Decision int64
	Held     bool
}

// ECS's words for the status of a container instance.
const (
	StatusActive   = "ACTIVE"
	StatusDraining = "DRAINING"
	StatusInactive = "INACTIVE"
)

// Auto Scaling's words for the lifecycle of an instance.
const (
	LifecycleInService       = "InService"
	LifecycleTerminatingWait = "Terminating:Wait"
)

// HostView is the host of the case.
type HostView struct {
	ARN          string // container instance
	Instance     string // EC2 id; the case ends when it is another than the case's
	BootID       string
	Gone         bool // EC2 says terminated, or knows it not
	Registered   bool // ECS knows the container instance
	Status       string
	CordonMark   string // value of attribute bulkhead.cordon: a case id, or empty
	Managed      bool   // ECS Managed Instances: ECS repairs these itself
	OptOut       bool   // the opt-out tag is set
	TermProtect  bool   // EC2 termination protection
	Lifecycle    string // in its Auto Scaling group; empty: in none
	HookOurs     bool   // the hook that holds it is Bulkhead's
	HookSince    time.Time
	Verdict      health.Verdict
	Scope        Scope
	Tasks        []Task // not yet STOPPED, daemons included
	LedgerShares int    // shares that still hold memory on its cards
	MPSClients   int    // clients that a restart of MPS would break; -1 unknown
	Evidence     bool   // the bundle of this case is in the bucket
}

// Task is one task on the host that is not STOPPED.
type Task struct {
	ARN            string
	Family         string
	Service        string // empty: standalone
	Daemon         bool
	Protected      bool
	ProtectedUntil time.Time
	Stopping       bool
	OnFaultedCard  bool
	PIDs           []int // MPS clients proven to be its own
}

// GroupView is the Auto Scaling group of the host.
type GroupView struct {
	Name            string
	Exists          bool
	LaunchSuspended bool
}

// NewcomerView is the instance that replaces the host.
type NewcomerView struct {
	Instance     string
	Registered   bool
	Capability   bool // ecs.capability.gpu-sharing-mps
	GPUs         int
	ExpectedGPUs int
	Preflight    Preflight
}

// Preflight is the agent's check before the first task.
type Preflight string

// What preflight says.
const (
	PreflightPending Preflight = ""
	PreflightPassed  Preflight = "passed"
	PreflightFailed  Preflight = "failed"
)

// passes reports whether the newcomer may take the host's place, or what is
// missing.
func (n NewcomerView) passes() (bool, string) {
	switch {
	case !n.Registered:
		return false, "not registered with ECS"
	case !n.Capability:
		return false, "without the capability gpu-sharing-mps"
	case n.ExpectedGPUs > 0 && n.GPUs != n.ExpectedGPUs:
		return false, "has another number of GPUs than its type"
	case n.GPUs == 0:
		return false, "has no GPU"
	case n.Preflight != PreflightPassed:
		return false, "preflight has not passed"
	}
	return true, ""
}

// holders are the tasks that keep the host occupied.
func (h HostView) holders() []Task {
	var out []Task
	for _, t := range h.Tasks {
		if !t.Daemon {
			out = append(out, t)
		}
	}
	return out
}

// empty reports whether nothing is left on the host: no task but daemons, and no
// share in the ledger. Both, because ECS's books are early.
func (h HostView) empty() bool { return len(h.holders()) == 0 && h.LedgerShares == 0 }

// reason reports whether the cause itself stands.
func (h HostView) reason(c Cause) bool {
	for _, r := range h.Verdict.Reasons {
		if r.Token == c.Token && r.Device == c.Device && demands(r) {
			return true
		}
	}
	return false
}

// sick reports whether one of the faults still asks for the host or a card. What
// another case answered for, perhaps by a person's word, is none of this one's.
func (h HostView) sick(faults []string) bool {
	for _, r := range h.Verdict.Reasons {
		if demands(r) && slices.Contains(faults, r.Fault) {
			return true
		}
	}
	return false
}

// demands reports whether a reason asks that something be done to the host.
func demands(r health.Reason) bool {
	for _, a := range r.Actions {
		if a == health.CloseGPU || a == health.Replace {
			return true
		}
	}
	return false
}

// well reports whether the faults are over. Not knowing is not well.
func (h HostView) well(faults []string) bool {
	return !h.sick(faults) && h.Verdict.Host.Level != health.Unknown && !h.Verdict.At.IsZero()
}

// serves reports whether the host counts as serving for min-healthy.
func (h HostView) serves() bool {
	return !h.Gone && h.Status == StatusActive && h.Verdict.Host.Level < health.Failed
}
