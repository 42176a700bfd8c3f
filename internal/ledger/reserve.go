package ledger

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
)

// Reservation is a decision of ours: room on a host that no card is named for
// yet. It always has a lease; when the lease runs out it holds nothing.
type Reservation struct {
	ID         string // at most 36 characters: it travels as startedBy
	Definition string
	Tier       gpu.Tier
	Containers []ContainerNeed
	MadeAt     time.Time
	LeaseUntil time.Time
}

// Expired reports whether the lease has run out.
func (r Reservation) Expired(now time.Time) bool { return !now.Before(r.LeaseUntil) }

// Memory is what the reservation needs on one card: the containers of a sharing
// task all go to the same one.
func (r Reservation) Memory() gpu.MiB {
	var m gpu.MiB
	for _, c := range r.Containers {
		m = m.Add(c.Memory)
	}
	return m
}

// Refusal is why a decision was not allowed. Token is stable and countable;
// the text says by how much.
type Refusal struct {
	Token string
	Text  string
}

// Error makes a Refusal an error.
func (r Refusal) Error() string { return r.Token + ": " + r.Text }

// Reasons for refusing a reservation.
const (
	RefusedBadReservation = "BadReservation"
	RefusedHostGone       = "HostGone"
	RefusedNotActive      = "HostNotActive"
	RefusedLeaving        = "HostLeaving"
	RefusedNotCapable     = "SharingNotSupported"
	RefusedMemory         = "GPUMemoryInsufficient"
	RefusedClients        = "ClientSlotsInsufficient"
	RefusedTier           = "TierConflict"
	RefusedDuplicate      = "ReservationExists"
	RefusedUnplaced       = "UnplacedShareUnknown"
)

// Reserve adds a reservation, or refuses. ECS will choose the card, so the host
// must have one where the demand fits beside everything unplaced; which cards
// ECS could choose instead is placement's question, asked before this one.
func Reserve(h Host, r Reservation, p Policy, now time.Time) (Host, error) {
	p = p.withDefaults()
	r.MadeAt, r.LeaseUntil = ms(r.MadeAt), ms(r.LeaseUntil)
	if err := reservable(h, r, now); err != nil {
		return h, err
	}
	v := h.View(now)
	ask := r.Memory()
	waits, err := waiting(v)
	if err != nil {
		return h, err
	}
	var best Refusal
	for _, d := range v.Devices {
		no, ok := deviceAdmits(d, r, p, waits)
		if ok {
			i, _ := slices.BinarySearchFunc(h.Reservations, r.ID, compareReservation)
			h.Reservations = slices.Insert(slices.Clone(h.Reservations), i, r)
			return h, nil
		}
		if best.Token == "" {
			best = no
		}
	}
	if best.Token == "" {
		best = Refusal{RefusedMemory, fmt.Sprintf("%v asked, host has no card", ask)}
	}
	return h, best
}

func reservable(h Host, r Reservation, now time.Time) error {
	switch {
	case r.ID == "" || len(r.ID) > 36 || len(r.Containers) == 0:
		return Refusal{RefusedBadReservation, "a reservation needs an id of 1 to 36 characters and a container"}
	case !r.LeaseUntil.After(now):
		return Refusal{RefusedBadReservation, "a reservation needs a lease that ends after now"}
	case h.Gone():
		return Refusal{RefusedHostGone, "its registration has ended"}
	case h.Registration.Status != "ACTIVE" || !h.Registration.AgentConnected:
		return Refusal{RefusedNotActive, fmt.Sprintf("status %q, agent connected %v", h.Registration.Status, h.Registration.AgentConnected)}
	case len(h.Leaving) > 0:
		return Refusal{RefusedLeaving, h.Leaving[0].Cause}
	case !h.Registration.SharingCapable:
		return Refusal{RefusedNotCapable, "the instance lacks ecs.capability.gpu-sharing-mps"}
	}
	for _, c := range r.Containers {
		if c.Need != NeedShare || c.Memory <= 0 {
			return Refusal{RefusedBadReservation, fmt.Sprintf("container %q does not ask for a positive share", c.Name)}
		}
	}
	if _, ok := slices.BinarySearchFunc(h.Reservations, r.ID, compareReservation); ok {
		return Refusal{RefusedDuplicate, r.ID}
	}
	return nil
}

// pending is what stands on the host and on no card yet. ECS may put all of it on
// any card, so it weighs on each.
type pending struct {
	memory gpu.MiB
	shares []Share
}

// waiting adds up the unplaced shares that hold. One whose size is not known, or
// that takes whole cards, could fill any card: then nothing can be promised.
func waiting(v View) (pending, error) {
	var w pending
	for _, s := range v.Unplaced {
		switch {
		case !s.State.Holds():
			continue
		case s.whole() || !s.Sized || s.Memory <= 0:
			return w, Refusal{RefusedUnplaced, fmt.Sprintf("container %q of %s waits for a card, and what it will take there is not known", s.Container, s.TaskARN+s.Reservation)}
		}
		w.memory = w.memory.Add(s.Memory)
		w.shares = append(w.shares, s)
	}
	return w, nil
}

func deviceAdmits(d Device, r Reservation, p Policy, waits pending) (Refusal, bool) {
	free, known := d.Free()
	ask := r.Memory()
	clients := d.Clients + len(waits.shares)
	switch {
	case !known || !d.Registered || d.Mode == gpu.ModeDedicated || !ask.Fits(d.Held.Add(waits.memory), d.Total):
		return Refusal{RefusedMemory, fmt.Sprintf("%v asked, %v free on %s, %v waiting for a card", ask, free, d.UUID.Short(), waits.memory)}, false
	case clients+len(r.Containers) > p.MaxClients:
		return Refusal{RefusedClients, fmt.Sprintf("%d of %d clients on or coming to %s", clients, p.MaxClients, d.UUID.Short())}, false
	}
	for _, s := range slices.Concat(d.Shares, waits.shares) {
		if s.State.Holds() && !p.compatible(s.Tier, r.Tier) {
			return Refusal{RefusedTier, fmt.Sprintf("%s beside %s on %s", r.Tier, s.Tier, d.UUID.Short())}, false
		}
	}
	return Refusal{}, true
}

// Release drops a reservation, because its task could not be started.
func Release(h Host, id string) (Host, bool) {
	n := dropReservation(h.Reservations, id)
	gone := len(n) != len(h.Reservations)
	h.Reservations = n
	return h, gone
}

func dropReservation(rs []Reservation, id string) []Reservation {
	i, ok := slices.BinarySearchFunc(rs, id, compareReservation)
	if !ok || id == "" {
		return rs
	}
	return slices.Delete(slices.Clone(rs), i, i+1)
}

func compareReservation(r Reservation, id string) int { return strings.Compare(r.ID, id) }

// compatible reports whether two tiers may share a card.
func (p Policy) compatible(a, b gpu.Tier) bool {
	for _, t := range []gpu.Tier{a, b} {
		switch p.Tiers[t] {
		case TierExclusive:
			return false
		case TierOnlySame:
			if a != b {
				return false
			}
		}
	}
	return true
}

// Prune drops what no retry can reach any more: tombstones older than the
// window, reservations past lease and grace, and cards that vanished and hold
// nothing. It reports whether anything went.
func Prune(h Host, p Policy, now time.Time) (Host, bool) {
	p = p.withDefaults()
	before := len(h.Tasks) + len(h.Reservations) + len(h.Devices)
	if p.TombstoneWindow >= 0 {
		cut := now.Add(-p.TombstoneWindow)
		h.Tasks = kept(h.Tasks, func(t Task) bool { return t.Phase != PhaseStopped || !laterOf(t.endedAt(), t.Heard).Before(cut) })
	}
	h.Reservations = kept(h.Reservations, func(r Reservation) bool { return now.Before(r.LeaseUntil.Add(p.ReservationGrace)) })
	if p.TombstoneWindow >= 0 && slices.ContainsFunc(h.Devices, h.vanished) {
		named := map[gpu.UUID]bool{}
		for _, t := range h.Tasks {
			for _, s := range t.Shares {
				for _, u := range s.GPUs {
					named[u] = true
				}
			}
		}
		h.Devices = kept(h.Devices, func(d DeviceFacts) bool { return !h.vanished(d) || named[d.UUID] })
	}
	return h, before != len(h.Tasks)+len(h.Reservations)+len(h.Devices)
}

// DropOldest drops the older half of the tombstones, for a host that has grown too
// large to be kept. It returns how many went.
func DropOldest(h Host) (Host, int) {
	var ends []time.Time
	for _, t := range h.Tasks {
		if t.Phase == PhaseStopped {
			ends = append(ends, laterOf(t.endedAt(), t.Heard))
		}
	}
	if len(ends) == 0 {
		return h, 0
	}
	slices.SortFunc(ends, time.Time.Compare)
	left := (len(ends) + 1) / 2
	cut, before := ends[left-1], len(h.Tasks)
	h.Tasks = kept(h.Tasks, func(t Task) bool {
		if t.Phase != PhaseStopped || left == 0 || laterOf(t.endedAt(), t.Heard).After(cut) {
			return true
		}
		left--
		return false
	})
	return h, before - len(h.Tasks)
}

func (t Task) endedAt() time.Time {
	switch {
	case !t.StoppedAt.IsZero():
		return t.StoppedAt
	case !t.StoppingAt.IsZero():
		return t.StoppingAt
	}
	return t.At
}

// kept filters without writing in place; it returns the same slice when all stay.
func kept[T any](in []T, keep func(T) bool) []T {
	for i := range in {
		if !keep(in[i]) {
			out := slices.Clone(in[:i])
			for _, x := range in[i+1:] {
				if keep(x) {
					out = append(out, x)
				}
			}
			return out
		}
	}
	return in
}

var _ error = Refusal{}

// IsRefusal reports whether err is a refusal and which.
func IsRefusal(err error) (Refusal, bool) {
	var r Refusal
	ok := errors.As(err, &r)
	return r, ok
}
