package fleet

import (
	"context"
	"errors"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

// healed is what the sweep did to one host.
type healed struct {
	ghosts, leaks, expired       int
	late, lost, removed, written bool
	host                         ledger.Host // as it stands now
	err                          error
}

func (r healed) addTo(rep *SweepReport) {
	count := func(b bool) int {
		if b {
			return 1
		}
		return 0
	}
	rep.Ghosts += r.ghosts
	rep.Leaks += r.leaks
	rep.Expired += r.expired
	rep.Late += count(r.late)
	rep.Lost += count(r.lost)
	rep.Removed += count(r.removed)
	rep.Written += count(r.written)
}

// heal brings one host up to what ECS told. A lost race is decided again.
func (s *Sweep) heal(ctx context.Context, id ledger.HostID, t *truth) healed {
	for attempt := 0; ; attempt++ {
		r := s.tryHeal(ctx, id, t)
		if !errors.Is(r.err, ledger.ErrConflict) || attempt+1 >= MaxAttempts {
			return r
		}
		if s.Wait != nil {
			if err := s.Wait(ctx, attempt); err != nil {
				r.err = err
				return r
			}
		}
	}
}

func (s *Sweep) tryHeal(ctx context.Context, id ledger.HostID, t *truth) (r healed) {
	h, err := s.Store.Host(ctx, id)
	if errors.Is(err, ledger.ErrNotFound) {
		h, err = ledger.Host{ID: id}, nil
	}
	if err != nil {
		return healed{err: err}
	}
	now := s.Clock()
	before := h
	h, sum := s.observe(h, id, t, &r, now)
	if h, r.err = find(ctx, s.Store, before, h); r.err != nil {
		return r
	}
	reservations := len(h.Reservations)
	h, pruned := ledger.Prune(h, s.Policy, now)
	r.expired = reservations - len(h.Reservations)
	r.host = h
	r.late = sum.Weight >= ledger.WeightMinor
	switch {
	case h.Gone() && len(h.Tasks) == 0 && h.Revision > 0 && !t.saved:
		r.removed, r.err = true, s.Store.Remove(ctx, h)
		return r
	case h.Revision == 0 && h.Gone() && !t.saved, !r.late && (!pruned || r.expired == 0):
		return r // nothing that anyone sees; versions go with the next write
	}
	r.err = commitFitting(ctx, s.Store, h, s.Log)
	r.written = r.err == nil
	return r
}

// observe merges everything that ECS told of a host.
func (s *Sweep) observe(h ledger.Host, id ledger.HostID, t *truth, r *healed, now time.Time) (ledger.Host, ledger.Outcome) {
	var sum ledger.Outcome
	note := func(o ledger.Outcome) {
		sum.Weight = max(sum.Weight, o.Weight)
	}
	var o ledger.Outcome
	for _, seen := range t.hosts[id] {
		h, o = ledger.ObserveHost(h, seen.Seen)
		note(o)
		h, o = ledger.ObserveHealth(h, seen.Health)
		note(o)
	}
	if len(t.hosts[id]) == 0 && t.gone[id.Instance] && !h.Gone() {
		ended := h.Registration
		ended.Version, ended.Status, ended.AgentConnected = ended.Version+1, "INACTIVE", false
		h, o = ledger.ObserveHost(h, ledger.HostSeen{Registration: ended})
		note(o)
		r.lost = true
	}
	for _, arn := range t.tasksOf(id) {
		task := t.newest(id, arn, s.Tiers)
		_, had := h.Task(arn)
		if !had && (len(task.Shares) == 0 || task.Phase == ledger.PhaseStopped) {
			continue // wants no GPU, or ended before the ledger heard of it
		}
		if !had {
			r.ghosts++
		}
		h, o = ledger.ObserveTask(h, task)
		note(o)
	}
	h = stopGone(h, t, r, now, note)
	return h, sum
}

// stopGone stops the tasks that ECS was asked for by name and does not know.
func stopGone(h ledger.Host, t *truth, r *healed, now time.Time, note func(ledger.Outcome)) ledger.Host {
	for _, task := range h.Tasks {
		if task.Phase == ledger.PhaseStopped || !t.gone[task.ARN] {
			continue
		}
		r.leaks++
		task.Phase, task.LastStatus, task.StoppedAt = ledger.PhaseStopped, "STOPPED", now
		task.StopReason = "ECS does not know the task any more"
		var o ledger.Outcome
		h, o = ledger.ObserveTask(h, task)
		note(o)
	}
	return h
}

// Told is what ECS once told of a cluster: saved descriptions, or an answer of
// another time. It is merged like a sweep's, but what is absent in it means nothing.
type Told struct {
	Hosts []SeenHost
	Tasks []SeenTask
}

// Merge heals the hosts that told names with what it says of them.
func (s *Sweep) Merge(ctx context.Context, told Told) error {
	t := newTruth()
	t.saved = true
	for _, h := range told.Hosts {
		t.addHost(h)
	}
	for _, x := range told.Tasks {
		t.addTask(x)
	}
	if err := s.define(ctx, t); err != nil {
		return err
	}
	var errs []error
	for _, id := range t.allHosts() {
		if r := s.heal(ctx, id, t); r.err != nil {
			errs = append(errs, r.err)
		}
	}
	return errors.Join(errs...)
}
