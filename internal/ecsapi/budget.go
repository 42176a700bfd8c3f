package ecsapi

import (
	"context"

	"golang.org/x/time/rate"
)

// Budget is ECS's throttling bucket of a group of calls, per account and Region.
// One Budget is shared by everything in the process that makes these calls.
// Source: the ECS developer guide, "Request throttling".
type Budget struct {
	Read       *rate.Limiter // DescribeContainerInstances, DescribeTasks, ListTasks, ListContainerInstances, ListAttributes
	Modify     *rate.Limiter // RunTask, StartTask, StopTask, PutAttributes, UpdateContainerInstancesState …
	Definition *rate.Limiter // DescribeTaskDefinition
	Cluster    *rate.Limiter // ListClusters, DescribeClusters
}

// NewBudget makes the buckets full, as ECS's are after a pause. share is the part
// of the refill that this process may use, from 0 to 1; the rest is left to what
// else in the account calls ECS.
func NewBudget(share float64) *Budget {
	if share <= 0 || share > 1 {
		share = 1
	}
	bucket := func(refill float64, burst int) *rate.Limiter {
		return rate.NewLimiter(rate.Limit(refill*share), max(1, int(float64(burst)*share)))
	}
	return &Budget{Read: bucket(20, 100), Modify: bucket(40, 100), Definition: bucket(20, 50), Cluster: bucket(20, 50)}
}

// wait takes a token, or returns when the context ends first.
func wait(ctx context.Context, l *rate.Limiter) error { return l.Wait(ctx) }
