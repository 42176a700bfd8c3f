package httpapi

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// quote shows a word that came from outside: bounded, and nothing in it is markup
// or a control character.
func quote(s string) string {
	if len(s) > 100 {
		s = s[:100] + "…"
	}
	return strconv.Quote(strings.ToValidUTF8(s, "?"))
}

// near lists up to three known names close to an unknown one, nearest first.
func near(want string, known []string) []string {
	if len(want) > 100 {
		return nil
	}
	type scored struct {
		name string
		dist int
	}
	var all []scored
	known = slices.Clone(known)
	slices.Sort(known)
	for _, k := range slices.Compact(known) {
		if k == "" || len(k) > 100 {
			continue
		}
		d := distance(strings.ToLower(want), strings.ToLower(k))
		if strings.Contains(k, want) && want != "" {
			d = min(d, 1)
		}
		if d <= max(2, len(want)/3) {
			all = append(all, scored{k, d})
		}
	}
	slices.SortStableFunc(all, func(a, b scored) int { return cmp.Or(cmp.Compare(a.dist, b.dist), cmp.Compare(a.name, b.name)) })
	var out []string
	for _, s := range all[:min(3, len(all))] {
		out = append(out, s.name)
	}
	return out
}

// distance is the number of single-letter edits between two words.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		diag := row[0]
		row[0] = i + 1
		for j := range b {
			cost := diag
			if a[i] != b[j] {
				cost++
			}
			diag = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
