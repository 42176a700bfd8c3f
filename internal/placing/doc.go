// Package placing starts tasks on the hosts that package placement chooses.
//
// A request (Request) asks for copies of a task. Desk.Submit keeps it under an id
// that follows from its client token, so that asking twice is asking once, and puts
// it into the queue of its cluster. Placer is the one writer of a cluster: it takes
// requests in batches, decides in memory, writes each touched host once with the
// reservations on it, and calls StartTask with the reservation's id as startedBy.
//
// StartTask has no idempotency token. What must stay true:
//
//   - the record says where and when a copy is asked for before the call is made;
//   - a copy whose answer was lost is looked for by startedBy, and asked for again
//     only when it is not there after ECS had time to tell of it;
//   - a copy keeps one reservation id for all its tries, so that a task of an earlier
//     try is always found.
//
// A reservation ends in one of three ways: the task's own event binds it (package
// ledger drops it then), the placer releases it with ECS's reason, or its lease runs
// out. After a crash at any point the same message does what is left.
//
// Simulate, Breaches and Remedy are pure: what would fit, what stands against the
// policy, and what would set it right with the least disturbance.
package placing
