// Package simulation makes scripts up from seeds, by the thousand, and holds the
// ledger to its laws after every line: events lost, doubled, late and backwards, a
// table that conflicts, throttles and loses replies, handlers that die between two
// calls, instances that come back with other cards.
//
// A script that breaks a law is made as short as can be found and printed: it plays
// as it stands in tests/scenario/testdata.
package simulation
