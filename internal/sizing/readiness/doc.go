// Package readiness judges whether a cluster is ready to share GPUs: who owns each
// GPU service's capacity and watches its MPS daemon, which hosts are below the floors
// or not capable and why, and which tiers stand together on one card. [Judge] is pure:
// hosts and what their agents said come in, a [Report] goes out.
package readiness
