package ledger

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
)

// ChangeKind says what a Change is about.
type ChangeKind string

// A share moved, a host changed, a finding opened or closed.
const (
	ShareChanged  ChangeKind = "share"
	HostChanged   ChangeKind = "host"
	FindingOpened ChangeKind = "finding-opened"
	FindingClosed ChangeKind = "finding-closed"
)

// Change is one difference between two images of a host, as others want to hear
// it. Before is empty for what is new, After for what is gone.
type Change struct {
	Kind    ChangeKind
	Share   ShareKey
	Before  State
	After   State
	Memory  gpu.MiB
	Sized   bool
	Compute gpu.Percent
	Tier    gpu.Tier
	// What names the changed fact of a host: status, agent, capacity, health, leaving.
	What    string
	Was, Is string
	Finding Finding
}

// ShareKey names a share on its card.
type ShareKey struct {
	Device      gpu.UUID
	TaskARN     string
	Reservation string
	Container   string
}

// Diff lists what changed between two images of one host, in a stable order. Both
// are judged at the same now, so that time passing is no change.
func Diff(before, after Host, p Policy, now time.Time) []Change {
	a, b := before.View(now), after.View(now)
	out := hostChanges(before, after)
	out = append(out, shareChanges(a, b)...)
	return append(out, findingChanges(Check(a, p, now), Check(b, p, now))...)
}

func hostChanges(a, b Host) []Change {
	var out []Change
	add := func(what, was, is string) {
		if was != is {
			out = append(out, Change{Kind: HostChanged, What: what, Was: was, Is: is})
		}
	}
	add("status", a.Registration.Status, b.Registration.Status)
	add("agentConnected", flag(a.Registration.AgentConnected), flag(b.Registration.AgentConnected))
	add("agentVersion", a.Registration.AgentVersion, b.Registration.AgentVersion)
	add("ec2State", a.EC2.State, b.EC2.State)
	add("ec2InstanceId", a.Fixed.EC2InstanceID, b.Fixed.EC2InstanceID)
	add("health", healthLine(a), healthLine(b))
	add("leaving", leavingLine(a), leavingLine(b))
	add("devices", deviceLine(a), deviceLine(b))
	add("sharingCapable", flag(a.Registration.SharingCapable), flag(b.Registration.SharingCapable))
	return out
}

func flag(b bool) string {
	if b {
		return "true"
	}
	return "false"
}

func healthLine(h Host) string {
	var s []string
	for _, c := range h.Health {
		s = append(s, c.Type+"="+c.Status)
	}
	return strings.Join(s, ",")
}

func leavingLine(h Host) string {
	var s []string
	for _, l := range h.Leaving {
		s = append(s, l.Cause)
	}
	return strings.Join(s, ",")
}

func deviceLine(h Host) string {
	var s []string
	for _, d := range h.Devices {
		if !h.vanished(d) && d.Registered > 0 {
			s = append(s, string(d.UUID)+"="+d.Total.String())
		}
	}
	return strings.Join(s, ",")
}

func shareChanges(a, b View) []Change {
	was, is := sharesOf(a), sharesOf(b)
	keys := make([]ShareKey, 0, len(was)+len(is))
	for k := range was {
		keys = append(keys, k)
	}
	for k := range is {
		if _, ok := was[k]; !ok {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(x, y ShareKey) int {
		return cmp.Or(cmp.Compare(x.Device, y.Device), cmp.Compare(x.TaskARN, y.TaskARN),
			cmp.Compare(x.Reservation, y.Reservation), cmp.Compare(x.Container, y.Container))
	})
	var out []Change
	for _, k := range keys {
		old, cur := was[k], is[k]
		if old.State == cur.State && old.Memory == cur.Memory && old.Sized == cur.Sized && old.Tier == cur.Tier && old.Compute == cur.Compute {
			continue
		}
		known := cur
		if cur.State == "" {
			if old.State == StateReleased || old.State == StateExpired || old.State == StateLost {
				continue // a tombstone was dropped: nothing that anybody held
			}
			known = old
		}
		out = append(out, Change{Kind: ShareChanged, Share: k, Before: old.State, After: cur.State,
			Memory: known.Memory, Sized: known.Sized, Compute: known.Compute, Tier: known.Tier})
	}
	return out
}

func sharesOf(v View) map[ShareKey]Share {
	m := map[ShareKey]Share{}
	for _, d := range v.Devices {
		for _, s := range d.Shares {
			m[ShareKey{d.UUID, s.TaskARN, s.Reservation, s.Container}] = s
		}
	}
	for _, s := range v.Unplaced {
		m[ShareKey{"", s.TaskARN, s.Reservation, s.Container}] = s
	}
	return m
}

func findingChanges(was, is []Finding) []Change {
	type key struct {
		k Kind
		s string
	}
	old, cur := map[key]bool{}, map[key]bool{}
	for _, f := range was {
		old[key{f.Kind, f.Subject}] = true
	}
	var out []Change
	for _, f := range is {
		if k := (key{f.Kind, f.Subject}); !cur[k] {
			cur[k] = true
			if !old[k] {
				out = append(out, Change{Kind: FindingOpened, Finding: f})
			}
		}
	}
	for _, f := range was {
		if k := (key{f.Kind, f.Subject}); old[k] && !cur[k] {
			old[k] = false
			out = append(out, Change{Kind: FindingClosed, Finding: f})
		}
	}
	return out
}
