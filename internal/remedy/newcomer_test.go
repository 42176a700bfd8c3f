package remedy

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// gaveUp is a case whose host was given up after so many minutes.
func gaveUp(id string, minutes int) Case {
	return Case{ID: id, Instance: "i-" + id, State: Verifying, Attempts: []Attempt{{Key: "k", Kind: StepDetach, Result: Done, Asked: start.Add(time.Duration(minutes) * time.Minute)}}}
}

func launched(id string, minutes int) Candidate {
	return Candidate{id, start.Add(time.Duration(minutes) * time.Minute)}
}

func TestTheNewcomerIsTheFirstLaunchedSince(t *testing.T) {
	c := gaveUp("a", 5)
	earlier := gaveUp("b", 2)
	claimed := gaveUp("d", 1)
	claimed.Newcomer = "n-6"
	spot := gaveUp("s", 1)
	spot.Cause.Planned = true
	over := gaveUp("o", 1)
	over.State = Closed
	kept := c
	kept.Newcomer = "n-9"
	lost := c
	lost.Newcomer = "gone"
	for name, tc := range map[string]struct {
		self   Case
		has    []Candidate
		others []Case
		want   string
	}{
		"none launched":                {c, nil, nil, ""},
		"launched before":              {c, []Candidate{launched("n-4", 4)}, nil, ""},
		"the first since":              {c, []Candidate{launched("n-9", 9), launched("n-6", 6), launched("n-4", 4)}, nil, "n-6"},
		"another host was first":       {c, []Candidate{launched("n-6", 6), launched("n-9", 9)}, []Case{earlier}, "n-9"},
		"another host was first, one":  {c, []Candidate{launched("n-6", 6)}, []Case{earlier}, ""},
		"one is another's":             {c, []Candidate{launched("n-6", 6), launched("n-9", 9)}, []Case{claimed}, "n-9"},
		"departures take none":         {c, []Candidate{launched("n-6", 6)}, []Case{spot}, "n-6"},
		"cases that are over wait not": {c, []Candidate{launched("n-6", 6)}, []Case{over}, "n-6"},
		"it stays":                     {kept, []Candidate{launched("n-6", 6), launched("n-9", 9)}, nil, "n-9"},
		"it went, another comes":       {lost, []Candidate{launched("n-6", 6)}, nil, "n-6"},
		"never itself":                 {c, []Candidate{launched("i-a", 6)}, nil, ""},
		"before the end none":          {Case{ID: "a", State: Draining}, []Candidate{launched("n-6", 6)}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got, ok := Newcomer(tc.self, tc.has, append(tc.others, tc.self)); got != tc.want || ok != (tc.want != "") {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

func TestNoInstanceStandsInTwoPlaces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var cases []Case
		for i := range rapid.IntRange(1, 6).Draw(t, "cases") {
			c := gaveUp(fmt.Sprint("c", i), rapid.IntRange(0, 9).Draw(t, "given up"))
			if rapid.IntRange(0, 4).Draw(t, "not yet") == 0 {
				c.Attempts = nil
			}
			cases = append(cases, c)
		}
		var all []Candidate
		for i := range rapid.IntRange(0, 8).Draw(t, "launched") {
			all = append(all, launched(fmt.Sprint("n", i), rapid.IntRange(0, 12).Draw(t, "at")))
		}
		whose := map[string]string{}
		for i, c := range cases {
			got, ok := Newcomer(c, all, cases) // each caller with the same view
			if !ok {
				continue
			}
			if other := whose[got]; other != "" {
				t.Fatalf("%s stands for %s and %s", got, other, c.ID)
			}
			whose[got] = c.ID
			if rapid.Bool().Draw(t, "stored") {
				cases[i].Newcomer = got // a later caller sees it
			}
		}
	})
}
