// Package events is the wire contract: the EventBridge events that Bulkhead reads
// and the ones it publishes.
//
// [Parse] turns bytes into a closed set of kinds by (source, detail-type). A kind
// that is not known is [Unknown], never an error; a member that is not known is
// harmless; numbers written as text, absent and null members are all read. What
// an event means is not judged here but in package ingest. samples/ holds whole
// payloads, several a kind, and every test that needs an event takes one there.
package events
