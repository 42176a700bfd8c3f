// Package remedies runs the whole ladder over the wire: real SDK clients against the
// simulated fleet's ECS, EC2, Auto Scaling and Systems Manager, in virtual time, with
// throttles, lost answers, and the process dying between any two calls.
package remedies
