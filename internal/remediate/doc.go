// Package remediate carries out what package remedy decides: it reads the world,
// asks for the next steps of each case, and takes them, one by one.
//
// One pass over a cluster (Pass.Cluster) assesses each host, judges the breakers,
// opens cases, does what people asked of hosts, and moves each open case on. It
// keeps nothing between passes: whatever a pass knew when it died is in the table,
// and the next pass, perhaps in another process, goes on from there. Two passes at
// once are safe: every case is stored under a condition on its version, before
// anything is done for it, and who loses that race drops its steps.
//
// The order for each step is always the same: the case is stored, the world is read
// anew, remedy.Confirm is asked, one log line tells what will be done with the
// numbers that allow it, the step is taken, another line tells what came of it, and
// the case is stored again. A crash between any two of these leaves an attempt
// without a result, which the next pass looks for in the world before it asks again.
//
// Desk takes the words of people: pause, cancel, cordon and their like. They change
// the table only; what they ask of the world is done by the next pass.
package remediate
