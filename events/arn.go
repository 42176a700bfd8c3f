package events

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// MaxARN bounds what is read as an ARN, in bytes. AWS's own bound is 2048.
const MaxARN = 2048

// ErrARN is what is no ARN: correct the name, its form is
// arn:partition:service:region:account:resource.
var ErrARN = errors.New("not an ARN, whose form is arn:partition:service:region:account:resource")

// ARN is a parsed Amazon Resource Name. Resource keeps its slashes and colons.
type ARN struct{ Partition, Service, Region, Account, Resource string }

// ParseARN reads an ARN.
func ParseARN(s string) (ARN, error) {
	if len(s) > MaxARN {
		return ARN{}, fmt.Errorf("%w: %d bytes, at most %d", ErrARN, len(s), MaxARN)
	}
	p := strings.SplitN(s, ":", 6)
	if len(p) != 6 || p[0] != "arn" || p[1] == "" || p[2] == "" || p[5] == "" {
		return ARN{}, fmt.Errorf("%w: %q", ErrARN, shown([]byte(s)))
	}
	return ARN{Partition: p[1], Service: p[2], Region: p[3], Account: p[4], Resource: p[5]}, nil
}

// String writes it back.
func (a ARN) String() string {
	return "arn:" + a.Partition + ":" + a.Service + ":" + a.Region + ":" + a.Account + ":" + a.Resource
}

// named splits type/cluster/id, and type/id as ECS wrote it before ARNs told the
// cluster.
func (a ARN) named(kind string) (cluster, id string) {
	rest, ok := strings.CutPrefix(a.Resource, kind+"/")
	if !ok || a.Service != "ecs" {
		return "", ""
	}
	if cluster, id, ok = strings.Cut(rest, "/"); !ok {
		return "", rest
	}
	return cluster, id
}

// TaskID is the id of a task's ARN, empty for any other.
func (a ARN) TaskID() string { _, id := a.named("task"); return id }

// ContainerInstanceID is the id of a container instance's ARN, empty for any other.
func (a ARN) ContainerInstanceID() string { _, id := a.named("container-instance"); return id }

// ClusterName is the cluster that the ARN tells, empty where it tells none, as the
// short form of old ECS ARNs.
func (a ARN) ClusterName() string {
	if a.Service != "ecs" {
		return ""
	}
	if name, ok := strings.CutPrefix(a.Resource, "cluster/"); ok {
		return name
	}
	for _, kind := range []string{"task", "container-instance", "service"} {
		if cluster, _ := a.named(kind); cluster != "" {
			return cluster
		}
	}
	return ""
}

// FamilyRevision splits a task definition's ARN; ok is false for any other.
func (a ARN) FamilyRevision() (family string, revision int, ok bool) {
	rest, found := strings.CutPrefix(a.Resource, "task-definition/")
	family, number, colon := strings.Cut(rest, ":")
	n, err := strconv.ParseInt(number, 10, 32)
	if a.Service != "ecs" || !found || !colon || family == "" || err != nil || n < 1 {
		return "", 0, false
	}
	return family, int(n), true
}
