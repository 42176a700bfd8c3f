// Package drift compares what the ledger holds of a host with what the host's own
// agent saw on its cards: the third witness beside ECS and the ledger.
//
//	ECS ──▶ ledger.View ─┐
//	                     ├─▶ Compare ─▶ findings, each a named gap
//	host ─▶ HostReport ──┘
//
// It is pure. A report says what stood on the cards when it was made, so a gap is
// named only where the report is fresh, and where the ledger had time to hear of
// the task, or to see it go. Absence is no gap: a task that has made no CUDA
// context yet shows nothing on its card. What a host says of itself is believed
// about that host only, and changes nothing by itself: findings are shown.
package drift
