package wire

import "time"

// bucket is one of ECS's token buckets, per account and Region.
type bucket struct {
	tokens float64
	at     time.Time
}

// rates of the buckets by group: burst, and refill a second. Source: the ECS
// developer guide, "Request throttling".
var rates = map[string][2]float64{"modify": {100, 40}, "read": {100, 20}, "definition": {50, 20}, "service-modify": {50, 5}, "service-read": {100, 20}, "cluster": {50, 20},
	"definition-modify": {20, 1}, "protection": {200, 80}, "provider-read": {50, 20}}

var groups = map[string]string{
	"ListClusters": "cluster", "DescribeClusters": "cluster", "DescribeTaskDefinition": "definition",
	"ListContainerInstances": "read", "DescribeContainerInstances": "read", "ListTasks": "read", "DescribeTasks": "read",
	"RunTask": "modify", "StartTask": "modify", "StopTask": "modify", "PutAttributes": "modify", "DeleteAttributes": "modify", "UpdateContainerInstancesState": "modify",
	"UpdateService": "service-modify", "CreateService": "service-modify", "DeleteService": "service-modify", "DescribeServices": "service-read", "ListServices": "service-read",
	"RegisterTaskDefinition": "definition-modify", "ListAttributes": "read", "DeregisterContainerInstance": "modify",
	"GetTaskProtection": "protection", "UpdateTaskProtection": "protection", "DescribeCapacityProviders": "provider-read",
}

// take takes a token for an operation, if there is one.
func (s *Server) take(operation string) bool {
	group, metered := groups[operation]
	if s.Unmetered || !metered {
		return true
	}
	now := s.fleet.Now()
	if s.Clock != nil {
		now = s.Clock()
	}
	b, rate := s.buckets[group], rates[group]
	if b == nil {
		b = &bucket{tokens: rate[0], at: now}
		s.buckets[group] = b
	}
	if d := now.Sub(b.at); d > 0 {
		b.tokens, b.at = min(rate[0], b.tokens+d.Seconds()*rate[1]), now
	}
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}
