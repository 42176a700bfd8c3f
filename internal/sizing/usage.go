package sizing

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
)

// Subject is what a series is of: one container of one revision, as built, on one
// model of card. Another image or card may need another size.
type Subject struct {
	Definition string `json:"definition"` // "family:revision"
	Container  string `json:"container"`
	Image      string `json:"image,omitempty"` // digest; empty when nothing told it
	Card       string `json:"card,omitempty"`  // model, such as "NVIDIA L4"; empty when nothing told it
}

// Family is the definition without its revision.
func (s Subject) Family() string {
	family, _, _ := strings.Cut(s.Definition, ":")
	return family
}

// Compare orders subjects.
func (s Subject) Compare(o Subject) int {
	return cmp.Or(cmp.Compare(s.Definition, o.Definition), cmp.Compare(s.Container, o.Container), cmp.Compare(s.Image, o.Image), cmp.Compare(s.Card, o.Card))
}

// Series is what was seen of one subject.
type Series struct {
	Subject
	Peaks     Peaks       `json:"peaks"`
	Total     gpu.MiB     `json:"totalMiB,omitempty"`  // the card's usable memory, the greatest told
	Limit     gpu.MiB     `json:"limitMiB,omitempty"`  // declared memory in force, the newest told
	Percent   gpu.Percent `json:"percent,omitempty"`   // declared ceiling in force, the newest told
	Whole     bool        `json:"whole,omitempty"`     // it takes whole cards, told by the ledger
	Processes int         `json:"processes,omitempty"` // the most at once
	Crossed   int64       `json:"crossed,omitempty"`   // windows whose peak reached the limit
	First     time.Time   `json:"first"`               //
	Last      time.Time   `json:"last"`                //
	Refused   int64       `json:"refused,omitempty"`   // peaks not believed: not positive, or above the card
	Windows   int64       `json:"windows"`             // peaks counted
}

// Sighting is one container's windowed peak, as a report told it.
type Sighting struct {
	Subject
	Peak, Total, Limit gpu.MiB
	Percent            gpu.Percent
	Processes          int
	At                 time.Time
	Seconds            int64 // how long the peak stands for
}

// MaxSeries bounds what is kept of one host.
const MaxSeries = 128

// Usage is what one host has seen. It is a plain value, stored whole.
type Usage struct {
	Cluster  string
	EC2      string
	Revision int64 // the store's fence, as in ledger.Host
	At       time.Time
	Series   []Series // ordered by subject
}

// See counts sightings. A peak that cannot be true is counted as refused and moves
// nothing else; beyond MaxSeries the series heard of longest ago goes.
func (u Usage) See(sightings []Sighting) Usage {
	u.Series = slices.Clone(u.Series)
	for _, s := range sightings {
		i, found := slices.BinarySearchFunc(u.Series, s.Subject, func(x Series, y Subject) int { return x.Compare(y) })
		if !found {
			u.Series = slices.Insert(u.Series, i, Series{Subject: s.Subject, First: s.At, Last: s.At})
		}
		u.Series[i] = u.Series[i].see(s)
		if s.At.After(u.At) {
			u.At = s.At
		}
	}
	for len(u.Series) > MaxSeries {
		oldest := 0
		for i, s := range u.Series {
			if s.Last.Before(u.Series[oldest].Last) {
				oldest = i
			}
		}
		u.Series = slices.Delete(u.Series, oldest, oldest+1)
	}
	return u
}

func (s Series) see(x Sighting) Series {
	if x.Total > 0 && x.Peak > x.Total {
		s.Refused++
		return s
	}
	peaks, ok := s.Peaks.Add(x.Peak, x.Seconds)
	if !ok {
		s.Refused++
		return s
	}
	s.Peaks, s.Windows = peaks, s.Windows+1
	s.Total, s.Processes = max(s.Total, x.Total), max(s.Processes, x.Processes)
	if !x.At.Before(s.Last) {
		s.Last = x.At
		if x.Limit > 0 {
			s.Limit = x.Limit
		}
		if x.Percent > 0 {
			s.Percent = x.Percent
		}
	}
	if x.Limit > 0 && x.Peak >= x.Limit {
		s.Crossed++
	}
	if x.At.Before(s.First) {
		s.First = x.At
	}
	return s
}

// Merge joins what several hosts saw: one series a subject, in order.
func Merge(all ...[]Series) []Series {
	by := map[Subject]Series{}
	for _, list := range all {
		for _, s := range list {
			old, ok := by[s.Subject]
			if !ok {
				by[s.Subject] = s
				continue
			}
			by[s.Subject] = old.merge(s)
		}
	}
	out := make([]Series, 0, len(by))
	for _, s := range by {
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b Series) int { return a.Compare(b.Subject) })
	return out
}

func (s Series) merge(o Series) Series {
	newer := s
	if o.Last.After(s.Last) || o.Last.Equal(s.Last) && cmp.Or(cmp.Compare(o.Limit, s.Limit), cmp.Compare(o.Percent, s.Percent)) > 0 {
		newer = o
	}
	out := Series{Subject: s.Subject, Peaks: s.Peaks.Merge(o.Peaks), Total: max(s.Total, o.Total), Limit: newer.Limit, Percent: newer.Percent,
		Processes: max(s.Processes, o.Processes), Crossed: s.Crossed + o.Crossed, First: s.First, Last: newer.Last,
		Refused: s.Refused + o.Refused, Windows: s.Windows + o.Windows}
	if o.First.Before(out.First) {
		out.First = o.First
	}
	return out
}

// Store keeps what each host has seen, under the rules of ledger.Store:
// ledger.ErrNotFound, and ledger.ErrConflict when the revision moved on.
// sizingtest.Run is its contract. A host's usage outlives the host, since its peaks
// stay true; a store drops it UsageDays after it was last written.
type Store interface {
	Usage(ctx context.Context, cluster, ec2 string) (Usage, error)
	SaveUsage(ctx context.Context, u Usage) (Usage, error)
	// Usages lists a cluster's hosts ordered by EC2 id. An empty next ends the listing.
	Usages(ctx context.Context, cluster, after string) (page []Usage, next string, err error)
}

// UsageDays is how long a host's usage is kept after its last report.
const UsageDays = 30
