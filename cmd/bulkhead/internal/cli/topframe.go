package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/bulkhead-ecs/bulkhead/internal/httpapi"
)

// topState is what `top` shows and what a person chose to see.
type topState struct {
	gpus    []httpapi.GPUDoc
	levels  map[string]string // by EC2 instance id
	tenants []httpapi.TenantDoc
	trouble string

	sort, filter int
	chosen       string // UUID
	open         string // UUID of the card that is looked into
}

var (
	topSorts   = []string{"host", "memory", "compute", "clients"}
	topFilters = []string{"all", "compute over-promised", "memory full", "not healthy"}
)

// key does what a key asks for.
func (s *topState) key(k string) {
	shown := s.shown()
	at := slices.IndexFunc(shown, func(d httpapi.GPUDoc) bool { return string(d.UUID) == s.chosen })
	switch k {
	case "s":
		s.sort = (s.sort + 1) % len(topSorts)
	case "f":
		s.filter = (s.filter + 1) % len(topFilters)
	case "up":
		at = max(0, at-1)
	case "down":
		at = min(len(shown)-1, at+1)
	case "enter":
		if at >= 0 {
			s.open, s.tenants = s.chosen, nil
		}
		return
	case "esc":
		s.open = ""
		return
	default:
		return
	}
	if at >= 0 && at < len(shown) && (k == "up" || k == "down") {
		s.chosen = string(shown[at].UUID)
	}
}

// shown are the cards by filter and order.
func (s *topState) shown() []httpapi.GPUDoc {
	out := slices.DeleteFunc(slices.Clone(s.gpus), func(d httpapi.GPUDoc) bool {
		switch s.filter {
		case 1:
			return d.ComputePercent <= 100
		case 2:
			return d.TotalMiB == nil || d.HeldMiB*10 < *d.TotalMiB*9
		case 3:
			l := s.levels[d.EC2InstanceID]
			return l == "healthy" || l == "unknown" || l == ""
		}
		return false
	})
	slices.SortStableFunc(out, func(a, b httpapi.GPUDoc) int {
		switch s.sort {
		case 1:
			return cmp.Compare(part(b), part(a))
		case 2:
			return cmp.Compare(b.ComputePercent, a.ComputePercent)
		case 3:
			return cmp.Compare(b.Clients, a.Clients)
		}
		return cmp.Or(cmp.Compare(a.EC2InstanceID, b.EC2InstanceID), cmp.Compare(a.Index, b.Index))
	})
	return out
}

func part(d httpapi.GPUDoc) float64 {
	if d.TotalMiB == nil || *d.TotalMiB <= 0 {
		return 0
	}
	return float64(d.HeldMiB) / float64(*d.TotalMiB)
}

// frame draws the screen: at most h lines of at most w characters.
func (s *topState) frame(w, h int) string {
	var lines []string
	if s.open != "" {
		lines = s.cardLines()
	} else {
		lines = s.mapLines(h)
	}
	if s.trouble != "" {
		lines = append([]string{"! " + clean(s.trouble)}, lines...)
	}
	for i, l := range lines {
		lines[i] = first(l, max(1, w-1))
	}
	return strings.Join(lines[:min(len(lines), max(1, h-1))], "\n")
}

func (s *topState) mapLines(h int) []string {
	shown := s.shown()
	lines := []string{gpuTotal(s.gpus), fmt.Sprintf("sorted by %s, showing %s (%d)   s sort  f filter  ↑↓ select  enter open  q quit", topSorts[s.sort], topFilters[s.filter], len(shown)), "",
		"  HOST                 GPU  UUID          MEMORY HELD                  COMPUTE  CLIENTS  HEALTH"}
	at := max(0, slices.IndexFunc(shown, func(d httpapi.GPUDoc) bool { return string(d.UUID) == s.chosen }))
	room := max(1, h-len(lines)-2)
	from := max(0, min(at-room/2, len(shown)-room))
	for _, d := range shown[from:min(len(shown), from+room)] {
		mark := " "
		if string(d.UUID) == s.chosen {
			mark = ">"
		}
		level := s.levels[d.EC2InstanceID]
		if level == "" {
			level = "unknown"
		}
		lines = append(lines, fmt.Sprintf("%s %-20s %3d  %-12s  %s %6d/%-6s  %6d%%  %4d/48  %s", mark, cut(hostName(d.EC2InstanceID, d.ContainerInstanceARN), 20), d.Index, d.UUID.Short(),
			bar(part(d), 12), d.HeldMiB, amount(d.TotalMiB), d.ComputePercent, d.Clients, clean(level)))
	}
	return lines
}

// bar draws a part of a whole.
func bar(p float64, width int) string {
	n := int(min(1, max(0, p))*float64(width) + 0.5)
	return strings.Repeat("█", n) + strings.Repeat("·", width-n)
}

func (s *topState) cardLines() []string {
	lines := []string{"esc back  q quit", ""}
	for _, d := range s.gpus {
		if string(d.UUID) == s.open {
			lines = append(lines, fmt.Sprintf("%s on %s: %s %d/%s MiB held, compute promised %d%%, %d of 48 clients", d.UUID, hostName(d.EC2InstanceID, d.ContainerInstanceARN),
				bar(part(d), 16), d.HeldMiB, amount(d.TotalMiB), d.ComputePercent, d.Clients), "", "TASK      CONTAINER   SERVICE      TIER          MiB  COMPUTE  STATE")
		}
	}
	if s.tenants == nil {
		return append(lines, "asking who stands here…")
	}
	for _, t := range s.tenants {
		if string(t.Device) == s.open {
			lines = append(lines, fmt.Sprintf("%-8s  %-10s  %-11s  %-10s  %5s  %6d%%  %s", first(lastPart(t.TaskARN+t.Reservation), 8), cut(clean(t.Container), 10), cut(clean(t.Service), 11),
				cut(clean(string(t.Tier)), 10), amount(t.MemoryMiB), t.ComputePercent, t.State))
		}
	}
	return lines
}
