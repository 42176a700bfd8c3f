package placing

import (
	"context"
	"errors"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/placement"
)

// Lease is how long a reservation holds without a task: longer than ECS takes to tell
// of a task, and than a message takes to come back several times.
const Lease = 10 * time.Minute

// board is one cluster in memory: hosts as they were read, with what this batch has
// decided on top.
type board struct {
	hosts  []ledger.Host
	at     map[string]int // instance ARN → place in hosts and view
	view   placement.View
	policy placement.Policy
	laws   ledger.Policy
	now    time.Time
	dirty  map[int]bool // hosts that this batch has changed
}

func newBoard(ctx context.Context, s ledger.Store, cluster string, p placement.Policy, laws ledger.Policy, now time.Time) (*board, error) {
	var hosts []ledger.Host
	var after ledger.Cursor
	for {
		page, next, err := s.Hosts(ctx, cluster, after, 0)
		if err != nil {
			return nil, err
		}
		for _, h := range page {
			if !h.Gone() {
				hosts = append(hosts, h)
			}
		}
		if after = next; next == "" {
			return boardOf(hosts, p, laws, now), nil
		}
	}
}

func boardOf(hosts []ledger.Host, p placement.Policy, laws ledger.Policy, now time.Time) *board {
	b := &board{hosts: hosts, at: map[string]int{}, policy: p, laws: laws, now: now, dirty: map[int]bool{}}
	views := make([]ledger.View, 0, len(hosts))
	for i, h := range hosts {
		b.at[h.ID.Instance] = i
		views = append(views, h.View(now))
	}
	b.view = placement.FromLedger(views)
	return b
}

// set puts a host's new state on the board.
func (b *board) set(i int, h ledger.Host) {
	b.hosts[i] = h
	b.view.Hosts[i] = placement.FromLedger([]ledger.View{h.View(b.now)}).Hosts[0]
}

// without is the view less some hosts.
func (b *board) without(tried []string) placement.View {
	if len(tried) == 0 {
		return b.view
	}
	out := placement.View{}
	for i, h := range b.view.Hosts {
		if !contains(tried, b.hosts[i].ID.Instance) {
			out.Hosts = append(out.Hosts, h)
		}
	}
	return out
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// choose decides a copy's host and reserves on the board; the copy says the outcome.
// The ledger has the last word on a host that placement chose: both must agree before
// anything is written.
func (b *board) choose(c *Copy, w want, mode Mode) {
	p := b.policy
	if mode != ModePolicy {
		p.Optimistic = mode == Optimistic
	}
	passed := append([]string(nil), c.Tried...)
	for {
		pl, why, err := placement.Decide(b.without(passed), w.demand, p)
		c.Explanation = why.String()
		if err != nil {
			c.refuse(err)
			return
		}
		if pl.Host == "" {
			last := c.Text
			c.State, c.Reason, c.Text = Refused, ReasonNoHost, "no host admits it now: "+c.Explanation
			if last != "" {
				c.Text += "; before that: " + last
			}
			return
		}
		i := b.at[pl.Host]
		h, err := ledger.Reserve(b.hosts[i], b.lease(w, c.Reservation), b.laws, b.now)
		if err != nil {
			passed = append(passed, pl.Host)
			c.refusedBy(err)
			continue
		}
		b.set(i, h)
		b.dirty[i] = true
		c.State, c.Host, c.AskedAt = Asked, h.ID, b.now
		c.Reason, c.Text = "", ""
		return
	}
}

// unsettled reports whether anything on the board waits for its card. Until ECS names
// it, it weighs on every card of its host, so that room may be found a moment later.
func (b *board) unsettled() bool {
	for _, h := range b.view.Hosts {
		if len(h.Waiting) > 0 {
			return true
		}
	}
	return false
}

func (b *board) lease(w want, id string) ledger.Reservation {
	r := w.reservation(id)
	r.MadeAt, r.LeaseUntil = b.now, b.now.Add(Lease)
	return r
}

func (c *Copy) refuse(err error) {
	c.State = Refused
	var r *placement.Refusal
	if errors.As(err, &r) {
		c.Reason, c.Text = r.Reason, r.Field+": "+r.Text
		return
	}
	c.Reason, c.Text = ReasonWithdrawn, err.Error()
}

// refusedBy keeps the ledger's word, for when no other host will do either.
func (c *Copy) refusedBy(err error) {
	if r, ok := ledger.IsRefusal(err); ok {
		c.Reason, c.Text = r.Token, r.Text
	}
}
