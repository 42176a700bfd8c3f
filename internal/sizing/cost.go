package sizing

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

// Image is what stood on a host from a time on, until the next image of it.
type Image struct {
	At   time.Time
	Host ledger.Host
}

// Owner is whom a share's use is shown to. Team is empty where no mapping names one.
type Owner struct {
	Service string   `json:"service"` // or "family:NAME" of a task outside services
	Team    string   `json:"team,omitempty"`
	Tier    gpu.Tier `json:"tier,omitempty"`
}

// Line is one owner's use.
type Line struct {
	Owner
	GPUSeconds float64 `json:"gpuSeconds"` // cards × seconds × max(memory share, compute share), at most the card
	Cost       float64 `json:"cost"`       // of the priced part
	Unpriced   float64 `json:"unpricedGpuSeconds,omitempty"`
}

// Bill is what a cluster's cards did in a span. Used, Idle, Free, Stranded and Unknown
// add up to CardSeconds.
type Bill struct {
	From, To    time.Time
	Lines       []Line  // the costliest first
	CardSeconds float64 // registered cards × seconds
	Used        Part    // attributed to owners
	Idle        Part    // on cards that held nothing
	Free        Part    // on cards in use, and still to be had: memory and compute both
	Stranded    Part    // on cards in use, and not to be had: one of the two is spent
	Unknown     Part    // on cards whose memory was never told
	// Alone is what the sharing tasks would have taken on whole cards; Shared is the
	// card-seconds that they took together. The difference was saved.
	Alone, Shared float64
	Unpriced      []string // instance types without a price
}

// Part is an amount of card time and its price.
type Part struct {
	Seconds float64 `json:"gpuSeconds"`
	Cost    float64 `json:"cost"`
}

// Saved is the card time that sharing saved against a whole card for each task.
func (b Bill) Saved() float64 { return b.Alone - b.Shared }

// Meter adds up hosts. Fill its fields, Add each host's images, then take the Bill.
type Meter struct {
	From, To time.Time
	Prices   Prices
	// Team names the team of a service; nil or "" where there is none.
	Team func(service string) string

	bill     Bill
	lines    map[Owner]*Line
	unpriced map[string]bool
}

// Add counts one host's images, in any order. The newest image at or before From
// says what stood at the start; after the last image its state goes on to To.
func (m *Meter) Add(images []Image) {
	if m.lines == nil {
		m.lines, m.unpriced = map[Owner]*Line{}, map[string]bool{}
	}
	images = slices.Clone(images)
	slices.SortStableFunc(images, func(a, b Image) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Host.Revision, b.Host.Revision))
	})
	for i, im := range images {
		from, to := im.At, m.To
		if i+1 < len(images) {
			to = images[i+1].At
		}
		if from.Before(m.From) {
			from = m.From
		}
		if to.After(m.To) {
			to = m.To
		}
		if seconds := to.Sub(from).Seconds(); seconds > 0 && !im.Host.Gone() {
			m.addView(im.Host.View(from), seconds)
		}
	}
}

func (m *Meter) addView(v ledger.View, seconds float64) {
	cards := 0
	for _, d := range v.Devices {
		if !d.Vanished && d.Registered {
			cards++
		}
	}
	rate := m.rate(v.Host.Fixed.InstanceType, cards)
	for _, d := range v.Devices {
		if !d.Vanished && d.Registered {
			m.addCard(d, seconds, rate)
		}
	}
}

// rate is the price of a card-second; negative when there is none.
func (m *Meter) rate(instanceType string, cards int) float64 {
	t, ok := m.Prices.Lookup(instanceType)
	if !ok || t.PerHour <= 0 {
		if cards > 0 {
			m.unpriced[instanceType] = true
		}
		return -1
	}
	return t.PerHour / float64(t.GPUs) / 3600
}

func (p *Part) add(seconds, rate float64) {
	p.Seconds += seconds
	p.Cost += seconds * max(0, rate)
}

// addCard splits one card's time. Where shares weigh more than the card together
// (ceilings are no reservations), each is scaled, so that a card is paid for once.
func (m *Meter) addCard(d ledger.Device, seconds, rate float64) {
	m.bill.CardSeconds += seconds
	weights := map[Owner]float64{}
	sharing := map[string]bool{}
	var sum, memory, compute float64
	unknown := false
	for _, s := range d.Shares {
		if !s.State.Holds() {
			continue
		}
		mem, comp := 0.0, min(1, max(0, float64(s.Compute.OrFull())/100))
		switch {
		case d.Total <= 0:
			unknown = true
		case s.Sized:
			mem = min(1, max(0, float64(s.Memory)/float64(d.Total)))
		}
		w := max(mem, comp)
		sum, memory, compute = sum+w, memory+mem, compute+comp
		weights[m.owner(s)] += w
		if d.Mode == gpu.ModeShared {
			sharing[cmp.Or(s.TaskARN, s.Reservation)] = true
		}
	}
	if len(sharing) > 0 {
		m.bill.Alone += float64(len(sharing)) * seconds
		m.bill.Shared += seconds
	}
	switch {
	case sum == 0:
		m.bill.Idle.add(seconds, rate)
		return
	case unknown:
		m.bill.Unknown.add(seconds, rate)
		return
	}
	scale := seconds / max(1, sum)
	for _, o := range sortedOwners(weights) {
		m.charge(o, weights[o]*scale, rate)
	}
	rest := max(0, 1-sum)
	free := min(rest, max(0, 1-memory), max(0, 1-compute))
	m.bill.Free.add(free*seconds, rate)
	m.bill.Stranded.add((rest-free)*seconds, rate)
}

func sortedOwners(weights map[Owner]float64) []Owner {
	out := make([]Owner, 0, len(weights))
	for o := range weights {
		out = append(out, o)
	}
	slices.SortFunc(out, Owner.compare)
	return out
}

func (o Owner) compare(p Owner) int {
	return cmp.Or(cmp.Compare(o.Service, p.Service), cmp.Compare(o.Team, p.Team), cmp.Compare(o.Tier, p.Tier))
}

func (m *Meter) charge(o Owner, seconds, rate float64) {
	l, ok := m.lines[o]
	if !ok {
		l = &Line{Owner: o}
		m.lines[o] = l
	}
	l.GPUSeconds += seconds
	if rate < 0 {
		l.Unpriced += seconds
	} else {
		l.Cost += seconds * rate
	}
	m.bill.Used.add(seconds, rate)
}

func (m *Meter) owner(s ledger.Share) Owner {
	o := Owner{Service: s.Group, Tier: s.Tier}
	if name, ok := strings.CutPrefix(s.Group, "service:"); ok {
		o.Service = name
	}
	if o.Service == "" {
		o.Service = "(none)"
	}
	if m.Team != nil {
		o.Team = m.Team(o.Service)
	}
	return o
}

// Bill is what was added so far.
func (m *Meter) Bill() Bill {
	b := m.bill
	b.From, b.To = m.From, m.To
	for _, l := range m.lines {
		b.Lines = append(b.Lines, *l)
	}
	slices.SortFunc(b.Lines, func(x, y Line) int {
		return cmp.Or(cmp.Compare(y.Cost, x.Cost), cmp.Compare(y.GPUSeconds, x.GPUSeconds), x.compare(y.Owner))
	})
	for t := range m.unpriced {
		b.Unpriced = append(b.Unpriced, cmp.Or(t, "(unknown type)"))
	}
	slices.Sort(b.Unpriced)
	return b
}
