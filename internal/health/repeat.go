package health

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
)

// Incident is one attributed fault, as history.
type Incident struct {
	At      time.Time `json:"at,omitzero"`
	Device  gpu.UUID  `json:"device,omitzero"`
	Host    string    `json:"host,omitzero"`
	Token   string    `json:"token,omitzero"`  // "Xid31"
	Family  string    `json:"family,omitzero"` // the culprit's "family:revision"
	Certain bool      `json:"certain,omitzero"`
	Victims int       `json:"victims,omitzero"`
}

// RepeatPolicy says when a culprit has done it often enough.
type RepeatPolicy struct {
	Count      int           // certain incidents of one family:revision
	Within     time.Duration // in this window
	Quarantine bool          // advise to quarantine the revision, not only a whole GPU
}

// DefaultRepeatPolicy: three certain incidents in a day.
func DefaultRepeatPolicy() RepeatPolicy { return RepeatPolicy{Count: 3, Within: day} }

// Culprit is a finding about one task definition revision.
type Culprit struct {
	Family    string    `json:"family,omitzero"`
	Incidents int       `json:"incidents,omitzero"`
	Victims   int       `json:"victims,omitzero"` // tasks of others that it took along
	Devices   int       `json:"devices,omitzero"` // different cards: one card only would accuse the card instead
	Tokens    []string  `json:"tokens,omitzero"`
	First     time.Time `json:"first,omitzero"`
	Last      time.Time `json:"last,omitzero"`
	Advice    string    `json:"advice,omitzero"`
}

// RepeatCulprits returns the revisions that were named, with certainty, at least
// Count times in the window and on more than one card, sorted by family. Incidents
// on a single card accuse nobody: there, the card may be what is bad.
func RepeatCulprits(history []Incident, p RepeatPolicy, now time.Time) []Culprit {
	byFamily := map[string][]Incident{}
	for _, in := range history {
		if in.Certain && in.Family != "" && !in.At.After(now) && now.Sub(in.At) <= p.Within {
			byFamily[in.Family] = append(byFamily[in.Family], in)
		}
	}
	var out []Culprit
	for _, family := range sortedKeys(byFamily) {
		c := sumUp(family, byFamily[family])
		if c.Incidents < max(1, p.Count) || c.Devices < 2 {
			continue
		}
		c.Advice = fmt.Sprintf("give %s a whole GPU: it ended %d tasks of others in %d faults", family, c.Victims, c.Incidents)
		if p.Quarantine {
			c.Advice = fmt.Sprintf("quarantine %s: it ended %d tasks of others in %d faults", family, c.Victims, c.Incidents)
		}
		out = append(out, c)
	}
	return out
}

func sumUp(family string, incidents []Incident) Culprit {
	slices.SortFunc(incidents, func(a, b Incident) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Device, b.Device), cmp.Compare(a.Token, b.Token))
	})
	incidents = slices.CompactFunc(incidents, func(a, b Incident) bool {
		return a.Device == b.Device && a.Token == b.Token && a.At.Equal(b.At)
	})
	c := Culprit{Family: family, First: incidents[0].At, Last: incidents[len(incidents)-1].At}
	devices := map[gpu.UUID]bool{}
	for _, in := range incidents {
		c.Incidents++
		c.Victims += in.Victims
		devices[in.Device] = true
		if !slices.Contains(c.Tokens, in.Token) {
			c.Tokens = append(c.Tokens, in.Token)
		}
	}
	slices.Sort(c.Tokens)
	c.Devices = len(devices)
	return c
}
