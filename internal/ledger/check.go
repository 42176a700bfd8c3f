package ledger

import (
	"fmt"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
)

// StoppingSlack is added to a task's stop timeout before its hold is a finding:
// ECS needs some time of its own around the containers' stop.
const StoppingSlack = 60 * time.Second

// DefaultStopTimeout is what ECS grants a container on EC2 that declares none.
const DefaultStopTimeout = 30 * time.Second

// Check names every breach of the ledger's laws on a host:
//
//   - held memory of a card is at most its total;
//   - a card is whole or shared, not both, and whole for one container only;
//   - shares are positive, and none is larger than its card;
//   - at most MaxClients clients a card;
//   - tiers on one card may meet;
//   - no reservation without a lease.
//
// Besides the laws it names what cannot be judged: unknown sizes, unknown,
// vanished and malformed cards, lost tasks. The order is stable.
func Check(v View, p Policy, now time.Time) []Finding {
	p = p.withDefaults()
	c := checker{view: v, policy: p, now: now}
	if v.Host.Damaged {
		c.add(ItemDamaged, Error, v.Host.ID.Instance, "its item could not be decoded; the next sweep reads it anew from ECS")
	}
	for _, d := range v.Devices {
		c.device(d)
	}
	for _, t := range v.Host.Tasks {
		c.task(t)
	}
	for _, r := range v.Host.Reservations {
		c.reservation(r)
	}
	SortFindings(c.found)
	return c.found
}

type checker struct {
	view   View
	policy Policy
	now    time.Time
	found  []Finding
}

func (c *checker) add(k Kind, s Severity, subject, format string, args ...any) {
	c.found = append(c.found, Finding{Kind: k, Severity: s, Subject: subject, Reason: fmt.Sprintf(format, args...),
		Host: c.view.Host.ID.Instance, Cluster: c.view.Host.ID.Cluster})
}

func (c *checker) device(d Device) {
	subject := string(d.UUID)
	holding := holdingShares(d)
	if facts, ok := c.view.Host.Device(d.UUID); ok && facts.Described > 0 && facts.Total <= 0 {
		c.add(TotalNotPositive, Warning, subject, "ECS describes the card with %v", facts.Total)
	}
	if d.Total > 0 && d.Held > d.Total {
		c.add(OverMemory, Error, subject, "%v held of %v, %v too much", d.Held, d.Total, d.Held.Sub(d.Total))
	}
	if !d.Registered && !d.Vanished && c.view.Host.Listed > 0 && len(holding) > 0 {
		c.add(UnknownDevice, Warning, subject, "%d shares stand on a card that the registration at version %d does not list", len(holding), c.view.Host.Listed-1)
	}
	if d.Vanished {
		if n := lostShares(d); n > 0 {
			c.add(DeviceVanished, Error, subject, "%d shares stood on a card that the registration at version %d no longer lists", n, c.view.Host.Listed-1)
		}
	}
	if d.Clients > c.policy.MaxClients && d.Mode == gpu.ModeShared {
		c.add(TooManyClients, Error, subject, "%d clients, the card admits %d", d.Clients, c.policy.MaxClients)
	}
	c.modes(d, holding)
	c.tiers(d, holding)
}

func (c *checker) modes(d Device, holding []Share) {
	var whole, other int
	for _, s := range holding {
		if s.whole() {
			whole++
		} else {
			other++
		}
	}
	if whole > 1 || whole == 1 && other > 0 {
		c.add(ModeConflict, Error, string(d.UUID), "%d containers hold it whole, %d share it", whole, other)
	}
}

// tiers names one conflict a card: the pair that comes first.
func (c *checker) tiers(d Device, holding []Share) {
	for i, a := range holding {
		for _, b := range holding[i+1:] {
			if a.TaskARN != b.TaskARN && !c.policy.compatible(a.Tier, b.Tier) {
				c.add(TierConflict, Error, string(d.UUID), "tier %s beside tier %s: %s and %s", a.Tier, b.Tier, a.TaskARN, b.TaskARN)
				return
			}
		}
	}
}

func (c *checker) task(t Task) {
	if t.Revived > t.Version {
		c.add(RunningAfterStopped, Warning, t.ARN, "stopped at version %d, yet an event of version %d says it is not", t.Version, t.Revived)
	}
	if t.Phase == PhaseStopped {
		return
	}
	if c.view.Host.Gone() && len(t.Shares) > 0 {
		c.add(TaskLost, Warning, t.ARN, "its host ended (%s) and no event said that the task stopped", ending(c.view.Host))
	}
	c.stopping(t)
	cards := map[gpu.UUID]bool{}
	for _, s := range t.Shares {
		c.share(t, s)
		if s.Need == NeedShare {
			for _, u := range s.GPUs {
				cards[u] = true
			}
		}
	}
	if len(cards) > 1 {
		c.add(SplitTask, Error, t.ARN, "the shares of one task stand on %d cards", len(cards))
	}
}

// ending says how a host ended, in ECS's word or EC2's.
func ending(h Host) string {
	if h.EC2.State == "terminated" {
		return "the instance is terminated"
	}
	return "the registration is " + h.Registration.Status
}

// stopping names a task that takes longer to stop than its containers may: it
// holds memory that ECS already offers to others.
func (c *checker) stopping(t Task) {
	if t.Phase != PhaseStopping || t.StoppingAt.IsZero() || len(t.Shares) == 0 {
		return
	}
	grant := t.StopTimeout
	if grant == 0 {
		grant = DefaultStopTimeout
	}
	if age := c.now.Sub(t.StoppingAt); age > grant+StoppingSlack {
		c.add(StoppingHold, Warning, t.ARN, "stopping for %d s, stop timeout %d s: its memory is still held", int(age.Seconds()), int(grant.Seconds()))
	}
}

func (c *checker) share(t Task, s TaskShare) {
	for _, bad := range s.Bad {
		c.add(InvalidGPUID, Error, t.ARN, "container %q names %q, which is no card's id", s.Container, bad)
	}
	switch {
	case s.Need == NeedUnknown, s.Need == NeedShare && !s.Sized:
		c.add(ShareSizeUnknown, Warning, t.ARN, "container %q: its memory is not known: no definition of %s was at hand, or it asks for a slice of a card", s.Container, t.Definition)
		return
	case s.Need == NeedShare && s.Memory <= 0:
		c.add(ShareNotPositive, Error, t.ARN, "container %q declares %v", s.Container, s.Memory)
	}
	if s.Compute < 0 || s.Compute > gpu.FullCompute {
		c.add(ComputeOutOfRange, Error, t.ARN, "container %q declares a ceiling of %v", s.Container, s.Compute)
	}
	for _, u := range s.GPUs {
		if d, ok := c.view.Host.Device(u); ok && s.Need == NeedShare && d.Total > 0 && s.Memory > d.Total {
			c.add(ShareAboveCard, Error, t.ARN, "container %q declares %v on a card of %v", s.Container, s.Memory, d.Total)
		}
	}
}

func (c *checker) reservation(r Reservation) {
	switch {
	case r.LeaseUntil.IsZero():
		c.add(NoLease, Error, r.ID, "made at %s", r.MadeAt.UTC().Format(time.RFC3339))
	case r.Expired(c.now):
		c.add(ReservationExpired, Warning, r.ID, "lease ended at %s, no task came", r.LeaseUntil.UTC().Format(time.RFC3339))
	}
}

func holdingShares(d Device) []Share {
	var out []Share
	for _, s := range d.Shares {
		if s.State.Holds() {
			out = append(out, s)
		}
	}
	return out
}

func lostShares(d Device) int {
	n := 0
	for _, s := range d.Shares {
		if s.State == StateLost {
			n++
		}
	}
	return n
}
