// Package awsops is remediate's eyes and hands in AWS: it reads a host from ECS, EC2,
// Auto Scaling and the evidence bucket, and takes one step at a time with their APIs
// and with Systems Manager's Run Command.
//
// It decides nothing. Each answer is sorted into what a caller can act upon: done,
// not found (which is done), transient (asked again later) or refused (a person's).
// What cannot be read is an error and never an absence: a throttled answer must not
// look like an instance that is gone.
//
// Calls that are not idempotent (SendCommand) are not retried by the SDK: a case
// asks again, and the command that was sent before is found by its comment.
package awsops
