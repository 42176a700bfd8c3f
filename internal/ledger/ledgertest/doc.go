// Package ledgertest is the contract of ledger.Store as a test suite. Every store
// passes it: the one in memory, the one on the DynamoDB stand-in, and DynamoDB
// itself when BULKHEAD_TEST_DYNAMODB_ENDPOINT names it.
package ledgertest
