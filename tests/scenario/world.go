package scenario

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/fleet"
	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/memstore"
)

const (
	arnHead = "arn:aws:ecs:us-east-1:111122223333:"
	cluster = arnHead + "cluster/gpu"
)

// world is what a script plays in: ECS's truth on one side, the ledger on the
// other, and the events between them, which may get lost, doubled or late.
type world struct {
	now    time.Time
	store  *memstore.Store
	policy ledger.Policy
	hosts  map[string]*truthHost
	tasks  map[string]*truthTask
	defs   map[string]ledger.Definition
	mute   bool            // events are lost
	kept   []fleet.Message // the last of each told event, for repeats
	out    strings.Builder

	history map[string]map[int64]registered // of hosts, by version
	faults  []error                         // that the next commits meet
	holding bool                            // events wait
	held    []fleet.Message                 // those that wait
	failed  []fleet.Message                 // that the carrier brings again
	images  []fleet.Image                   // the table's stream
	said    map[string]saying               // what each event said, by its message's id
	acked   acknowledged
	hidden  map[string]bool     // in no list of ECS, though it describes them
	plain   map[string][]string // containers without GPU, by definition
}

// saying is what one event said, for the laws.
type saying struct {
	task, host, spot string
	version          int64
	stopped          bool
}

// acknowledged is what the handlers took over: it may never be forgotten.
type acknowledged struct {
	tasks   map[string]int64 // highest version, by task
	stopped map[string]bool
	hosts   map[string]int64 // highest version, by host
	spot    map[string]bool
}

// registered is a host as it was at one version.
type registered struct {
	status string
	cards  []string
}

type truthHost struct {
	name, status string
	version      int64
	cards        []string
	mib          gpu.MiB
	connected    bool
	registered   time.Time
}

type truthTask struct {
	name, host, def, last, desired string
	cards                          map[string]string // container → card
	version                        int64
	created, stopping, stopped     time.Time
	startedBy                      string
}

func newWorld() *world {
	return &world{now: time.Date(2026, 12, 1, 3, 0, 0, 0, time.UTC), store: memstore.New(), policy: ledger.DefaultPolicy(), hosts: map[string]*truthHost{},
		tasks: map[string]*truthTask{}, defs: map[string]ledger.Definition{}, said: map[string]saying{}, hidden: map[string]bool{}, plain: map[string][]string{}, history: map[string]map[int64]registered{},
		acked: acknowledged{tasks: map[string]int64{}, stopped: map[string]bool{}, hosts: map[string]int64{}, spot: map[string]bool{}}}
}

func (w *world) clock() time.Time { return w.now }

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

func (w *world) ingest() *fleet.Ingest {
	return &fleet.Ingest{Store: faulty{w.store, w}, Definitions: w, Oracle: w, Policy: w.policy, Clock: w.clock, Log: quiet()}
}

func (w *world) sweep() *fleet.Sweep {
	return &fleet.Sweep{Store: faulty{w.store, w}, ECS: w, Definitions: w, Policy: w.policy, Clock: w.clock, Log: quiet()}
}

func instanceARN(name string) string { return arnHead + "container-instance/gpu/" + name }
func taskARN(name string) string     { return arnHead + "task/gpu/" + name }
func defARN(name string) string      { return arnHead + "task-definition/" + name + ":1" }
func cardID(name string) string {
	return fmt.Sprintf("GPU-%08x-0000-4000-8000-000000000000", sum(name))
}

// sum makes a number of a name, the same always.
func sum(s string) uint32 {
	h := uint32(2166136261)
	for i := range len(s) {
		h = (h ^ uint32(s[i])) * 16777619
	}
	return h
}

// Definition implements fleet.Definitions.
func (w *world) Definition(_ context.Context, arn string) (ledger.Definition, error) {
	d, ok := w.defs[arn]
	if !ok {
		return d, ledger.ErrNotFound
	}
	return d, nil
}

// ListHosts implements fleet.ECS.
func (w *world) ListHosts(context.Context, string, string) ([]string, string, error) {
	var out []string
	for _, h := range w.hosts {
		if h.status != "INACTIVE" && !w.hidden[h.name] {
			out = append(out, instanceARN(h.name))
		}
	}
	slices.Sort(out)
	return out, "", nil
}

// DescribeHosts implements fleet.ECS.
func (w *world) DescribeHosts(_ context.Context, _ string, arns []string) (found []fleet.SeenHost, missing []string, err error) {
	for _, arn := range arns {
		h, ok := w.hosts[arn[strings.LastIndexByte(arn, '/')+1:]]
		if !ok {
			missing = append(missing, arn)
			continue
		}
		x := fleet.SeenHost{ID: ledger.HostID{Cluster: cluster, Instance: arn}, Seen: ledger.HostSeen{Fixed: ledger.Fixed{EC2InstanceID: "i-" + h.name, RegisteredAt: h.registered},
			Registration: ledger.Registration{Version: h.version, Status: h.status, AgentConnected: h.connected, SharingCapable: true}, GPUs: []gpu.UUID{}}}
		for _, c := range h.cards {
			x.Seen.GPUs = append(x.Seen.GPUs, gpu.UUID(cardID(c)))
			x.Seen.Described = append(x.Seen.Described, ledger.DeviceTotal{UUID: gpu.UUID(cardID(c)), Total: h.mib, Mode: gpu.ModeUnknown})
		}
		slices.Sort(x.Seen.GPUs)
		found = append(found, x)
	}
	return found, missing, nil
}

// ListTasks implements fleet.ECS.
func (w *world) ListTasks(_ context.Context, _, desired, _ string) ([]string, string, error) {
	var out []string
	for _, t := range w.tasks {
		if t.desired == desired && !w.hidden[t.name] {
			out = append(out, taskARN(t.name))
		}
	}
	slices.Sort(out)
	return out, "", nil
}

// Tasks implements fleet.TaskOracle.
func (w *world) Tasks(_ context.Context, _ string, arns []string) (found []fleet.SeenTask, missing []string, err error) {
	for _, arn := range arns {
		t, ok := w.tasks[arn[strings.LastIndexByte(arn, '/')+1:]]
		if !ok {
			missing = append(missing, arn)
			continue
		}
		x := fleet.SeenTask{Host: ledger.HostID{Cluster: cluster, Instance: instanceARN(t.host)}, Task: ledger.Task{ARN: arn, Version: t.version, LastStatus: t.last, Definition: defARN(t.def),
			StoppingAt: t.stopping, StoppedAt: t.stopped, StartedBy: t.startedBy}}
		switch {
		case t.last == "STOPPED":
			x.Task.Phase = ledger.PhaseStopped
		case t.desired == "STOPPED":
			x.Task.Phase = ledger.PhaseStopping
		}
		for name, card := range t.cards {
			x.Containers = append(x.Containers, fleet.SeenContainer{Name: name, GPUs: []string{cardID(card)}})
		}
		slices.SortFunc(x.Containers, func(a, b fleet.SeenContainer) int { return strings.Compare(a.Name, b.Name) })
		found = append(found, x)
	}
	return found, missing, nil
}
