package placing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/placement"
)

// Bounds of the placer.
const (
	// MaxTries bounds the hosts on which a copy is tried, and the rounds of a batch.
	MaxTries = 5
	// Settle is how long ECS may take to list a task that it has started. ECS's API is
	// eventually consistent; a task is never asked for again sooner.
	Settle = time.Minute
	// Patience is how long a copy that no host admits waits while other tasks wait for
	// their cards.
	Patience = 2 * time.Minute
	// leaseMargin must be left of a lease when a task is asked for.
	leaseMargin = 2 * time.Minute
)

// Placer does what requests ask for. One at a time works on a cluster; the guarded
// writes of the ledger hold even if two did.
type Placer struct {
	Ledger      ledger.Store
	Store       Store
	Definitions Definitions
	Tasks       Tasks
	Policy      placement.Policy
	Laws        ledger.Policy
	Clock       Clock
	Log         *slog.Logger
	Settle      time.Duration // 0 is the constant
	// Wait pauses before a lost race is decided again; nil does not pause.
	Wait func(ctx context.Context, attempt int) error
}

// job is one request of a batch at work.
type job struct {
	rec   Record
	want  want
	later bool  // copies wait for what others settle
	err   error // its message comes again
}

// Batch places the requests of one cluster, by id. The answer has one error an id:
// nil when it is done, ErrLater or another when the message must come again.
func (p *Placer) Batch(ctx context.Context, cluster string, ids []string) []error {
	jobs := make([]*job, len(ids))
	errs := make([]error, len(ids))
	seen := map[string]*job{}
	for i, id := range ids {
		if seen[id] == nil {
			seen[id] = p.load(ctx, cluster, id)
		}
		jobs[i] = seen[id]
	}
	unique := distinct(jobs)
	for _, j := range unique {
		p.resolve(ctx, j)
	}
	for attempt := range MaxTries {
		if !anyOpen(unique) {
			break
		}
		if attempt > 0 && p.Wait != nil {
			if err := p.Wait(ctx, attempt); err != nil {
				break
			}
		}
		if err := p.round(ctx, cluster, unique); err != nil {
			for _, j := range unique {
				j.fail(err)
			}
		}
	}
	for i, j := range jobs {
		if errs[i] = j.err; j.err == nil && !j.rec.Done() {
			errs[i] = ErrLater
		}
	}
	return errs
}

func distinct(jobs []*job) []*job {
	var out []*job
	done := map[*job]bool{}
	for _, j := range jobs {
		if !done[j] {
			done[j] = true
			out = append(out, j)
		}
	}
	return out
}

// fail keeps the first error of a job that has something left to do.
func (j *job) fail(err error) {
	if j.err == nil && !j.rec.Done() {
		j.err = err
	}
}

func anyOpen(jobs []*job) bool {
	for _, j := range jobs {
		for _, c := range j.rec.Copies {
			if j.err == nil && !j.later && c.State == Waiting {
				return true
			}
		}
	}
	return false
}

// load reads a request. One that is not kept any more is done: there is nobody to
// answer to.
func (p *Placer) load(ctx context.Context, cluster, id string) *job {
	j := &job{}
	if j.rec, j.err = p.Store.Placement(ctx, id); j.err != nil {
		if errors.Is(j.err, ledger.ErrNotFound) {
			p.Log.WarnContext(ctx, "placement not kept any more", "id", id)
			j.err = nil
		}
		return j
	}
	if j.rec.Request.Cluster != cluster {
		j.err = fmt.Errorf("placement %s is of cluster %s, not %s", id, j.rec.Request.Cluster, cluster)
		return j
	}
	if j.rec.Done() {
		return j
	}
	def, err := p.Definitions.Definition(ctx, j.rec.Request.Definition)
	tier := j.rec.Request.Tier
	if tier == "" {
		tier = gpu.DefaultTier
	}
	var no *placement.Refusal
	if j.want, err = wantOf(j.rec.Request, def, err, tier); errors.As(err, &no) {
		for i := range j.rec.Copies {
			if c := &j.rec.Copies[i]; c.State == Waiting {
				c.refuse(no)
			}
		}
		j.err = p.save(ctx, j)
		return j
	}
	j.err = err
	return j
}

func (p *Placer) save(ctx context.Context, j *job) error {
	rec, err := p.Store.SavePlacement(ctx, j.rec)
	if err != nil {
		return fmt.Errorf("keep placement %s: %w", j.rec.ID, err)
	}
	j.rec = rec
	return nil
}

// round decides for every waiting copy, writes down what will be asked, writes each
// touched host once, and asks. Copies whose host was written by somebody else at the
// same moment wait for the next round.
func (p *Placer) round(ctx context.Context, cluster string, jobs []*job) error {
	b, err := newBoard(ctx, p.Ledger, cluster, p.Policy, p.Laws, p.Clock())
	if err != nil {
		return fmt.Errorf("read the hosts of %s: %w", cluster, err)
	}
	var asked []ask
	for _, j := range jobs {
		if j.err != nil {
			continue
		}
		mine := p.decide(b, j)
		if j.err = p.save(ctx, j); j.err == nil {
			asked = append(asked, mine...)
		} else { // nothing of it may be asked: take it off the board again
			b.withdraw(mine)
		}
	}
	lost := p.commit(ctx, b)
	for _, a := range asked {
		if err, ok := lost[a.copy().Host.Instance]; ok {
			a.copy().State = Waiting // its reservation was not written, nothing was asked
			if !errors.Is(err, ledger.ErrConflict) {
				a.job.err = err
			}
			continue
		}
		p.ask(ctx, a)
	}
	for _, j := range jobs {
		if len(asked) > 0 && !untouched(j, asked) {
			if err := p.save(ctx, j); err != nil {
				j.err = err
			}
		}
	}
	return nil
}

func untouched(j *job, asked []ask) bool {
	for _, a := range asked {
		if a.job == j {
			return false
		}
	}
	return true
}

// ask is one copy that is about to be asked of ECS.
type ask struct {
	job *job
	i   int
}

func (a ask) copy() *Copy { return &a.job.rec.Copies[a.i] }

// decide places the waiting copies of a job on the board.
func (p *Placer) decide(b *board, j *job) []ask {
	var out []ask
	for i := range j.rec.Copies {
		c := &j.rec.Copies[i]
		if c.State != Waiting {
			continue
		}
		b.choose(c, j.want, j.rec.Request.Mode)
		if c.Reason == ReasonNoHost && b.unsettled() && b.now.Before(j.rec.MadeAt.Add(Patience)) {
			c.State, c.Text, j.later = Waiting, "", true
		}
		if c.State == Asked {
			c.Tries++
			out = append(out, ask{j, i})
		}
		p.Log.Info("placement decided", "id", j.rec.ID, "copy", c.Reservation, "state", c.State, "host", c.Host.Instance,
			"memory_mib", int64(j.want.demand.Memory), "compute", int32(j.want.demand.Compute), "tier", j.want.demand.Tier, "reason", c.Reason, "why", c.Explanation)
	}
	return out
}

func (b *board) withdraw(asked []ask) {
	for _, a := range asked {
		i := b.at[a.copy().Host.Instance]
		h, _ := ledger.Release(b.hosts[i], a.copy().Reservation)
		b.set(i, h)
	}
}

// commit writes each touched host once. It returns those that were not written.
func (p *Placer) commit(ctx context.Context, b *board) map[string]error {
	lost := map[string]error{}
	for i := range b.hosts {
		if !b.dirty[i] {
			continue
		}
		if _, err := p.Ledger.Commit(ctx, b.hosts[i]); err != nil {
			p.Log.InfoContext(ctx, "reservations not written, decided again", "host", b.hosts[i].ID.Instance, "error", err.Error())
			lost[b.hosts[i].ID.Instance] = err
		}
	}
	return lost
}
