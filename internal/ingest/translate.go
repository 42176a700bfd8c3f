package ingest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bulkhead-ecs/bulkhead/events"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

// Future is how far ahead of now an event's time may be: clocks differ, but a time
// of next year would hold everything that is ordered by time.
const Future = 10 * time.Minute

// Unreadable is the answer to bytes that are no event.
func Unreadable(err error) Translation {
	token := RejectedMalformed
	switch {
	case errors.Is(err, events.ErrTooLarge):
		token = RejectedTooLarge
	case errors.Is(err, events.ErrDetail):
		token = RejectedDetail
	}
	return Translation{Verdict: Reject, Token: token, Text: Bounded(err.Error(), 256)}
}

// Translate judges one event.
func Translate(ev events.Event, s Scope, now time.Time) Translation {
	cmds, err := translate(ev, s, now)
	var no rejected
	var skip ignored
	switch {
	case errors.As(err, &no):
		return Translation{Verdict: Reject, Token: no.token, Text: no.text}
	case errors.As(err, &skip):
		return Translation{Verdict: Ignore, Token: skip.token, Text: skip.text}
	case errors.Is(err, errUnknown):
		return Translation{Verdict: Unknown, Token: "UnknownKind", Text: Bounded(ev.Source+" "+ev.DetailType, 120)}
	case err != nil:
		return Translation{Verdict: Reject, Token: RejectedDetail, Text: Bounded(err.Error(), 256)}
	}
	return Translation{Verdict: Apply, Commands: cmds}
}

// ignored is an event that is fine and not ours to use.
type ignored struct{ token, text string }

func (i ignored) Error() string { return i.token + ": " + i.text }

var errUnknown = errors.New("unknown kind")

func translate(ev events.Event, s Scope, now time.Time) ([]Command, error) {
	if !now.IsZero() && ev.Time.After(now.Add(Future)) {
		return nil, rejected{RejectedTime, fmt.Sprintf("its time %s is ahead of the clock", ev.Time.Format(time.RFC3339))}
	}
	if ev.Source == events.SourceBulkhead {
		return nil, ignored{IgnoredOwnEvent, ev.DetailType}
	}
	// Before anything else, also what would be ignored: who speaks for others is told so.
	if err := s.believes(ev.Account, ev.Region); err != nil {
		return nil, err
	}
	switch d := ev.Detail.(type) {
	case events.TaskState:
		return taskCommands(ev, d, s)
	case events.ContainerInstanceState:
		return hostCommands(ev, d, s)
	case events.ContainerInstanceHealth:
		return healthCommands(ev, d, s)
	case events.EC2State:
		state := string(d.State)
		return instance(ev, s, string(d.InstanceID), Command{EC2State: &ledger.EC2State{State: Bounded(state, 32), At: ms(ev.Time)}})
	case events.SpotInterruption:
		return leaving(ev, s, string(d.InstanceID), "spot-interruption")
	case events.Rebalance:
		return leaving(ev, s, string(d.InstanceID), "rebalance")
	case events.Lifecycle:
		if !d.Terminating() {
			return nil, ignored{IgnoredNoCapacity, "a launch"}
		}
		return leaving(ev, s, string(d.EC2InstanceID), "lifecycle-terminating")
	case events.AWSHealth:
		return accountHealth(ev, d, s)
	case events.ServiceAction, events.DeploymentState, events.SSMCommand, events.SSMAssociation, events.APICall:
		return nil, ignored{IgnoredNoCapacity, ev.DetailType}
	}
	return nil, errUnknown
}

func taskCommands(ev events.Event, d events.TaskState, s Scope) ([]Command, error) {
	if err := s.foreign(ev.Account, ev.Region, string(d.TaskArn), string(d.ClusterArn), string(d.ContainerInstanceArn), string(d.TaskDefinitionArn)); err != nil {
		return nil, err
	}
	f := taskFacts{
		arn: string(d.TaskArn), definition: string(d.TaskDefinitionArn), group: string(d.Group), startedBy: string(d.StartedBy),
		launchType: string(d.LaunchType), last: string(d.LastStatus), desired: string(d.DesiredStatus), stopCode: string(d.StopCode),
		stopReason: string(d.StoppedReason), version: d.Version.Value,
		stopping: d.StoppingAt.Time, stopped: d.StoppedAt.Time, at: ev.Time,
	}
	if err := f.check(); err != nil {
		return nil, err
	}
	instance := string(d.ContainerInstanceArn)
	cluster := clusterARN(string(d.ClusterArn), instance)
	switch {
	case d.LaunchType == "FARGATE" || d.LaunchType == "EXTERNAL":
		return nil, ignored{IgnoredFargate, string(d.LaunchType)}
	case instance == "":
		return nil, ignored{IgnoredNotPlaced, "on no container instance yet"}
	}
	host, err := hostID(cluster, instance, s)
	if err != nil {
		return nil, err
	}
	if len(d.Containers) > MaxShares {
		return nil, rejected{RejectedDetail, fmt.Sprintf("%d containers, a task has at most 10", len(d.Containers))}
	}
	t := f.task()
	cmd := Command{Host: host, At: ms(ev.Time), Task: &t, Definition: t.Definition}
	for _, c := range d.Containers {
		cmd.Containers = append(cmd.Containers, ContainerGPUs{Name: Bounded(string(c.Name), 255), IDs: c.GpuIDs})
	}
	return []Command{cmd}, nil
}

func hostID(cluster, instance string, s Scope) (ledger.HostID, error) {
	id := ledger.HostID{Cluster: cluster, Instance: instance}
	switch {
	case !strings.HasPrefix(cluster, "arn:") || !strings.Contains(cluster, ":cluster/") || len(cluster) > MaxARN:
		return id, rejected{RejectedIdentity, fmt.Sprintf("clusterArn %q is no cluster's ARN", Bounded(cluster, 80))}
	case !strings.HasPrefix(instance, "arn:") || !strings.Contains(instance, ":container-instance/") || len(instance) > MaxARN:
		return id, rejected{RejectedIdentity, fmt.Sprintf("containerInstanceArn %q is no container instance's ARN", Bounded(instance, 80))}
	case contradicts(cluster, instance):
		return id, rejected{RejectedIdentity, fmt.Sprintf("container instance %s is not of cluster %s", Bounded(instance, 160), Bounded(cluster, 120))}
	case !s.watches(cluster):
		return id, ignored{IgnoredNotOurCluster, cluster}
	}
	return id, nil
}

// contradicts reports whether a container instance's ARN, in its long form, names
// another cluster: believed, it would make two hosts of one.
func contradicts(cluster, instance string) bool {
	_, rest, _ := strings.Cut(instance, ":container-instance/")
	name, _, long := strings.Cut(rest, "/")
	return long && name != cluster[strings.LastIndexByte(cluster, '/')+1:]
}

func hostCommands(ev events.Event, d events.ContainerInstanceState, s Scope) ([]Command, error) {
	if err := s.foreign(ev.Account, ev.Region, string(d.ContainerInstanceArn), string(d.ClusterArn)); err != nil {
		return nil, err
	}
	id, err := hostID(clusterARN(string(d.ClusterArn), string(d.ContainerInstanceArn)), string(d.ContainerInstanceArn), s)
	if err != nil {
		return nil, err
	}
	shape := HostShape{
		ContainerInstanceArn: id.Instance, Ec2InstanceId: Bounded(string(d.EC2InstanceID), 32), CapacityProviderName: Bounded(string(d.CapacityProviderName), 255),
		Status: string(d.Status), AgentConnected: bool(d.AgentConnected), Version: d.Version.Value, RegisteredAt: Time{d.RegisteredAt.Time},
		VersionInfo: VersionShape{AgentVersion: string(d.VersionInfo.AgentVersion)},
	}
	for _, a := range d.Attributes {
		shape.Attributes = append(shape.Attributes, AttributeShape{Name: string(a.Name), Value: string(a.Value)})
	}
	if d.RegisteredResources != nil {
		shape.RegisteredResources = []ResourceShape{}
	}
	for _, r := range d.RegisteredResources {
		if r.Name == "GPU" {
			shape.RegisteredResources = append(shape.RegisteredResources, ResourceShape{Name: "GPU", StringSetValue: r.StringSetValue})
		}
	}
	_, seen, _, err := HostOf(shape, id.Cluster, ev.Time)
	if err != nil {
		return nil, err
	}
	return []Command{{Host: id, At: ms(ev.Time), Seen: &seen}}, nil
}

func healthCommands(ev events.Event, d events.ContainerInstanceHealth, s Scope) ([]Command, error) {
	if err := s.foreign(ev.Account, ev.Region, string(d.ContainerInstanceArn), string(d.ClusterArn)); err != nil {
		return nil, err
	}
	id, err := hostID(clusterARN(string(d.ClusterArn), string(d.ContainerInstanceArn)), string(d.ContainerInstanceArn), s)
	if err != nil {
		return nil, err
	}
	if len(d.HealthChecks) > 16 {
		return nil, rejected{RejectedDetail, fmt.Sprintf("%d health checks", len(d.HealthChecks))}
	}
	cmd := Command{Host: id, At: ms(ev.Time)}
	for _, c := range d.HealthChecks {
		changed := c.LastStatusChange.Time
		if changed.IsZero() {
			changed = ev.Time
		}
		cmd.Health = append(cmd.Health, ledger.HealthCheck{Type: Bounded(string(c.Type), 64), Status: Bounded(string(c.Status), 32),
			Reason: Bounded(string(c.StatusReason), 256), Changed: ms(changed)})
	}
	if len(cmd.Health) == 0 {
		return nil, ignored{IgnoredNoCapacity, "no health check in it"}
	}
	return []Command{cmd}, nil
}

// instance makes a command about an EC2 instance.
func instance(ev events.Event, s Scope, id string, cmd Command) ([]Command, error) {
	if err := s.foreign(ev.Account, ev.Region); err != nil {
		return nil, err
	}
	if !strings.HasPrefix(id, "i-") || len(id) > 32 {
		return nil, rejected{RejectedIdentity, fmt.Sprintf("%q is no EC2 instance id", Bounded(id, 40))}
	}
	cmd.EC2, cmd.At = id, ms(ev.Time)
	return []Command{cmd}, nil
}

func leaving(ev events.Event, s Scope, id, cause string) ([]Command, error) {
	return instance(ev, s, id, Command{Leaving: &ledger.Leaving{Cause: cause, At: ms(ev.Time)}})
}

// accountHealth reads scheduled changes of EC2 instances. What is closed, and what
// is only information, moves nobody.
func accountHealth(ev events.Event, d events.AWSHealth, s Scope) ([]Command, error) {
	if d.Service != "EC2" || d.TypeCategory != "scheduledChange" || d.StatusCode == "closed" {
		return nil, ignored{IgnoredNoCapacity, string(d.Service) + " " + string(d.TypeCode)}
	}
	if len(d.Entities) > 1000 {
		return nil, rejected{RejectedDetail, fmt.Sprintf("%d affected entities", len(d.Entities))}
	}
	var out []Command
	for _, e := range d.Entities {
		if !strings.HasPrefix(string(e.Value), "i-") {
			continue
		}
		cmds, err := leaving(ev, s, string(e.Value), "scheduled-event")
		if err != nil {
			return nil, err
		}
		out = append(out, cmds...)
	}
	if len(out) == 0 {
		return nil, ignored{IgnoredNoCapacity, "no instance in it"}
	}
	return out, nil
}
