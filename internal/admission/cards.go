package admission

import (
	"regexp"
	"strings"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
)

// Card is a GPU that tasks may land on.
type Card struct {
	Name      string  `yaml:"name"`
	MemoryMiB gpu.MiB `yaml:"memoryMiB"` // what ECS reports as totalMemoryInMiB, less than the nominal size
	SMs       int     `yaml:"sms"`       // streaming multiprocessors; 0 when not known
}

// family is what EC2 instance types of one family carry.
type family struct {
	cards []Card // the largest last
	why   string // why it cannot share; empty when it can
}

// families are EC2's families with NVIDIA cards. Memory is the nominal size of AWS's product pages, so never less
// than what ECS reports: a share above it fits on no such card. SMs are those of NVIDIA's data sheets, 0 where
// they are not sure. A policy that names cards takes the place of the whole table.
var families = func() map[string]family {
	t4, v100, v100big := Card{"T4", 16 << 10, 40}, Card{"V100", 16 << 10, 80}, Card{"V100 32 GB", 32 << 10, 80}
	a10g, l4, l40s := Card{"A10G", 24 << 10, 80}, Card{"L4", 24 << 10, 58}, Card{"L40S", 48 << 10, 142}
	a100, a100big := Card{"A100 40 GB", 40 << 10, 108}, Card{"A100 80 GB", 80 << 10, 108}
	h100, h200 := Card{"H100", 80 << 10, 132}, Card{"H200", 141 << 10, 132}
	one := func(c Card) family { return family{cards: []Card{c}} }
	fraction := family{why: "it carries fractional (vGPU) devices"}
	old := family{why: "its cards are older than Volta, and have no limits under MPS"}
	none := family{why: "it carries no NVIDIA card"}
	return map[string]family{
		"g4dn": one(t4), "g5g": one(Card{"T4G", 16 << 10, 40}), "p3": one(v100), "p3dn": one(v100big),
		"g5": one(a10g), "g6": one(l4), "gr6": one(l4), "g6e": one(l40s), "p4d": one(a100), "p4de": one(a100big),
		"p5": one(h100), "p5e": one(h200), "p5en": one(h200), "p6-b200": one(Card{"B200", 192 << 10, 0}),
		"p6e-gb200": one(Card{"GB200", 192 << 10, 0}), "p6-b300": one(Card{"B300", 288 << 10, 0}),
		"g6f": fraction, "gr6f": fraction,
		"g2": old, "g3": old, "g3s": old, "p2": old,
		"g4ad": none, "inf1": none, "inf2": none, "trn1": none, "trn1n": none, "trn2": none, "dl1": none, "dl2q": none,
	}
}()

// targets are the cards that a task may land on, and whether they are known: named by the policy, or by an
// instance type that the task's placement constraints demand. Otherwise they are all that EC2 has.
func (t *task) targets(p Policy) (cards []Card, known bool) {
	if len(p.Cards) > 0 {
		return p.Cards, true
	}
	for _, d := range t.demanded() {
		cards = append(cards, families[d.what].cards...)
	}
	if len(cards) > 0 {
		return cards, true
	}
	for _, f := range families {
		cards = append(cards, f.cards...)
	}
	return cards, false
}

func largest(cards []Card) Card {
	var best Card
	for _, c := range cards {
		if c.MemoryMiB > best.MemoryMiB || c.MemoryMiB == best.MemoryMiB && c.Name < best.Name {
			best = c
		}
	}
	return best
}

func smallest(cards []Card) Card {
	best := largest(cards)
	for _, c := range cards {
		if c.MemoryMiB < best.MemoryMiB || c.MemoryMiB == best.MemoryMiB && c.Name < best.Name {
			best = c
		}
	}
	return best
}

var (
	typeDemand = regexp.MustCompile(`(\bnot\s*\(\s*|!\s*\(?\s*)?attribute:ecs\.instance-type\s*(?:==|=~|\bin\b|\bmatches\b)\s*(\[[^\]]*\]|\([^)]*\)|\S+)`)
	familyName = regexp.MustCompile(`\b([a-z]+\d+[a-z]*(?:-[a-z]+\d+)?)(?:\.|\\\.|\*|$)`)
)

// demanded are the instance families that the task's placement constraints ask for, with their place.
func (t *task) demanded() []usage {
	var out []usage
	for _, p := range t.root.get("placementConstraints").list() {
		e := p.get("expression")
		for _, m := range typeDemand.FindAllStringSubmatch(strings.ToLower(e.string()), -1) {
			if m[1] != "" {
				continue
			}
			for _, f := range strings.FieldsFunc(m[2], func(r rune) bool { return strings.ContainsRune("[](), '\"|^", r) }) {
				if name := familyName.FindStringSubmatch(f); name != nil {
					out = append(out, usage{e, name[1]})
				}
			}
		}
	}
	return out
}
