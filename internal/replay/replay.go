package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/bulkhead-ecs/bulkhead/events"
	"github.com/bulkhead-ecs/bulkhead/internal/fleet"
	"github.com/bulkhead-ecs/bulkhead/internal/httpapi"
	"github.com/bulkhead-ecs/bulkhead/internal/ingest"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

// Options of a replay.
type Options struct {
	Store     ledger.Store
	Described Described
	Scope     ingest.Scope
	Tiers     ingest.Tiers
	Policy    ledger.Policy // its tombstone window is overruled: a replay keeps all
	Log       *slog.Logger
	// Progress, when set, is told the number of events so far.
	Progress func(events int)
}

// Document is the answer of a replay. docs/reference/replay.md describes it.
type Document struct {
	Hosts    []httpapi.HostDoc    `json:"hosts"`
	Findings []httpapi.FindingDoc `json:"findings"`
	Stats    Stats                `json:"stats"`
	Broken   []Broken             `json:"broken,omitempty"`
}

// Stats count what became of the events.
type Stats struct {
	Events     int `json:"events"`
	Applied    int `json:"applied"`
	Stale      int `json:"stale"`
	Duplicates int `json:"duplicates"`
	Ignored    int `json:"ignored"`
	Unknown    int `json:"unknown"`
	Rejected   int `json:"rejected"`
	Broken     int `json:"broken"`
}

// Broken is a line that could not be read.
type Broken struct {
	Line   int    `json:"line"`
	Reason string `json:"reason"`
}

// released is how long a stopped task is shown: as long as any retry of one of
// its events could still come.
const released = 25 * time.Hour

// batchSize is how many events are handled at once.
const batchSize = 256

// run is one replay under way.
type run struct {
	opts     Options
	ingest   fleet.Ingest
	now      time.Time
	doc      Document
	batch    []fleet.Message
	rejected []ledger.Finding
	sources  map[string]int // events by "account Region"
}

// Run feeds the events of in, one a line, and tells the ledger. Lines that cannot
// be read are counted and named; the rest is processed.
func Run(ctx context.Context, in io.Reader, o Options) (Document, error) {
	r := &run{opts: o, sources: map[string]int{}}
	r.opts.Policy.TombstoneWindow = ledger.Keep
	r.ingest = fleet.Ingest{Store: o.Store, Policy: r.opts.Policy, Scope: o.Scope, Tiers: o.Tiers, Log: o.Log,
		Definitions: definitions(o.Described), Clock: func() time.Time { return r.now }}
	if err := eachLine(in, func(n int, line []byte, err error) error { return r.line(ctx, n, line, err) }); err != nil {
		return r.doc, fmt.Errorf("read the events: %w", err)
	}
	if err := r.flush(ctx); err != nil {
		return r.doc, err
	}
	if err := r.describe(ctx); err != nil {
		return r.doc, err
	}
	return r.doc, r.finish(ctx)
}

func (r *run) line(ctx context.Context, n int, line []byte, err error) error {
	var raws []json.RawMessage
	if err == nil {
		raws, err = events.Unwrap(line)
	}
	if err == nil && len(raws) == 0 {
		err = errors.New("holds no event")
	}
	if err != nil {
		r.doc.Broken = append(r.doc.Broken, Broken{Line: n, Reason: err.Error()})
		r.doc.Stats.Broken++
		return nil //nolint:nilerr // a broken line is counted and named, and the rest goes on
	}
	for i, raw := range raws {
		r.batch = append(r.batch, fleet.Message{ID: fmt.Sprintf("line %d, event %d", n, i+1), Body: raw})
	}
	if len(r.batch) >= batchSize {
		return r.flush(ctx)
	}
	return ctx.Err()
}

// flush handles the events gathered so far, at the latest time any of them tells.
func (r *run) flush(ctx context.Context) error {
	for _, m := range r.batch {
		var head struct {
			Time    ingest.Time `json:"time"`
			Account string      `json:"account"`
			Region  string      `json:"region"`
		}
		if json.Unmarshal(m.Body, &head) != nil {
			continue // ingest says what is wrong with it
		}
		if head.Time.After(r.now) {
			r.now = head.Time.Time
		}
		if len(r.sources) < maxSources {
			r.sources[ingest.Bounded(head.Account+" "+head.Region, 64)]++
		}
	}
	for _, reply := range r.ingest.Batch(ctx, r.batch) {
		if err := r.count(reply); err != nil {
			return err
		}
	}
	r.batch = r.batch[:0]
	if r.opts.Progress != nil {
		r.opts.Progress(r.doc.Stats.Events)
	}
	return ctx.Err()
}

func (r *run) count(reply fleet.Reply) error {
	s := &r.doc.Stats
	s.Events++
	switch reply.Outcome {
	case fleet.Applied:
		s.Applied++
	case fleet.Duplicate:
		s.Duplicates++
	case fleet.Stale:
		s.Stale++
	case fleet.Ignored:
		s.Ignored++
	case fleet.Unknown:
		s.Unknown++
	case fleet.Rejected:
		s.Rejected++
		r.rejected = append(r.rejected, ledger.Finding{Kind: ledger.EventRejected, Severity: ledger.Warning, Subject: reply.ID,
			Reason: reply.Token + ": " + reply.Text})
		if reply.Token == ingest.RejectedMalformed || reply.Token == ingest.RejectedTooLarge {
			var n int
			_, _ = fmt.Sscanf(reply.ID, "line %d", &n)
			r.doc.Broken = append(r.doc.Broken, Broken{Line: n, Reason: reply.Text})
			s.Broken++
		}
	case fleet.Failed:
		return fmt.Errorf("%s: %w", reply.ID, reply.Err)
	}
	return nil
}

// describe merges the saved descriptions, as the sweep would have.
func (r *run) describe(ctx context.Context) error {
	sweep := fleet.Sweep{Store: r.opts.Store, Definitions: r.ingest.Definitions, Policy: r.opts.Policy, Tiers: r.opts.Tiers,
		Clock: r.ingest.Clock, Log: r.opts.Log}
	var seen fleet.Told
	for _, s := range r.opts.Described.Hosts {
		id, host, health, err := ingest.HostOf(s, clusterOf(s.ContainerInstanceArn), r.now)
		if err != nil {
			return fmt.Errorf("described container instance %s: %w", s.ContainerInstanceArn, err)
		}
		seen.Hosts = append(seen.Hosts, fleet.SeenHost{ID: id, Seen: host, Health: health})
	}
	for _, s := range r.opts.Described.Tasks {
		id, task, cs, err := ingest.TaskOf(s, r.now)
		if err != nil {
			return fmt.Errorf("described task %s: %w", s.TaskArn, err)
		}
		x := fleet.SeenTask{Host: id, Task: task}
		for _, c := range cs {
			x.Containers = append(x.Containers, fleet.SeenContainer{Name: c.Name, GPUs: c.IDs})
		}
		if id.Instance != "" {
			seen.Tasks = append(seen.Tasks, x)
		}
	}
	return sweep.Merge(ctx, seen)
}

// clusterOf derives the cluster's ARN from a container instance's, in the long
// form that ECS has used for all new ones since 2021.
func clusterOf(instance string) string {
	head, rest, ok := strings.Cut(instance, ":container-instance/")
	name, _, long := strings.Cut(rest, "/")
	if !ok || !long {
		return ""
	}
	return head + ":cluster/" + name
}

func (r *run) finish(ctx context.Context) error {
	r.doc.Hosts = []httpapi.HostDoc{}
	found := append(r.rejected, r.strangers()...)
	clusters, err := r.opts.Store.Clusters(ctx)
	if err != nil {
		return err
	}
	show := r.opts.Policy
	show.TombstoneWindow = released
	for _, cluster := range clusters {
		if fleet.IsOrphanage(cluster) {
			continue
		}
		err := fleet.EachHost(ctx, r.opts.Store, cluster, func(h ledger.Host) error {
			h, _ = ledger.Prune(h, show, r.now)
			if !fleet.Visible(h) {
				return nil
			}
			v := h.View(r.now)
			r.doc.Hosts = append(r.doc.Hosts, httpapi.DocOf(v))
			found = append(found, ledger.Check(v, r.opts.Policy, r.now)...)
			return nil
		})
		if err != nil {
			return err
		}
	}
	ledger.SortFindings(found)
	r.doc.Findings = httpapi.FindingDocs(found)
	return nil
}

// maxSources bounds how many accounts and Regions are told apart.
const maxSources = 100

// strangers names what one ledger of one account and Region should not have: events
// of several. Which of them is foreign only --account and --event-region can say.
func (r *run) strangers() []ledger.Finding {
	if len(r.sources) < 2 {
		return nil
	}
	var parts []string
	for s, n := range r.sources {
		parts = append(parts, fmt.Sprintf("%s (%d events)", s, n))
	}
	slices.Sort(parts)
	return []ledger.Finding{{Kind: ledger.SeveralSources, Severity: ledger.Warning, Subject: "events",
		Reason: "they come from " + strings.Join(parts, ", ") + "; --account and --event-region reject those of others"}}
}

// described answers definitions from the saved ones.
type described map[string]ledger.Definition

func definitions(d Described) fleet.Definitions {
	m := described{}
	for _, s := range d.Definitions {
		m[s.TaskDefinitionArn] = ingest.DefinitionOf(s)
	}
	return m
}

// Definition implements fleet.Definitions.
func (d described) Definition(_ context.Context, arn string) (ledger.Definition, error) {
	if def, ok := d[arn]; ok {
		return def, nil
	}
	return ledger.Definition{}, ledger.ErrNotFound
}
