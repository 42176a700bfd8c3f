package ingest

import (
	"slices"
	"strings"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

// ContainerGPUs is what an event or description says of one container: its name
// and the cards ECS named.
type ContainerGPUs struct {
	Name string
	IDs  []string
}

// MaxContainerGPUs bounds the ids kept of one container; the largest instances
// have sixteen cards.
const MaxContainerGPUs = 64

// Shares joins what a definition says that containers need with the cards that
// ECS named. def is nil when the definition is not at hand: then every container
// with a card is kept with an unknown size. The order is by container name, so
// that equal facts give equal values.
func Shares(containers []ContainerGPUs, def *ledger.Definition) []ledger.TaskShare {
	var out []ledger.TaskShare
	if def != nil {
		for _, need := range def.Containers {
			s := ledger.TaskShare{Container: need.Name, Need: need.Need, Memory: need.Memory, Compute: need.Compute,
				Sized: need.Need == ledger.NeedShare}
			if i := slices.IndexFunc(containers, func(c ContainerGPUs) bool { return c.Name == need.Name }); i >= 0 {
				s.GPUs, s.Bad = splitIDs(containers[i].IDs)
			}
			out = append(out, s)
		}
	}
	for _, c := range containers {
		if len(c.IDs) == 0 || slices.ContainsFunc(out, func(s ledger.TaskShare) bool { return s.Container == c.Name }) {
			continue
		}
		// ECS named a card for a container that the definition gives none, or there
		// is no definition: keep the fact, size unknown.
		s := ledger.TaskShare{Container: c.Name}
		s.GPUs, s.Bad = splitIDs(c.IDs)
		out = append(out, s)
	}
	slices.SortStableFunc(out, func(a, b ledger.TaskShare) int { return strings.Compare(a.Container, b.Container) })
	return out
}

// splitIDs parts ids of cards from what is none, both sorted, without doubles.
func splitIDs(ids []string) (cards []gpu.UUID, bad []string) {
	for _, id := range ids[:min(len(ids), MaxContainerGPUs)] {
		if u := gpu.UUID(id); u.Valid() {
			cards = append(cards, u)
		} else {
			bad = append(bad, Bounded(id, gpu.MaxUUIDLen))
		}
	}
	slices.Sort(cards)
	slices.Sort(bad)
	return slices.Compact(cards), slices.Compact(bad)
}

// Bounded cuts a hostile text to n bytes at a rune and replaces control
// characters, so that it can be shown, logged and stored.
func Bounded(s string, n int) string {
	if len(s) > n {
		s = s[:n]
	}
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "�"))
}
