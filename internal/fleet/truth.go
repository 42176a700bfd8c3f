package fleet

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bulkhead-ecs/bulkhead/internal/ingest"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

// truth is what ECS told in one sweep. The same host or task may be told of more
// than once, at versions in any order: all sayings are kept, and joined.
type truth struct {
	hosts map[ledger.HostID][]SeenHost
	tasks map[string]bool // ARNs that were told of
	// byHost are the sayings about tasks, by host and ARN.
	byHost map[ledger.HostID]map[string][]SeenTask
	// saved: it is told from saved answers, so what is absent means nothing, and what
	// has ended stays to be seen.
	saved bool
	// gone are tasks and hosts that ECS was asked for by name and does not know.
	gone map[string]bool
	defs map[string]*ledger.Definition
}

func newTruth() *truth {
	return &truth{hosts: map[ledger.HostID][]SeenHost{}, tasks: map[string]bool{}, byHost: map[ledger.HostID]map[string][]SeenTask{},
		gone: map[string]bool{}, defs: map[string]*ledger.Definition{}}
}

// allHosts are the hosts that ECS told of, in order.
func (t *truth) allHosts() []ledger.HostID {
	var ids []ledger.HostID
	for id := range t.hosts {
		ids = append(ids, id)
	}
	for id := range t.byHost {
		if _, ok := t.hosts[id]; !ok {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b ledger.HostID) int { return cmp.Compare(a.Instance, b.Instance) })
	return ids
}

func (t *truth) addHost(h SeenHost) { t.hosts[h.ID] = append(t.hosts[h.ID], h) }

func (t *truth) addTask(x SeenTask) {
	t.tasks[x.Task.ARN] = true
	if t.byHost[x.Host] == nil {
		t.byHost[x.Host] = map[string][]SeenTask{}
	}
	t.byHost[x.Host][x.Task.ARN] = append(t.byHost[x.Host][x.Task.ARN], x)
}

// tasksOf are the ARNs of the tasks that were told of on a host, in order.
func (t *truth) tasksOf(id ledger.HostID) []string {
	return slices.Sorted(maps.Keys(t.byHost[id]))
}

// newest is a task as all that was said of it on a host tells together.
func (t *truth) newest(id ledger.HostID, arn string, tiers ingest.Tiers) ledger.Task {
	said := t.byHost[id][arn]
	task := sizeSeen(said[0], t.defs[said[0].Task.Definition], tiers)
	for _, x := range said[1:] {
		task = ledger.Newer(task, sizeSeen(x, t.defs[x.Task.Definition], tiers))
	}
	return task
}

// hostIDs are all hosts that either side knows, in order.
func (t *truth) hostIDs(cluster string, known map[ledger.HostID]ledger.Host) []ledger.HostID {
	ids := t.allHosts()
	for id := range known {
		_, told := t.hosts[id]
		if _, busy := t.byHost[id]; !told && !busy {
			ids = append(ids, id)
		}
	}
	ids = slices.DeleteFunc(ids, func(id ledger.HostID) bool { return id.Instance == "" || id.Cluster != cluster })
	slices.SortFunc(ids, func(a, b ledger.HostID) int { return cmp.Compare(a.Instance, b.Instance) })
	return ids
}

// collect reads the cluster from ECS: lists page by page, and describes each
// full hundred at once while the lists go on, so that the read budget is the
// only wait.
func (s *Sweep) collect(ctx context.Context, cluster string) (*truth, error) {
	t := newTruth()
	var mu sync.Mutex
	// One call after the other, so that a simulation repeats; else three listers that
	// never wait for each other's describes.
	alone := s.Parallel <= 1
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(max(3, s.Parallel))
	describeHosts := func(ctx context.Context, arns []string) error {
		found, _, err := s.ECS.DescribeHosts(ctx, cluster, arns)
		mu.Lock()
		defer mu.Unlock()
		for _, h := range found {
			t.addHost(h)
		}
		return err
	}
	describeTasks := func(ctx context.Context, arns []string) error {
		found, _, err := s.ECS.Tasks(ctx, cluster, arns)
		mu.Lock()
		defer mu.Unlock()
		for _, x := range found {
			t.addTask(x)
		}
		return err
	}
	listers := []func(ctx context.Context) error{func(ctx context.Context) error {
		return listed(ctx, func(next string) ([]string, string, error) { return s.ECS.ListHosts(ctx, cluster, next) }, describeHosts, group, alone)
	}}
	for _, desired := range []string{"RUNNING", "STOPPED"} {
		listers = append(listers, func(ctx context.Context) error {
			return listed(ctx, func(next string) ([]string, string, error) { return s.ECS.ListTasks(ctx, cluster, desired, next) }, describeTasks, group, alone)
		})
	}
	for _, list := range listers {
		if !alone {
			group.Go(func() error { return list(gctx) })
		} else if err := list(ctx); err != nil {
			return nil, err
		}
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return t, s.define(ctx, t)
}

// listed pages through a list and hands each full hundred to describe. Where it is
// alone, or the group has no room, the lister describes itself: so it can never deadlock.
func listed(ctx context.Context, list func(next string) ([]string, string, error),
	describe func(context.Context, []string) error, group *errgroup.Group, alone bool) error {
	var pending []string
	next := ""
	for {
		arns, more, err := list(next)
		if err != nil {
			return err
		}
		pending = append(pending, arns...)
		for len(pending) >= describeLimit || more == "" && len(pending) > 0 {
			n := min(describeLimit, len(pending))
			batch := slices.Clone(pending[:n])
			pending = pending[n:]
			if alone || !group.TryGo(func() error { return describe(ctx, batch) }) {
				if err := describe(ctx, batch); err != nil {
					return err
				}
			}
		}
		if more == "" {
			return nil
		}
		next = more
	}
}

// definitions are the task definitions of all that was told.
func (t *truth) definitions() map[string]bool {
	arns := map[string]bool{}
	for _, tasks := range t.byHost {
		for _, said := range tasks {
			for _, x := range said {
				arns[x.Task.Definition] = true
			}
		}
	}
	return arns
}

// define brings the definitions of all tasks, each once.
func (s *Sweep) define(ctx context.Context, t *truth) error {
	for _, arn := range slices.Sorted(maps.Keys(t.definitions())) {
		if _, asked := t.defs[arn]; asked || arn == "" || s.Definitions == nil {
			continue
		}
		d, err := s.Definitions.Definition(ctx, arn)
		if err != nil {
			s.Log.WarnContext(ctx, "task definition not read, its shares stay without a size", "definition", arn, "error", err.Error())
			t.defs[arn] = nil
			continue
		}
		t.defs[arn] = &d
	}
	return ctx.Err()
}

// ReadLag is how long ECS's answers may lag a write: its own advice is to ask
// again for up to five minutes. What is younger is not called missing.
const ReadLag = 5 * time.Minute

// verifyMissing asks ECS by name for every task and host that the ledger holds
// and the lists did not show: a list may lag, so absence there is no proof.
func (s *Sweep) verifyMissing(ctx context.Context, cluster string, known map[ledger.HostID]ledger.Host, t *truth) error {
	hosts, tasks := unlisted(known, t, s.Clock().Add(-ReadLag))
	for batch := range slices.Chunk(hosts, describeLimit) {
		found, missing, err := s.ECS.DescribeHosts(ctx, cluster, batch)
		if err != nil {
			return err
		}
		for _, h := range found {
			t.addHost(h)
		}
		for _, arn := range missing {
			t.gone[arn] = true
		}
	}
	for batch := range slices.Chunk(tasks, describeLimit) {
		found, missing, err := s.ECS.Tasks(ctx, cluster, batch)
		if err != nil {
			return err
		}
		for _, x := range found {
			t.addTask(x)
		}
		for _, arn := range missing {
			t.gone[arn] = true
		}
	}
	return s.define(ctx, t)
}

// unlisted are the hosts and tasks that the ledger holds and the lists did not
// show, without those too young to be missed.
func unlisted(known map[ledger.HostID]ledger.Host, t *truth, young time.Time) (hosts, tasks []string) {
	for id, h := range known {
		if len(t.hosts[id]) == 0 && !h.Gone() && !h.Fixed.RegisteredAt.After(young) {
			hosts = append(hosts, id.Instance)
		}
		for _, task := range h.Tasks {
			if !t.tasks[task.ARN] && task.Phase != ledger.PhaseStopped && !task.Heard.After(young) {
				tasks = append(tasks, task.ARN)
			}
		}
	}
	slices.Sort(hosts)
	slices.Sort(tasks)
	return hosts, tasks
}
