package ledger

import (
	"cmp"
	"slices"
)

// Kind names what is wrong. Tokens are stable: they are counted, filtered and
// documented.
type Kind string

// Breaches of the laws, and things that cannot be judged.
const (
	OverMemory          Kind = "OverMemory"          // held memory above the card's total
	ModeConflict        Kind = "ModeConflict"        // whole and shared, or two whole, on one card
	ShareNotPositive    Kind = "ShareNotPositive"    // declared memory of zero or less
	ShareAboveCard      Kind = "ShareAboveCard"      // one share larger than its card
	ComputeOutOfRange   Kind = "ComputeOutOfRange"   // declared ceiling outside 1..100
	TooManyClients      Kind = "TooManyClients"      // more MPS clients than the card admits
	TierConflict        Kind = "TierConflict"        // tiers on one card that may not meet
	NoLease             Kind = "ReservationNoLease"  // a reservation without a lease
	ReservationExpired  Kind = "ReservationExpired"  // its lease ran out before a task came
	ShareSizeUnknown    Kind = "ShareSizeUnknown"    // no definition told the memory
	UnknownDevice       Kind = "UnknownDevice"       // a card that the registration does not list
	DeviceVanished      Kind = "DeviceVanished"      // a card that a newer registration dropped
	InvalidGPUID        Kind = "InvalidGPUID"        // not the id of a card
	SplitTask           Kind = "SplitTask"           // containers of one sharing task on several cards
	RunningAfterStopped Kind = "RunningAfterStopped" // ECS contradicted itself about a task
	TaskLost            Kind = "TaskLost"            // its host ended without word of the task
	TotalNotPositive    Kind = "TotalNotPositive"    // a described card without memory
	StoppingHold        Kind = "StoppingHold"        // stopping for longer than it should take
	ItemDamaged         Kind = "ItemDamaged"         // the store's own item of a host is unreadable
	SeveralSources      Kind = "SeveralSources"      // events of more than one account or Region in one replay
	DescribeUnreadable  Kind = "DescribeUnreadable"  // a saved describe answer that could not be used
	TaskOnTwoHosts      Kind = "TaskOnTwoHosts"      // one task holds on more than one host
	EventRejected       Kind = "EventRejected"       // an event that is not believed, with why

	// Gaps between the ledger and the host's own report: package drift.
	DeviceNotRegistered Kind = "DeviceNotRegistered" // the host has a card that ECS does not list
	DeviceNotSeen       Kind = "DeviceNotSeen"       // ECS lists a card that the driver does not show
	TotalMismatch       Kind = "TotalMismatch"       // ECS and the driver count another memory
	ModeMismatch        Kind = "ModeMismatch"        // a task on a card that another one holds whole
	TaskNotInLedger     Kind = "TaskNotInLedger"     // it holds memory and the ledger does not know it
	HeldAfterStop       Kind = "HeldAfterStop"       // stopped by ECS's word, and still on the card
	LimitMismatch       Kind = "LimitMismatch"       // the memory limit in force is missing or looser than declared
	CeilingMismatch     Kind = "CeilingMismatch"     // the compute ceiling in force is missing or looser than declared
	OverShare           Kind = "OverShare"           // it uses more memory than it declares
	MPSBypass           Kind = "MPSBypass"           // a process of a task beside MPS
	ForeignProcess      Kind = "ForeignProcess"      // a process of no task on a card
)

// Kinds are all kinds of findings, in one order.
func Kinds() []Kind {
	return []Kind{OverMemory, ModeConflict, ShareNotPositive, ShareAboveCard, ComputeOutOfRange, TooManyClients, TierConflict, NoLease,
		ReservationExpired, ShareSizeUnknown, UnknownDevice, DeviceVanished, InvalidGPUID, SplitTask, RunningAfterStopped, TaskLost,
		TotalNotPositive, StoppingHold, ItemDamaged, SeveralSources, DescribeUnreadable, TaskOnTwoHosts, EventRejected,
		DeviceNotRegistered, DeviceNotSeen, TotalMismatch, ModeMismatch, TaskNotInLedger, HeldAfterStop, LimitMismatch, CeilingMismatch,
		OverShare, MPSBypass, ForeignProcess}
}

// Severity orders findings for people.
type Severity string

// Error: a law is broken now. Warning: it may be, or will be. Info: worth knowing.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Info    Severity = "info"
)

// Finding is a named breach or doubt. Subject is what it is about: a card's
// UUID, a task's or container instance's ARN, or a reservation's id.
type Finding struct {
	Kind     Kind
	Severity Severity
	Subject  string
	Reason   string
	// Host and Cluster say where; empty when it is about no host.
	Host    string
	Cluster string
}

// SortFindings puts findings in their one order: severity, kind, subject, reason.
func SortFindings(fs []Finding) {
	rank := map[Severity]int{Error: 0, Warning: 1, Info: 2}
	slices.SortStableFunc(fs, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(rank[a.Severity], rank[b.Severity]), cmp.Compare(a.Kind, b.Kind),
			cmp.Compare(a.Subject, b.Subject), cmp.Compare(a.Host, b.Host), cmp.Compare(a.Reason, b.Reason))
	})
}
