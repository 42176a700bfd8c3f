// Package wire is the HTTP face of a simulated fleet: it answers real AWS SDK
// clients that are pointed at it by BaseEndpoint.
//
// ECS is spoken as AWS JSON 1.1, with pages of 100, ECS's limits on describe calls,
// its error codes and its token buckets. What a call
// does is decided by the fleet; here it is only read and written. A Server serves
// one fleet and holds its lock, since a Fleet belongs to one caller at a time.
package wire
