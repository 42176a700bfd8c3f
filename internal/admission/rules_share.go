package admission

import (
	"fmt"
	"math"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
)

var memoryRules = []Rule{
	{ID: "BH101", Severity: Error, Title: "share without memory",
		Why:   "ECS places shares by GPU memory alone; nvidiaMps.memory is required and at least 1 MiB.",
		Fix:   "Set nvidiaMps.memory to the container's measured peak in MiB, with its CUDA context and a margin.",
		share: shareWithoutMemory},
	{ID: "BH102", Severity: Warning, Title: "memory below what a CUDA context takes",
		Why:   "The limit counts CUDA's own allocations, so a share smaller than a context cannot start.",
		Fix:   "Raise nvidiaMps.memory above the context overhead plus what the model needs.",
		share: shareBelowContext},
	{ID: "BH103", Severity: Error, Title: "memory above every card",
		Why:  "A share must fit on one GPU; this one fits on none that the task may land on, so it is never placed.",
		Fix:  "Lower nvidiaMps.memory, use a larger card, or take a whole GPU with value.",
		task: shareAboveCards},
	{ID: "BH104", Severity: Error, Title: "shares of one task above every card",
		Why:  "ECS puts all shared containers of a task on the same GPU, which must have room for their sum.",
		Fix:  "Lower the shares, or split the containers into several task definitions.",
		task: sumAboveCards},
	{ID: "BH105", Severity: Error, Title: "whole GPU mixed with a share",
		Why:  "A requirement has either value or sharingStrategy, and all GPU containers of a task use the same option.",
		Fix:  "Drop value where the container shares, or give every GPU container of the task a whole GPU.",
		task: wholeMixedWithShare},
	{ID: "BH106", Severity: Error, Title: "sharing strategy that asks for nothing",
		Why:       "A sharingStrategy without nvidiaMps is refused, or gives the container no card.",
		Fix:       "Write sharingStrategy.nvidiaMps with memory and maxComputePercent.",
		container: emptyStrategy},
}

func shareWithoutMemory(r *report, c container, s *node) {
	if s.unresolved() {
		return
	}
	m := s.get("memory")
	if m == nil || m.kind == kindNull {
		r.at(s, c.node, "nvidiaMps has no memory")
	} else if v, ok := m.integer(); !m.unresolved() && (!ok || v <= 0 || v > math.MaxInt32) {
		r.at(m, c.node, fmt.Sprintf("memory is %q; it must be a whole number of MiB, 1 or more", m.text))
	}
}

func shareBelowContext(r *report, c container, s *node) {
	m := s.get("memory")
	if v, ok := m.integer(); ok && v > 0 && gpu.MiB(v) <= r.policy.ContextOverheadMiB {
		r.at(m, c.node, fmt.Sprintf("%s is not more than the %s that a CUDA context takes", gpu.MiB(v), r.policy.ContextOverheadMiB))
	}
}

func shareAboveCards(r *report, t *task, cs []container) {
	cards, _ := t.targets(r.policy)
	card := largest(cards)
	for _, c := range cs {
		for _, s := range c.shares {
			m := s.get("memory")
			if v, ok := m.integer(); ok && v <= math.MaxInt32 && gpu.MiB(v) > card.MemoryMiB {
				r.at(m, c.node, fmt.Sprintf("%s is more than the largest card has (%s, %s)", gpu.MiB(v), card.Name, card.MemoryMiB))
			}
		}
	}
}

func sumAboveCards(r *report, t *task, cs []container) {
	cards, _ := t.targets(r.policy)
	card := largest(cards)
	var sum, most gpu.MiB
	var last, in *node
	n := 0
	for _, c := range cs {
		for _, s := range c.shares {
			v, ok := s.get("memory").integer()
			if !ok || v < 0 || v > math.MaxInt32 {
				continue
			}
			n++
			last, in, sum, most = s, c.node, sum.Add(gpu.MiB(v)), max(most, gpu.MiB(v))
		}
	}
	if n > 1 && sum > card.MemoryMiB && most <= card.MemoryMiB {
		r.at(last, in, fmt.Sprintf("the task's shares sum to %s; the largest card has %s (%s)", sum, card.MemoryMiB, card.Name))
	}
}

// emptyStrategy looks at strategies that are not nvidiaMps, and at requirements that say nothing.
func emptyStrategy(r *report, c container) {
	for _, q := range c.reqs {
		s := q.get("sharingStrategy")
		if s == nil || s.unresolved() {
			continue
		}
		if m := s.get("nvidiaMps"); m == nil || m.kind == kindNull {
			r.at(s, c.node, "sharingStrategy has no nvidiaMps")
		}
	}
}

func wholeMixedWithShare(r *report, _ *task, cs []container) {
	shared := len(sharing(cs)) > 0
	for _, c := range cs {
		for _, q := range c.reqs {
			if v := q.get("value"); v != nil && shared {
				r.at(v, c.node, "value stands in a task that shares its GPU")
			}
		}
	}
}

var computeRules = []Rule{
	{ID: "BH110", Severity: Warning, Title: "no compute ceiling",
		Why:   "Without maxComputePercent one container may use every SM of the card, and nothing caps contention.",
		Fix:   "Set nvidiaMps.maxComputePercent; it is a ceiling, not a reservation.",
		share: noCeiling},
	{ID: "BH111", Severity: Error, Title: "compute ceiling out of range",
		Why:   "A percentage of one GPU is from 1 to 100.",
		Fix:   "Set nvidiaMps.maxComputePercent from 1 to 100. A figure above 100 means 100.",
		share: ceilingOutOfRange},
	{ID: "BH112", Severity: Warning, Title: "compute ceiling below one SM",
		Why:  "MPS grants whole streaming multiprocessors; a ceiling under one gives less than was meant, or more.",
		Fix:  "Raise nvidiaMps.maxComputePercent to at least 100 divided by the card's SMs.",
		task: ceilingBelowSM},
}

func noCeiling(r *report, c container, s *node) {
	if s.kind == kindMap && s.get("maxComputePercent") == nil {
		r.at(s, c.node, "maxComputePercent is not set")
	}
}

func ceilingOutOfRange(r *report, c container, s *node) {
	p := s.get("maxComputePercent")
	if p == nil || p.unresolved() {
		return
	}
	v, ok := p.integer()
	switch {
	case ok && v > 100:
		r.replace(p, c.node, "100", fmt.Sprintf("maxComputePercent is %d", v))
	case !ok || v < 1:
		r.at(p, c.node, fmt.Sprintf("maxComputePercent is %q", p.text))
	}
}

// ceilingBelowSM finds ceilings under one SM on a card that is named, or on every card there is.
func ceilingBelowSM(r *report, t *task, cs []container) {
	cards, known := t.targets(r.policy)
	var least Card // where the ceiling gives least; of all cards where none is named, where it gives most
	for _, card := range cards {
		if card.SMs > 0 && (least.SMs == 0 || known && card.SMs < least.SMs || !known && card.SMs > least.SMs) {
			least = card
		}
	}
	for _, c := range cs {
		for _, s := range c.shares {
			p := s.get("maxComputePercent")
			if v, ok := p.integer(); ok && v > 0 && least.SMs > 0 && v*int64(least.SMs) < 100 && v <= 100 {
				r.at(p, c.node, fmt.Sprintf("%d%% of %s (%d SMs) is less than one SM", v, least.Name, least.SMs))
			}
		}
	}
}
