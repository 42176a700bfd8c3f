package placing

import (
	"context"
	"errors"
	"fmt"

	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

// ask starts a copy's task on the host that holds its reservation.
func (p *Placer) ask(ctx context.Context, a ask) {
	c, q := a.copy(), a.job.rec.Request
	if p.Clock().After(c.AskedAt.Add(Lease - leaseMargin)) {
		c.Text = "its lease is nearly over; it is placed anew"
		return
	}
	task, err := p.Tasks.StartTask(ctx, Ask{Cluster: q.Cluster, Instance: c.Host.Instance, Definition: q.Definition,
		StartedBy: c.Reservation, Group: q.Group, Overrides: q.Overrides})
	var no *NotStarted
	switch {
	case err == nil:
		c.State, c.Task, c.Reason, c.Text = Started, task, "", ""
		p.Log.InfoContext(ctx, "task started", "id", a.job.rec.ID, "copy", c.Reservation, "task", task, "host", c.Host.Instance)
	case errors.As(err, &no):
		a.job.fail(p.refusedByECS(ctx, c, no))
	default: // started or not: only ECS's own list can tell, the next time
		p.Log.WarnContext(ctx, "answer of StartTask lost", "id", a.job.rec.ID, "copy", c.Reservation, "host", c.Host.Instance, "error", err.Error())
		c.Text = "the answer of ECS was lost; its list of tasks will tell"
	}
}

// refusedByECS gives the room back and says what becomes of the copy: another host,
// the same later, or the end.
func (p *Placer) refusedByECS(ctx context.Context, c *Copy, no *NotStarted) error {
	reason, text := translated(no)
	p.Log.InfoContext(ctx, "ECS did not start the task", "copy", c.Reservation, "host", c.Host.Instance, "reason", reason, "ecs", no.Error())
	if err := p.release(ctx, c.Host, c.Reservation); err != nil {
		return err // still Asked: it will be resolved again, and its lease runs
	}
	c.Reason, c.Text = reason, text
	switch {
	case no.Later:
		c.State = Waiting
		return fmt.Errorf("%s: %w", reason, ErrLater)
	case no.Host && c.Tries < MaxTries:
		c.Tried = append(c.Tried, c.Host.Instance)
		c.State = Waiting
	default:
		c.State = Refused
	}
	return nil
}

// release drops a reservation, deciding a lost race again.
func (p *Placer) release(ctx context.Context, id ledger.HostID, reservation string) error {
	for attempt := 0; ; attempt++ {
		h, err := p.Ledger.Host(ctx, id)
		if errors.Is(err, ledger.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		free, was := ledger.Release(h, reservation)
		if !was {
			return nil
		}
		if _, err = p.Ledger.Commit(ctx, free); err == nil {
			return nil
		}
		if !errors.Is(err, ledger.ErrConflict) || attempt >= MaxTries {
			return fmt.Errorf("release %s on %s: %w", reservation, id.Instance, err)
		}
		if p.Wait != nil {
			if err := p.Wait(ctx, attempt+1); err != nil {
				return err
			}
		}
	}
}

// resolve finds out about copies that were asked for by an earlier run that did not
// live to tell: first in the ledger, by the task's event, then in ECS's list. Only
// when both had time and know nothing is the copy free to be placed anew.
func (p *Placer) resolve(ctx context.Context, j *job) {
	settle := p.Settle
	if settle == 0 {
		settle = Settle
	}
	changed := false
	for i := range j.rec.Copies {
		c := &j.rec.Copies[i]
		if j.err != nil || c.State != Asked {
			continue
		}
		task, err := p.find(ctx, j.rec.Request.Cluster, c)
		switch {
		case err != nil:
			j.err = err
		case task != "":
			c.State, c.Task, c.Reason, c.Text = Started, task, "", ""
			changed = true
		case p.Clock().Before(c.AskedAt.Add(settle)):
			continue // not listed yet: the message comes again
		case c.Tries >= MaxTries:
			changed = p.giveUp(ctx, j, c) || changed
		default:
			if err := p.release(ctx, c.Host, c.Reservation); err != nil {
				j.err = err
				continue
			}
			c.State = Waiting
			changed = true
		}
	}
	if changed {
		if err := p.save(ctx, j); err != nil {
			j.err = err
		}
	}
}

func (p *Placer) giveUp(ctx context.Context, j *job, c *Copy) bool {
	if err := p.release(ctx, c.Host, c.Reservation); err != nil {
		j.err = err
		return false
	}
	c.State, c.Reason, c.Text = Refused, ReasonTooMany, fmt.Sprintf("%d answers of ECS were lost, and it lists no task of it", c.Tries)
	return true
}

// find looks for the task of a copy.
func (p *Placer) find(ctx context.Context, cluster string, c *Copy) (string, error) {
	h, err := p.Ledger.Host(ctx, c.Host)
	if err != nil && !errors.Is(err, ledger.ErrNotFound) {
		return "", err
	}
	if t, ok := taskOf(h, c.Reservation); ok {
		return t.ARN, nil
	}
	found, err := p.Tasks.StartedBy(ctx, cluster, c.Reservation)
	if err != nil || len(found) == 0 {
		return "", err
	}
	return found[0], nil
}
