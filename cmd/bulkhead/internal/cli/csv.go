package cli

import (
	"encoding/csv"
	"io"
)

// csvOut is the output of -o csv: tables come out as comma-separated values with
// all columns, and sentences beside them do not come out at all.
type csvOut struct{ to io.Writer }

// Write drops a sentence.
func (csvOut) Write(p []byte) (int, error) { return len(p), nil }

// table writes titles and rows. A cell that a spreadsheet would run as a formula
// gets an apostrophe in front: names come from outside.
func (c csvOut) table(cols []column, rows [][]string) {
	w := csv.NewWriter(c.to)
	var titles []string
	for _, k := range cols {
		titles = append(titles, k.title)
	}
	_ = w.Write(titles)
	for _, r := range rows {
		safe := make([]string, len(r))
		for i, cell := range r {
			safe[i] = inert(clean(cell))
		}
		_ = w.Write(safe)
	}
	w.Flush()
}

func inert(cell string) string {
	if cell == "" {
		return cell
	}
	switch cell[0] {
	case '=', '+', '@', '\t':
		return "'" + cell
	case '-':
		if len(cell) > 1 && (cell[1] < '0' || cell[1] > '9') {
			return "'" + cell
		}
	}
	return cell
}
