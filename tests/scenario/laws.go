package scenario

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bulkhead-ecs/bulkhead/internal/fleet"
	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

// Play is one script under way, for those who make scripts up.
type Play struct {
	w         *world
	revisions map[ledger.HostID]revision
}

// revision is a host as it was first seen at one.
type revision struct {
	number int64
	image  string
}

// NewPlay begins one.
func NewPlay() *Play { return &Play{w: newWorld(), revisions: map[ledger.HostID]revision{}} }

// Line plays one line and returns what was said.
func (p *Play) Line(line string) string { return play(p.w, line) }

// hosts lists the ledger's.
func (p *Play) hosts() ([]ledger.Host, error) {
	hosts, _, err := p.w.store.Hosts(context.Background(), cluster, "", 10_000)
	return hosts, err
}

// Laws holds after every line, whatever happened before it: no task is twice, what
// ended stays ended, what was acknowledged is not forgotten, nothing is released
// that still runs, a host is what its version was, and nothing changes but by a
// commit.
func (p *Play) Laws() error {
	hosts, err := p.hosts()
	if err != nil {
		return err
	}
	at := map[string]string{}
	for _, h := range hosts {
		name := last(h.ID.Instance)
		for _, t := range h.Tasks {
			if other, twice := at[last(t.ARN)]; twice {
				return fmt.Errorf("task %s is on %s and on %s", last(t.ARN), other, name)
			}
			at[last(t.ARN)] = name
			if err := p.task(t); err != nil {
				return err
			}
		}
		if err := errors.Join(p.reservations(h), p.registration(name, h), p.committed(h), p.holds(h.View(p.w.now))); err != nil {
			return err
		}
	}
	for name := range p.w.acked.tasks {
		truth, known := p.w.tasks[name]
		if _, there := at[name]; !there && known && truth.last != "STOPPED" {
			return fmt.Errorf("task %s was acknowledged and the ledger has it not", name)
		}
	}
	return nil
}

// task holds one task of the ledger against what was acknowledged of it.
func (p *Play) task(t ledger.Task) error {
	name := last(t.ARN)
	switch {
	case p.w.acked.stopped[name] && t.Phase != ledger.PhaseStopped:
		return fmt.Errorf("task %s ended and came back", name)
	case t.Phase != ledger.PhaseStopped && t.Version < p.w.acked.tasks[name]:
		return fmt.Errorf("task %s: version %d was acknowledged, the ledger has %d", name, p.w.acked.tasks[name], t.Version)
	}
	return nil
}

// reservations have a lease, and end when their task is there.
func (p *Play) reservations(h ledger.Host) error {
	for _, r := range h.Reservations {
		if r.LeaseUntil.IsZero() {
			return fmt.Errorf("reservation %s has no lease", r.ID)
		}
		if i := slices.IndexFunc(h.Tasks, func(t ledger.Task) bool { return t.StartedBy == r.ID }); i >= 0 {
			return fmt.Errorf("reservation %s still holds beside its task %s", r.ID, last(h.Tasks[i].ARN))
		}
	}
	return nil
}

// registration is what ECS said at that version, and no older than acknowledged.
func (p *Play) registration(name string, h ledger.Host) error {
	v := h.Registration.Version
	was, known := p.w.history[name][v]
	switch {
	case v == 0 || h.Gone():
		return nil
	case v < p.w.acked.hosts[name]:
		return fmt.Errorf("host %s: version %d was acknowledged, the ledger has %d", name, p.w.acked.hosts[name], v)
	case known && was.status != h.Registration.Status:
		return fmt.Errorf("host %s was %s at version %d, the ledger says %s", name, was.status, v, h.Registration.Status)
	case p.w.acked.spot[name] && len(h.Leaving) == 0:
		return fmt.Errorf("host %s: its Spot notice was acknowledged and is forgotten", name)
	}
	if !known {
		return nil
	}
	var want []gpu.UUID
	for _, c := range was.cards {
		want = append(want, gpu.UUID(cardID(c)))
	}
	slices.Sort(want)
	if got := listedCards(h); !slices.Equal(got, want) {
		return fmt.Errorf("host %s had cards %v at version %d, the ledger says %v", name, want, v, got)
	}
	return nil
}

// listedCards are those that the newest registration lists.
func listedCards(h ledger.Host) []gpu.UUID {
	var out []gpu.UUID
	for _, d := range h.Devices {
		if d.Registered > 0 && d.Registered == h.Listed {
			out = append(out, d.UUID)
		}
	}
	return out
}

// committed holds that a host changes by a commit and by nothing else.
func (p *Play) committed(h ledger.Host) error {
	now := fmt.Sprintf("%+v", h)
	before, seen := p.revisions[h.ID]
	p.revisions[h.ID] = revision{h.Revision, now}
	if seen && before.number == h.Revision && before.image != now {
		return fmt.Errorf("host %s changed at revision %d without a commit", last(h.ID.Instance), h.Revision)
	}
	return nil
}

// holds holds that nothing is called released which ECS has not stopped.
func (p *Play) holds(v ledger.View) error {
	for _, d := range v.Devices {
		for _, s := range d.Shares {
			truth, known := p.w.tasks[last(s.TaskARN)]
			if s.State == ledger.StateReleased && known && truth.last != "STOPPED" {
				return fmt.Errorf("task %s is released and ECS says %s", truth.name, truth.last)
			}
		}
	}
	return sound(v)
}

// sound holds a view's sums against its shares.
func sound(v ledger.View) error {
	for _, d := range v.Devices {
		var held gpu.MiB
		for _, s := range d.Shares {
			if s.State.Holds() && s.Sized {
				held += s.Memory
			}
		}
		if held != d.Held {
			return fmt.Errorf("%s says %v held, its shares %v", d.UUID.Short(), d.Held, held)
		}
	}
	return nil
}

// Settle ends every fault, lets the read lag pass and sweeps twice: then the ledger
// is the fleet's truth, and the journal is the ledger.
func (p *Play) Settle() error {
	p.w.faults, p.w.mute, p.w.holding = nil, false, false
	p.Line("hold off\nretry\nwait 6m\nsweep\nwait 1m\nsweep")
	hosts, err := p.hosts()
	if err != nil {
		return err
	}
	told := map[string]bool{}
	for _, h := range hosts {
		if err := p.equal(h, told); err != nil {
			return err
		}
	}
	for name, t := range p.w.tasks {
		_, registered := p.w.hosts[t.host]
		if t.last != "STOPPED" && registered && p.w.hosts[t.host].status != "INACTIVE" && !told[name] && len(p.w.defs[defARN(t.def)].Containers) > 0 {
			return fmt.Errorf("task %s runs on %s and the ledger has it not", name, t.host)
		}
	}
	return errors.Join(p.Laws(), p.journal())
}

// equal holds one host of the ledger against the truth.
func (p *Play) equal(h ledger.Host, told map[string]bool) error {
	truth, registered := p.w.hosts[last(h.ID.Instance)]
	if !registered && !h.Gone() {
		return fmt.Errorf("host %s is gone and the ledger does not say so", last(h.ID.Instance))
	}
	if registered && h.Registration.Status != truth.status {
		return fmt.Errorf("host %s is %s, the ledger says %s", truth.name, truth.status, h.Registration.Status)
	}
	for _, t := range h.Tasks {
		x, known := p.w.tasks[last(t.ARN)]
		switch {
		case t.Phase == ledger.PhaseStopped && known && x.last != "STOPPED":
			return fmt.Errorf("task %s runs and the ledger calls it stopped", x.name)
		case t.Phase == ledger.PhaseStopped:
			continue
		case !known || x.last == "STOPPED":
			return fmt.Errorf("task %s is over and the ledger holds it", last(t.ARN))
		}
		told[x.name] = true
		for _, s := range t.Shares {
			want := []gpu.UUID(nil)
			if c, named := x.cards[s.Container]; named {
				want = []gpu.UUID{gpu.UUID(cardID(c))}
			}
			if !slices.Equal(s.GPUs, want) {
				return fmt.Errorf("task %s is on %v, the ledger says %v", x.name, want, s.GPUs)
			}
		}
	}
	for _, r := range h.Reservations {
		if !p.w.now.Before(r.LeaseUntil.Add(ledger.DefaultReservationGrace)) {
			return fmt.Errorf("reservation %s outlived its lease", r.ID)
		}
	}
	return nil
}

// journal holds what the journal answers for now against the store.
func (p *Play) journal() error {
	out := fleet.Outbox{Store: p.w.store, Policy: p.w.policy}
	if err := out.Batch(context.Background(), p.w.images); err != nil {
		return err
	}
	p.w.images = nil
	hosts, err := p.hosts()
	if err != nil {
		return err
	}
	q := fleet.Query{Store: p.w.store, Policy: p.w.policy, Clock: p.w.clock}
	for _, h := range hosts {
		v, _, err := q.At(context.Background(), h.ID, p.w.now)
		if err != nil {
			return fmt.Errorf("journal of %s: %w", last(h.ID.Instance), err)
		}
		if v.Host.Revision != h.Revision || len(v.Host.Tasks) != len(h.Tasks) {
			return fmt.Errorf("the journal has %s at revision %d, the ledger at %d", last(h.ID.Instance), v.Host.Revision, h.Revision)
		}
	}
	return nil
}

// Faulted reports whether something said is a failure that a carrier brings again.
func Faulted(said string) bool { return strings.Contains(said, "failed") }
