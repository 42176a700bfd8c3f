// Package replay feeds recorded events through the real handlers and tells the
// ledger that they make.
//
// It reads what people have: a file of EventBridge envelopes, one a line, as an
// archive or a queue's dump gives them, and saved answers of `aws ecs describe-*`.
// The clock is the latest event time seen so far, never the wall clock, so a
// replay of last year's incident gives last year's answer.
package replay
