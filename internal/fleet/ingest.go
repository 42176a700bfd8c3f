package fleet

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/bulkhead-ecs/bulkhead/events"
	"github.com/bulkhead-ecs/bulkhead/internal/ingest"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

// Ingest applies events to the ledger. All fields but the optional ones must be
// set; it keeps no state of its own between batches.
type Ingest struct {
	Store       ledger.Store
	Definitions Definitions  // optional: without, shares have no size
	Oracle      TaskOracle   // optional: without, old events are believed
	Failures    FailureQueue // optional: without, a reject is only told in the reply
	Policy      ledger.Policy
	Scope       ingest.Scope
	Tiers       ingest.Tiers
	Clock       Clock
	Log         *slog.Logger
	// AnyTime believes events whose time is ahead of the clock: in a replay the clock
	// follows the events.
	AnyTime bool
	// Least is the weight from which a change is a write of its own; zero writes
	// every change. In Lambda it is ledger.WeightMajor, which makes two writes of a
	// task life instead of five; lighter changes go with the host's next write, or
	// with the sweep.
	Least ledger.Weight
	// Parallel is how many hosts of a batch are written at once; 0 is one.
	Parallel int
	// Wait pauses before a lost race is decided again; nil does not pause.
	Wait func(ctx context.Context, attempt int) error
}

// MaxAttempts bounds how often a lost race on one host is decided again.
const MaxAttempts = 8

// work is one command of one message, on its way to its host.
type work struct {
	index int // of the message
	cmd   ingest.Command
	task  ledger.Task // sized, when cmd.Task is set
	// noGPU: the definition asks for no GPU, and the event tells its containers and
	// names a card for none. One that tells no container is kept: its task may hold.
	noGPU bool
}

// Batch handles a batch of messages: every touched host is read once and written
// at most once. Replies are in the order of the messages.
func (in *Ingest) Batch(ctx context.Context, msgs []Message) []Reply {
	replies := make([]Reply, len(msgs))
	hosts, order := map[ledger.HostID][]work{}, []ledger.HostID{}
	for i, m := range msgs {
		replies[i] = Reply{ID: m.ID, Outcome: Applied}
		for _, cmd := range in.translate(ctx, m, &replies[i]) {
			id := cmd.Host
			if cmd.EC2 != "" {
				id = orphanID(cmd.EC2)
			}
			if _, seen := hosts[id]; !seen {
				order = append(order, id)
			}
			hosts[id] = append(hosts[id], work{index: i, cmd: cmd})
		}
	}
	in.size(ctx, hosts, order)
	results := make([]hostResult, len(order))
	each(ctx, len(order), in.Parallel, func(ctx context.Context, n int) { results[n] = in.host(ctx, order[n], hosts[order[n]]) })
	for n, id := range order {
		if results[n].err == nil && IsOrphanage(id.Cluster) {
			results[n].err = in.deliver(ctx, id.Instance, hosts[id])
		}
		settle(replies, hosts[id], results[n])
	}
	in.bury(ctx, msgs, replies)
	return replies
}

// translate parses one message and writes the reply of what needs no host.
func (in *Ingest) translate(ctx context.Context, m Message, r *Reply) []ingest.Command {
	ev, err := events.Parse(m.Body, events.Limits{})
	var tr ingest.Translation
	if err != nil {
		tr = ingest.Unreadable(err)
	} else {
		var now time.Time
		if !in.AnyTime {
			now = in.Clock()
		}
		tr = ingest.Translate(ev, in.Scope, now)
	}
	r.Token, r.Text = tr.Token, tr.Text
	switch tr.Verdict {
	case ingest.Ignore:
		r.Outcome = Ignored
	case ingest.Unknown:
		r.Outcome = Unknown
	case ingest.Reject:
		r.Outcome = Rejected
		in.Log.WarnContext(ctx, "event rejected", "event_id", m.ID, "reason", tr.Token, "text", tr.Text)
	}
	return tr.Commands
}

// size brings the definitions that the batch needs, each once, and sizes the
// tasks with them. A definition that cannot be had leaves its tasks unsized:
// the observation is recorded, a finding names it, and the sweep heals it.
func (in *Ingest) size(ctx context.Context, hosts map[ledger.HostID][]work, order []ledger.HostID) {
	defs := map[string]*ledger.Definition{}
	for _, id := range order {
		ws := hosts[id]
		for i := range ws {
			w := &ws[i]
			if w.cmd.Task == nil {
				continue
			}
			def, asked := defs[w.cmd.Definition]
			if !asked {
				def = in.definition(ctx, w.cmd.Definition)
				defs[w.cmd.Definition] = def
			}
			w.task = w.cmd.SizedTask(def, in.Tiers)
			w.noGPU = def != nil && !def.AsksGPU() && len(w.task.Shares) == 0 && len(w.cmd.Containers) > 0
		}
	}
}

func (in *Ingest) definition(ctx context.Context, arn string) *ledger.Definition {
	if in.Definitions == nil || arn == "" {
		return nil
	}
	d, err := in.Definitions.Definition(ctx, arn)
	if err != nil {
		in.Log.WarnContext(ctx, "task definition not read, its shares stay without a size", "definition", arn, "error", err.Error())
		return nil
	}
	return &d
}

// hostResult is what became of the works of one host, in their order.
type hostResult struct {
	results []workResult
	err     error
}

type workResult struct {
	outcome     Outcome
	token, text string
}

// host applies the works of one host and commits once. A lost race is decided
// again from the newest state.
func (in *Ingest) host(ctx context.Context, id ledger.HostID, ws []work) hostResult {
	for attempt := 0; ; attempt++ {
		res, err := in.try(ctx, id, ws)
		if err == nil || !errors.Is(err, ledger.ErrConflict) || attempt+1 >= MaxAttempts {
			return hostResult{results: res, err: err}
		}
		if in.Wait != nil {
			if werr := in.Wait(ctx, attempt); werr != nil {
				return hostResult{err: werr}
			}
		}
	}
}

func (in *Ingest) try(ctx context.Context, id ledger.HostID, ws []work) ([]workResult, error) {
	h, err := in.Store.Host(ctx, id)
	if errors.Is(err, ledger.ErrNotFound) {
		h, err = ledger.Host{ID: id}, nil
	}
	if err != nil {
		return nil, err
	}
	now := in.Clock()
	before := h
	var sum ledger.Outcome
	results := make([]workResult, len(ws))
	for i, w := range ws {
		var out ledger.Outcome
		if h, out, results[i], err = in.apply(ctx, h, w, now); err != nil {
			return nil, err
		}
		sum.Weight = max(sum.Weight, out.Weight)
	}
	if h, err = find(ctx, in.Store, before, h); err != nil {
		return nil, err
	}
	return results, in.commit(ctx, h, sum, now)
}

// deliver brings notices about an EC2 instance, which its orphan keeps by now, to
// every registration of that instance. A host's writer puts its index entry before
// it looks for an orphan, and this one writes the orphan before it looks for the
// entries: one of the two sees the other.
func (in *Ingest) deliver(ctx context.Context, ec2 string, ws []work) error {
	ids, err := in.Store.HostsOfInstance(ctx, ec2)
	if err != nil {
		return err
	}
	var errs []error
	for _, id := range ids {
		errs = append(errs, in.host(ctx, id, ws).err)
	}
	return errors.Join(errs...)
}

// apply merges one command into the host.
func (in *Ingest) apply(ctx context.Context, h ledger.Host, w work, now time.Time) (ledger.Host, ledger.Outcome, workResult, error) {
	var out ledger.Outcome
	switch c := w.cmd; {
	case c.EC2 != "" && !isAbout(h, c.EC2):
		return h, out, workResult{outcome: Stale, token: "OtherInstance", text: "the host is on another instance"}, nil
	case c.Task != nil:
		return in.applyTask(ctx, h, w, now)
	case c.Seen != nil:
		h, out = ledger.ObserveHost(h, *c.Seen)
	case c.Health != nil:
		h, out = ledger.ObserveHealth(h, c.Health)
	case c.EC2State != nil:
		h, out = ledger.ObserveEC2(h, *c.EC2State)
	case c.Leaving != nil:
		h, out = ledger.ObserveLeaving(h, *c.Leaving)
	}
	return h, out, workResult{outcome: outcomeOf(out.Result)}, nil
}

func (in *Ingest) applyTask(ctx context.Context, h ledger.Host, w work, now time.Time) (ledger.Host, ledger.Outcome, workResult, error) {
	task := w.task
	_, known := h.Task(task.ARN)
	if !known && w.noGPU {
		return h, ledger.Outcome{}, workResult{outcome: Ignored, token: ingest.IgnoredNoGPU, text: "its definition asks for no GPU"}, nil
	}
	if !known && in.Oracle != nil && in.Policy.TooOldToBelieve(w.cmd.At, now) {
		truth, gone, err := in.verify(ctx, h.ID, task)
		if err != nil {
			return h, ledger.Outcome{}, workResult{}, err
		}
		if gone {
			return h, ledger.Outcome{}, workResult{outcome: Stale, token: "TaskGone", text: "older than the tombstone window, and ECS does not know the task"}, nil
		}
		task = truth
	}
	h, out := ledger.ObserveTask(h, task)
	return h, out, workResult{outcome: outcomeOf(out.Result)}, nil
}

// verify asks ECS about a task whose event is too old to be believed by itself.
func (in *Ingest) verify(ctx context.Context, id ledger.HostID, t ledger.Task) (truth ledger.Task, gone bool, err error) {
	found, _, err := in.Oracle.Tasks(ctx, id.Cluster, []string{t.ARN})
	if err != nil {
		return t, false, err
	}
	if len(found) == 0 || found[0].Host.Instance != id.Instance {
		return t, true, nil
	}
	return sizeSeen(found[0], in.definition(ctx, found[0].Task.Definition), in.Tiers), false, nil
}

// sizeSeen sizes a described task like an event's.
func sizeSeen(s SeenTask, def *ledger.Definition, tiers ingest.Tiers) ledger.Task {
	cmd := ingest.Command{Task: &s.Task, Definition: s.Task.Definition}
	for _, c := range s.Containers {
		cmd.Containers = append(cmd.Containers, ingest.ContainerGPUs{Name: c.Name, IDs: c.GPUs})
	}
	return cmd.SizedTask(def, tiers)
}

// commit writes what changed, if it is worth a write.
func (in *Ingest) commit(ctx context.Context, h ledger.Host, sum ledger.Outcome, now time.Time) error {
	if sum.Weight < max(in.Least, ledger.WeightTrivial) {
		return nil
	}
	h, _ = ledger.Prune(h, in.Policy, now)
	return commitFitting(ctx, in.Store, h, in.Log)
}

// settle writes a host's results into the replies of its messages.
func settle(replies []Reply, ws []work, res hostResult) {
	for i, w := range ws {
		r := &replies[w.index]
		if res.err != nil {
			r.Outcome, r.Err, r.Text = Failed, res.err, res.err.Error()
			continue
		}
		if r.Outcome != Failed {
			r.Outcome, r.Token, r.Text = res.results[i].outcome, res.results[i].token, res.results[i].text
		}
	}
}

// bury hands rejected messages to the failure queue. Only then may the carrier
// forget them.
func (in *Ingest) bury(ctx context.Context, msgs []Message, replies []Reply) {
	if in.Failures == nil {
		return
	}
	for i := range replies {
		if r := &replies[i]; r.Outcome == Rejected {
			if err := in.Failures.Put(ctx, msgs[i], r.Token+": "+r.Text); err != nil {
				r.Outcome, r.Err = Failed, err
			}
		}
	}
}
