package fleet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/ingest"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/vitals"
)

// ECS is what the sweep asks of ECS. Adapters page and keep to ECS's budgets;
// describe calls take at most 100 ids.
type ECS interface {
	TaskOracle
	// ListHosts lists container instance ARNs of a cluster, all states ECS lists.
	ListHosts(ctx context.Context, cluster, next string) (arns []string, more string, err error)
	DescribeHosts(ctx context.Context, cluster string, arns []string) (found []SeenHost, missing []string, err error)
	// ListTasks lists task ARNs whose desired status is RUNNING or STOPPED.
	ListTasks(ctx context.Context, cluster, desired, next string) (arns []string, more string, err error)
}

// SeenHost is a container instance as ECS describes it.
type SeenHost struct {
	ID     ledger.HostID
	Seen   ledger.HostSeen
	Health []ledger.HealthCheck
}

// Bookmarks keep where a sweep stopped, so that the next one goes on there.
type Bookmarks interface {
	Bookmark(ctx context.Context, name string) (string, error) // "" when there is none
	SaveBookmark(ctx context.Context, name, value string) error
}

// describeLimit is ECS's own limit of ids in a describe call.
const describeLimit = 100

// Sweep compares the ledger of a cluster with ECS and heals it. A rebuild from
// nothing is the same code: everything is then a ghost.
type Sweep struct {
	Store       ledger.Store
	ECS         ECS
	Definitions Definitions
	Vitals      vitals.Store // optional: without, the ledger is not compared with hosts' reports
	Bookmarks   Bookmarks    // optional: without, a sweep cut short starts over
	Revisions   *Revisions   // optional: without, revisions that no event told of are not linted
	Policy      ledger.Policy
	Tiers       ingest.Tiers
	Clock       Clock
	Log         *slog.Logger
	Parallel    int           // reads and hosts at once; 0 is one
	Margin      time.Duration // time to leave before the context's deadline
	Wait        func(ctx context.Context, attempt int) error
}

// SweepReport counts what a sweep found and did.
type SweepReport struct {
	Cluster string
	Hosts   int // container instances that ECS told of
	Tasks   int // tasks that ECS told of
	Ghosts  int // ECS has them on a GPU, the ledger had not
	Leaks   int // the ledger had them, ECS has not
	Late    int // hosts whose ledger lagged in anything that is seen
	Expired int // reservations dropped
	Lost    int // hosts that ECS does not know any more
	Removed int // hosts dropped from the ledger
	Written int // commits
	Judged  int // revisions of task definitions that were linted for the first time
	// Gaps count what differs between the ledger and the hosts' own reports, by kind.
	Gaps     map[ledger.Kind]int
	Complete bool
}

// Cluster sweeps one cluster.
func (s *Sweep) Cluster(ctx context.Context, cluster string) (SweepReport, error) {
	rep := SweepReport{Cluster: cluster}
	truth, err := s.collect(ctx, cluster)
	if err != nil {
		return rep, fmt.Errorf("sweep %s: %w", cluster, err)
	}
	rep.Hosts, rep.Tasks = len(truth.hosts), len(truth.tasks)
	known, err := s.known(ctx, cluster)
	if err != nil {
		return rep, fmt.Errorf("sweep %s: list the ledger: %w", cluster, err)
	}
	if err := s.verifyMissing(ctx, cluster, known, truth); err != nil {
		return rep, fmt.Errorf("sweep %s: %w", cluster, err)
	}
	ids := truth.hostIDs(cluster, known)
	from, err := s.resume(ctx, cluster)
	if err != nil {
		return rep, err
	}
	ids = ids[firstAfter(ids, from):]
	err = s.walk(ctx, ids, truth, &rep)
	return rep, errors.Join(err, s.lintUnseen(ctx, truth, &rep))
}

func firstAfter(ids []ledger.HostID, from string) int {
	for i, id := range ids {
		if id.Instance > from {
			return i
		}
	}
	return len(ids)
}

func (s *Sweep) resume(ctx context.Context, cluster string) (string, error) {
	if s.Bookmarks == nil {
		return "", nil
	}
	return s.Bookmarks.Bookmark(ctx, "sweep/"+cluster)
}

func (s *Sweep) mark(ctx context.Context, cluster, at string) error {
	if s.Bookmarks == nil {
		return nil
	}
	return s.Bookmarks.SaveBookmark(ctx, "sweep/"+cluster, at)
}

// sweepChunk is how many hosts are healed between two looks at the clock.
const sweepChunk = 64

// walk heals host by host, in order, and leaves a bookmark when time runs out.
func (s *Sweep) walk(ctx context.Context, ids []ledger.HostID, truth *truth, rep *SweepReport) error {
	deadline, bounded := ctx.Deadline()
	var errs []error
	for chunk := range slices.Chunk(ids, sweepChunk) {
		if bounded && s.Clock().Add(s.Margin).After(deadline) {
			s.Log.InfoContext(ctx, "sweep cut short, the next one goes on", "cluster", rep.Cluster, "before", chunk[0].Instance)
			return errors.Join(errs...)
		}
		results := make([]healed, len(chunk))
		each(ctx, len(chunk), s.Parallel, func(ctx context.Context, i int) { results[i] = s.heal(ctx, chunk[i], truth) })
		for i, r := range results {
			if r.err != nil {
				errs = append(errs, fmt.Errorf("heal %s: %w", chunk[i].Instance, r.err))
			}
			r.addTo(rep)
		}
		if err := s.compare(ctx, results, rep); err != nil {
			errs = append(errs, err)
		}
		if err := s.mark(ctx, rep.Cluster, chunk[len(chunk)-1].Instance); err != nil {
			return err
		}
	}
	if err := s.mark(ctx, rep.Cluster, ""); err != nil {
		return err
	}
	rep.Complete = len(errs) == 0
	s.Log.InfoContext(ctx, "sweep done", "cluster", rep.Cluster, "hosts", rep.Hosts, "tasks", rep.Tasks,
		"ghosts", rep.Ghosts, "leaks", rep.Leaks, "late", rep.Late, "written", rep.Written, "removed", rep.Removed, "gaps", rep.Gaps)
	return errors.Join(errs...)
}

// compare counts the gaps between the healed hosts and their own reports.
func (s *Sweep) compare(ctx context.Context, hosts []healed, rep *SweepReport) error {
	var views []ledger.View
	for _, h := range hosts {
		if h.err == nil && !h.removed {
			views = append(views, h.host.View(s.Clock()))
		}
	}
	gaps, err := gapsOf(ctx, s.Vitals, views, s.Clock)
	for _, g := range gaps {
		if rep.Gaps == nil {
			rep.Gaps = map[ledger.Kind]int{}
		}
		rep.Gaps[g.Kind]++
	}
	return err
}

// known lists the ledger's hosts of the cluster.
func (s *Sweep) known(ctx context.Context, cluster string) (map[ledger.HostID]ledger.Host, error) {
	out := map[ledger.HostID]ledger.Host{}
	err := EachHost(ctx, s.Store, cluster, func(h ledger.Host) error {
		out[h.ID] = h
		return nil
	})
	return out, err
}

// EachHost calls f for every host of a cluster, page by page.
func EachHost(ctx context.Context, store ledger.Store, cluster string, f func(ledger.Host) error) error {
	var after ledger.Cursor
	for {
		hosts, next, err := store.Hosts(ctx, cluster, after, 0)
		if err != nil {
			return err
		}
		for _, h := range hosts {
			if err := f(h); err != nil {
				return err
			}
		}
		if next == "" {
			return nil
		}
		after = next
	}
}
