// Package scenario tells days in a fleet as scripts, in the words of the field.
//
// A script is a file in testdata: what happens, line by line, and under it what
// the ledger then says. The expected text is rewritten with -rewrite and reviewed
// as a diff. The verbs are one a file here; everything they touch is the real
// thing: the use cases, a store, and an ECS that says what the script made true.
package scenario
