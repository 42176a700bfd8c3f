// Package ledger keeps who holds what on each physical GPU.
//
// The physical GPU is the fault domain and the host is the unit of commit: a
// [Host] with everything on it is one value, read and written whole. A Host
// stores only what was *said* of it: the registration ECS reported, the tasks,
// our reservations. What follows from that (which share sits on which card, in
// which state, how much is held, which law is broken) is computed by
// [Host.View] and [Check] and never stored, so it cannot drift.
//
// Two kinds of input are never confused. An observation (a task event, a
// description by ECS, a report of the host) is always recorded, even when it
// breaks a law; the breach is then a [Finding]. A decision of ours ([Reserve])
// must obey capacity and policy, or is refused with reasons.
//
// # Convergence
//
// Events come at least once, late and out of order. Every merge here is a join:
// commutative, associative and idempotent. Per task the greatest of (stopped,
// version, content) wins; STOPPED is final whatever comes after. So any order
// and any repetition of a set of events gives the same ledger. A finished task
// stays in the Host as its own tombstone until [Prune] drops it.
//
// The package is pure: the time is an argument, and context appears only in the
// [Store] port.
package ledger
