package ingest

import (
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

// Command is what one event asks of one host. Exactly one of the facts is set.
type Command struct {
	// Host is whom it is about. Where the event names only an EC2 instance, EC2 is
	// set instead and the caller looks the host up.
	Host ledger.HostID
	EC2  string
	// At is the event's own time.
	At time.Time
	// Definition is the task definition that sizes the task's shares; empty when
	// none is needed.
	Definition string

	Task       *ledger.Task
	Containers []ContainerGPUs // of Task
	Seen       *ledger.HostSeen
	Health     []ledger.HealthCheck
	EC2State   *ledger.EC2State
	Leaving    *ledger.Leaving
}

// Verdict is what ingest thinks of an event.
type Verdict uint8

// Unknown is a kind of event that this release does not know: harmless.
const (
	Apply Verdict = iota
	Ignore
	Unknown
	Reject
)

// Translation is the answer to one event.
type Translation struct {
	Verdict Verdict
	// Token is a short stable reason for everything but Apply; Text the sentence.
	Token, Text string
	Commands    []Command
}

// Tokens of ignored events.
const (
	IgnoredFargate       = "Fargate"
	IgnoredNotPlaced     = "NotPlacedYet"
	IgnoredNoGPU         = "NoGPU"
	IgnoredNotOurCluster = "ClusterNotWatched"
	IgnoredNoHost        = "HostNotKnown"
	IgnoredOwnEvent      = "OwnEvent"
	IgnoredNoCapacity    = "NoCapacityInIt"
)

// Tokens of rejected events.
const (
	RejectedForeign   = "ForeignAccountOrRegion"
	RejectedVersion   = "VersionAbsurd"
	RejectedIdentity  = "IdentityMalformed"
	RejectedDetail    = "DetailUnreadable"
	RejectedMalformed = "MessageUnreadable"
	RejectedTooLarge  = "MessageTooLarge"
	RejectedTime      = "TimeAbsurd"
)

// MaxVersion is the highest version believed: ECS counts a resource's state
// changes, so a figure beyond this would lock out every true event after it.
const MaxVersion = 1_000_000_000

// MaxShares bounds the GPU containers of a task (ECS allows 10 containers in all).
const MaxShares = 64

// SizedTask sizes the command's task with its definition and tier and returns it.
// def is nil when the definition could not be had.
func (c Command) SizedTask(def *ledger.Definition, tiers Tiers) ledger.Task {
	t := *c.Task
	t.Shares = Shares(c.Containers, def)
	var d ledger.Definition
	if def != nil {
		d = *def
	}
	t.Tier = tiers.Of(t.Group, t.Definition, d)
	t.StopTimeout = d.StopTimeout
	return t
}
