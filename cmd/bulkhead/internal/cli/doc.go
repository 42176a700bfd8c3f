// Package cli is the bulkhead command: one file a verb, over the HTTP API.
//
// Everything a verb needs of the world comes in by [Streams], so that a test runs
// the whole command and reads what a person would see. Exit codes are stable: 0
// fine, 1 a finding (or a broken line), 2 wrong use, 3 the API or the network.
package cli
