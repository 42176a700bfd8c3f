package fleet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/memstore"
)

const (
	arnHead = "arn:aws:ecs:us-east-1:111122223333:"
	cluster = arnHead + "cluster/gpu-prod"
	chat    = arnHead + "task-definition/chat:7"
	card    = gpu.UUID("GPU-3f1c6b2e-0a5d-4b7e-9c38-2f6d1e7a9b40")
)

func instance(n int) string    { return arnHead + fmt.Sprintf("container-instance/gpu-prod/%032x", n) }
func taskARN(n int) string     { return arnHead + fmt.Sprintf("task/gpu-prod/%032x", n) }
func host(n int) ledger.HostID { return ledger.HostID{Cluster: cluster, Instance: instance(n)} }

// world is a store that can fail, and an ECS that says what it is told to.
type world struct {
	*memstore.Store
	now time.Time
	// faults are taken in order by the calls they name, before or after the effect.
	faults []fault
	writes int
	reads  int

	mu      sync.Mutex
	hosts   map[string]SeenHost
	tasks   map[string]SeenTask
	hidden  map[string]bool // in no list, yet described by name
	asked   []string
	buried  []string
	buryErr error
}

type fault struct {
	call  string
	after bool
	err   error
}

func newWorld() *world {
	return &world{Store: memstore.New(), now: time.Date(2026, 12, 1, 3, 0, 0, 0, time.UTC), hosts: map[string]SeenHost{}, tasks: map[string]SeenTask{}, hidden: map[string]bool{}}
}

func (w *world) fail(call string, after bool) error {
	if len(w.faults) > 0 && w.faults[0].call == call && w.faults[0].after == after {
		err := w.faults[0].err
		w.faults = w.faults[1:]
		return err
	}
	return nil
}

func (w *world) Host(ctx context.Context, id ledger.HostID) (ledger.Host, error) {
	w.reads++
	if err := w.fail("host", false); err != nil {
		return ledger.Host{}, err
	}
	return w.Store.Host(ctx, id)
}

func (w *world) Commit(ctx context.Context, h ledger.Host) (ledger.Host, error) {
	w.writes++
	if err := w.fail("commit", false); err != nil {
		return h, err
	}
	h, err := w.Store.Commit(ctx, h)
	if lost := w.fail("commit", true); lost != nil {
		return h, lost
	}
	return h, err
}

func (w *world) Put(_ context.Context, m Message, reason string) error {
	w.buried = append(w.buried, m.ID+": "+reason)
	return w.buryErr
}

func (w *world) ListHosts(_ context.Context, _, next string) ([]string, string, error) {
	var all []string
	for arn := range w.hosts {
		if !w.hidden[arn] {
			all = append(all, arn)
		}
	}
	return pageOf(all, next)
}

func (w *world) ListTasks(_ context.Context, _, desired, next string) ([]string, string, error) {
	var all []string
	for arn, t := range w.tasks {
		if !w.hidden[arn] && (t.Task.Phase == ledger.PhaseActive) == (desired == "RUNNING") {
			all = append(all, arn)
		}
	}
	return pageOf(all, next)
}

// pageOf cuts a list into pages of two.
func pageOf(all []string, next string) ([]string, string, error) {
	slices.Sort(all)
	i, found := slices.BinarySearch(all, next)
	if found {
		i++
	}
	end := min(i+2, len(all))
	if end < len(all) {
		return all[i:end], all[end-1], nil
	}
	return all[i:end], "", nil
}

func (w *world) DescribeHosts(_ context.Context, _ string, arns []string) (found []SeenHost, missing []string, err error) {
	for _, arn := range arns {
		if h, ok := w.hosts[arn]; ok {
			found = append(found, h)
		} else {
			missing = append(missing, arn)
		}
	}
	return found, missing, nil
}

func (w *world) Tasks(_ context.Context, _ string, arns []string) (found []SeenTask, missing []string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, arns...)
	for _, arn := range arns {
		if t, ok := w.tasks[arn]; ok {
			found = append(found, t)
		} else {
			missing = append(missing, arn)
		}
	}
	return found, missing, nil
}

func (w *world) Definition(_ context.Context, arn string) (ledger.Definition, error) {
	switch arn {
	case chat:
		return ledger.Definition{ARN: arn, Family: "chat", Containers: []ledger.ContainerNeed{{Name: "app", Need: ledger.NeedShare, Memory: 4000, Compute: 25}}}, nil
	case arnHead + "task-definition/web:1":
		return ledger.Definition{ARN: arn, Family: "web"}, nil
	}
	return ledger.Definition{}, errors.New("AccessDeniedException: not authorized to perform ecs:DescribeTaskDefinition")
}

func (w *world) clock() time.Time { return w.now }

func (w *world) ingest() *Ingest {
	return &Ingest{Store: w, Definitions: w, Oracle: w, Failures: w, Policy: ledger.DefaultPolicy(), Clock: w.clock, Log: slog.New(slog.DiscardHandler)}
}

func (w *world) sweep() *Sweep {
	return &Sweep{Store: w, ECS: w, Definitions: w, Bookmarks: w.Store, Policy: ledger.DefaultPolicy(), Clock: w.clock, Log: slog.New(slog.DiscardHandler)}
}

// runs tells ECS of a task that runs on a host's card.
func (w *world) runs(n, onHost int, version int64) {
	w.tasks[taskARN(n)] = SeenTask{Host: host(onHost), Task: ledger.Task{ARN: taskARN(n), Version: version, LastStatus: "RUNNING", Definition: chat, Group: "service:chat"},
		Containers: []SeenContainer{{Name: "app", GPUs: []string{string(card)}}}}
}

// registers tells ECS of a host with one card.
func (w *world) registers(n int) {
	w.hosts[instance(n)] = SeenHost{ID: host(n), Seen: ledger.HostSeen{Fixed: ledger.Fixed{EC2InstanceID: fmt.Sprintf("i-%017x", n)},
		Registration: ledger.Registration{Version: 3, Status: "ACTIVE", AgentConnected: true, SharingCapable: true},
		GPUs:         []gpu.UUID{card}, Described: []ledger.DeviceTotal{{UUID: card, Total: 22563, Mode: gpu.ModeIdle}}}}
}

// event is a task event of the world's account.
func event(n, onHost, version int, last, desired string, at time.Time, definition string) Message {
	return Message{ID: fmt.Sprintf("m-%d-%d", n, version), Body: fmt.Appendf(nil, `{"version":"0","id":"e","detail-type":"ECS Task State Change","source":"aws.ecs","account":"111122223333","time":%q,"region":"us-east-1","resources":[%q],
"detail":{"clusterArn":%q,"taskArn":%q,"containerInstanceArn":%q,"taskDefinitionArn":%q,"launchType":"EC2","group":"service:chat","lastStatus":%q,"desiredStatus":%q,"version":%d,"containers":[{"name":"app","gpuIds":[%q]}]}}`,
		at.Format(time.RFC3339), taskARN(n), cluster, taskARN(n), instance(onHost), definition, last, desired, version, card)}
}
