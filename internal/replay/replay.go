package replay

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
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
	Broken   []Broken             `json:"broken"`
	Rejected []Rejected           `json:"rejected"`
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

// Rejected is an event that was read and is not believed. The finding of the same
// event has no line, since the answer must not depend on the order of the lines.
type Rejected struct {
	Line   int    `json:"line"`
	Record string `json:"record,omitempty"`
	Event  string `json:"event"`
	Reason string `json:"reason"`
}

// released is how long a stopped task is shown: as long as any retry of one of
// its events could still come.
const released = 25 * time.Hour

// batchSize is how many events are handled at once.
const batchSize = 256

// run is one replay under way.
type run struct {
	opts    Options
	ingest  fleet.Ingest
	now     time.Time
	doc     Document
	batch   []fleet.Message
	at      map[string]place // of the batch's messages
	found   map[ledger.Finding]bool
	defs    definitions
	sources map[string]bool // "account Region"
}

// place says where a message stood, and which event it holds.
type place struct {
	line  int
	where string // "record 2" of a carrier, or empty
	event string // the event's own id, else a digest of its bytes
}

// Run feeds the events of in, one a line, and tells the ledger. Lines that cannot
// be read are counted and named; the rest is processed.
func Run(ctx context.Context, in io.Reader, o Options) (Document, error) {
	r := &run{opts: o, doc: Document{Broken: []Broken{}, Rejected: []Rejected{}}, sources: map[string]bool{}, at: map[string]place{}, found: map[ledger.Finding]bool{}, defs: definitions{}}
	for _, s := range o.Described.Definitions {
		r.defs.learn(ingest.DefinitionOf(s))
	}
	r.opts.Policy.TombstoneWindow = ledger.Keep
	r.ingest = fleet.Ingest{Store: o.Store, Policy: r.opts.Policy, Scope: o.Scope, Tiers: o.Tiers, Log: o.Log,
		Definitions: r.defs, Clock: func() time.Time { return r.now }, AnyTime: true}
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
	if err != nil {
		r.broken(n, "", err.Error())
		return ctx.Err()
	}
	carried := events.Unwrap(line)
	if len(carried) == 0 {
		r.broken(n, "", "holds no event")
	}
	for _, c := range carried {
		if c.Err != nil {
			r.broken(n, c.Place, c.Err.Error())
			continue
		}
		r.take(n, c)
	}
	if len(r.batch) >= batchSize {
		return r.flush(ctx)
	}
	return ctx.Err()
}

func (r *run) broken(line int, where, reason string) {
	if where != "" {
		reason = where + ": " + reason
	}
	r.doc.Broken = append(r.doc.Broken, Broken{Line: line, Reason: reason})
	r.doc.Stats.Broken++
}

// take puts an event into the batch. The clock follows those that are believed.
func (r *run) take(line int, c events.Carried) {
	id := fmt.Sprintf("%d %s", line, c.Place)
	at := place{line: line, where: c.Place}
	ev, err := events.Parse(c.Body, events.Limits{})
	if errors.Is(err, events.ErrMalformed) {
		r.broken(line, c.Place, err.Error())
		return
	}
	if at.event = ingest.Bounded(ev.ID, 64); at.event == "" {
		sum := sha256.Sum256(c.Body)
		at.event = "sha256:" + hex.EncodeToString(sum[:8])
	}
	if err == nil {
		r.learn(ev)
	}
	r.at[id] = at
	r.batch = append(r.batch, fleet.Message{ID: id, Body: c.Body})
}

func (r *run) learn(ev events.Event) {
	believed := ingest.Translate(ev, r.opts.Scope, time.Time{}).Verdict
	if believed == ingest.Apply && ev.Time.After(r.now) {
		r.now = ev.Time
	}
	if believed != ingest.Reject && ev.Account != "" && len(r.sources) < maxSources {
		r.sources[ingest.Bounded(strings.TrimSpace(ev.Account+" "+ev.Region), 64)] = true
	}
	if def, ok := registered(ev); ok && r.opts.Scope.ForeignARN(def.ARN) == nil {
		r.defs.learn(def)
	}
}

// flush handles the events gathered so far, at the latest time any of them tells.
func (r *run) flush(ctx context.Context) error {
	for _, reply := range r.ingest.Batch(ctx, r.batch) {
		if err := r.count(reply); err != nil {
			return err
		}
	}
	r.batch = r.batch[:0]
	clear(r.at)
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
		at := r.at[reply.ID]
		reason := reply.Token + ": " + reply.Text
		r.find(ledger.EventRejected, "event "+at.event, reason)
		if len(r.doc.Rejected) < maxRejected {
			r.doc.Rejected = append(r.doc.Rejected, Rejected{Line: at.line, Record: at.where, Event: at.event, Reason: reason})
		}
	case fleet.Failed:
		at := r.at[reply.ID]
		return fmt.Errorf("line %d %s: %w", at.line, at.where, reply.Err)
	}
	return nil
}

// find notes a finding that is about no host. Found twice it is one: an event that
// comes twice must not change the answer.
func (r *run) find(kind ledger.Kind, subject, reason string) {
	r.found[ledger.Finding{Kind: kind, Severity: ledger.Warning, Subject: subject, Reason: reason}] = true
}

// describe merges the saved descriptions, as the sweep would have.
func (r *run) describe(ctx context.Context) error {
	sweep := fleet.Sweep{Store: r.opts.Store, Definitions: r.defs, Policy: r.opts.Policy, Tiers: r.opts.Tiers,
		Clock: r.ingest.Clock, Log: r.opts.Log}
	clusters := map[string]string{} // by container instance, as events told
	if err := r.eachHost(ctx, func(h ledger.Host) { clusters[h.ID.Instance] = h.ID.Cluster }); err != nil {
		return err
	}
	for _, p := range r.opts.Described.Problems {
		r.find(ledger.DescribeUnreadable, p.Where, p.Reason)
	}
	var seen fleet.Told
	for _, s := range r.opts.Described.Hosts {
		if h, err := r.host(s, clusters); err != nil {
			r.find(ledger.DescribeUnreadable, ingest.Bounded(s.ContainerInstanceArn, 200), err.Error())
		} else {
			seen.Hosts = append(seen.Hosts, h)
		}
	}
	for _, s := range r.opts.Described.Tasks {
		x, err := r.task(s)
		switch {
		case err != nil:
			r.find(ledger.DescribeUnreadable, ingest.Bounded(s.TaskArn, 200), err.Error())
		case x.Host.Instance != "":
			seen.Tasks = append(seen.Tasks, x)
		}
	}
	if err := sweep.Merge(ctx, seen); err != nil {
		return err
	}
	return r.resize(ctx, sweep)
}

func (r *run) host(s ingest.HostShape, clusters map[string]string) (fleet.SeenHost, error) {
	if err := r.opts.Scope.ForeignARN(s.ContainerInstanceArn); err != nil {
		return fleet.SeenHost{}, err
	}
	cluster := clusterOf(s.ContainerInstanceArn)
	if cluster == "" {
		cluster = clusters[s.ContainerInstanceArn]
	}
	if cluster == "" {
		return fleet.SeenHost{}, errors.New("its ARN is of the old short form, which names no cluster, and no event tells of it")
	}
	id, host, health, err := ingest.HostOf(s, cluster, r.now)
	return fleet.SeenHost{ID: id, Seen: host, Health: health}, err
}

func (r *run) task(s ingest.TaskShape) (fleet.SeenTask, error) {
	id, task, cs, err := ingest.TaskOf(s, r.now)
	for _, arn := range []string{s.TaskArn, s.ClusterArn, s.ContainerInstanceArn} {
		if err == nil && arn != "" {
			err = r.opts.Scope.ForeignARN(arn)
		}
	}
	x := fleet.SeenTask{Host: id, Task: task}
	for _, c := range cs {
		x.Containers = append(x.Containers, fleet.SeenContainer{Name: c.Name, GPUs: c.IDs})
	}
	return x, err
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

// eachHost calls f for every host of the ledger.
func (r *run) eachHost(ctx context.Context, f func(ledger.Host)) error {
	clusters, err := r.opts.Store.Clusters(ctx)
	if err != nil {
		return err
	}
	slices.Sort(clusters)
	for _, cluster := range clusters {
		if fleet.IsOrphanage(cluster) {
			continue
		}
		if err := fleet.EachHost(ctx, r.opts.Store, cluster, func(h ledger.Host) error {
			f(h)
			return ctx.Err()
		}); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) finish(ctx context.Context) error {
	r.doc.Hosts = []httpapi.HostDoc{}
	r.strangers()
	found := slices.Collect(maps.Keys(r.found))
	show := r.opts.Policy
	show.TombstoneWindow = released
	var holds fleet.Holders
	err := r.eachHost(ctx, func(h ledger.Host) {
		h, _ = ledger.Prune(h, show, r.now)
		if !fleet.Visible(h) {
			return
		}
		v := h.View(r.now)
		r.doc.Hosts = append(r.doc.Hosts, httpapi.DocOf(v))
		found = append(found, ledger.Check(v, r.opts.Policy, r.now)...)
		holds.Add(v)
	})
	found = append(found, holds.Findings()...)
	ledger.SortFindings(found)
	r.doc.Findings = httpapi.FindingDocs(found)
	slices.SortStableFunc(r.doc.Broken, func(a, b Broken) int { return cmp.Compare(a.Line, b.Line) })
	return err
}

// Bounds of what is told apart.
const (
	maxSources  = 100
	maxRejected = 10_000
)

// strangers names what one ledger of one account and Region should not have: events
// of several. Which of them is foreign only --account and --event-region can say.
func (r *run) strangers() {
	if len(r.sources) < 2 {
		return
	}
	r.find(ledger.SeveralSources, "events", "they come from "+strings.Join(slices.Sorted(maps.Keys(r.sources)), ", ")+
		"; --account and --event-region reject those of others")
}
