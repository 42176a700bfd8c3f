package cli

import (
	"encoding/json"
	"io"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// columns are the parts of a table. A column that is not wide is always shown.
type column struct {
	title string
	right bool
	wide  bool
}

// printTable writes rows under titles, without frames, so that it reads and cuts
// well. What rows hold came from outside, so control characters are dropped.
func printTable(w io.Writer, cols []column, wide bool, rows [][]string) {
	if c, ok := w.(csvOut); ok {
		c.table(cols, rows)
		return
	}
	t := table.NewWriter()
	t.SetOutputMirror(w)
	style := table.StyleDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	style.Format.Header = text.FormatDefault
	t.SetStyle(style)
	var header table.Row
	var configs []table.ColumnConfig
	for _, c := range cols {
		if c.wide && !wide {
			continue
		}
		header = append(header, c.title)
		if c.right {
			configs = append(configs, table.ColumnConfig{Number: len(header), Align: text.AlignRight, AlignHeader: text.AlignRight})
		}
	}
	t.AppendHeader(header)
	t.SetColumnConfigs(configs)
	for _, r := range rows {
		var row table.Row
		for i, c := range cols {
			if !c.wide || wide {
				row = append(row, cells(r[i]))
			}
		}
		t.AppendRow(row)
	}
	t.SuppressTrailingSpaces()
	t.Render()
}

// cells cleans a cell line by line: wrapped ones have several.
func cells(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = clean(l)
	}
	return strings.Join(lines, "\n")
}

// clean drops what could steer a terminal, or the direction of its text.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r >= 0x7f && r < 0xa0 || unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, s)
}

// wrap breaks a text into lines of at most n characters, at spaces where it can.
func wrap(s string, n int) string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(clean(s)) {
		for utf8.RuneCountInString(word) > n {
			if line != "" {
				lines, line = append(lines, line), ""
			}
			r := []rune(word)
			lines, word = append(lines, string(r[:n])), string(r[n:])
		}
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > n:
			lines, line = append(lines, line), word
		default:
			line += " " + word
		}
	}
	return strings.Join(append(lines, line), "\n")
}

// arns finds ARNs in a sentence.
var arns = regexp.MustCompile(`arn:[a-z-]*:ecs:[^ ,;)"]*/([^ ,;)"/]+)`)

// shortARNs shows the ARNs of a sentence by the ends that tables show.
func shortARNs(s string) string {
	return arns.ReplaceAllStringFunc(s, func(arn string) string {
		last := arns.FindStringSubmatch(arn)[1]
		if strings.Contains(arn, ":task-definition/") {
			return last
		}
		return first(last, 8)
	})
}

// cut shortens a name to n characters, in the middle, since both ends tell.
func cut(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	head := (n - 1) * 2 / 3
	return string(r[:head]) + "…" + string(r[len(r)-(n-1-head):])
}

func printJSON(w io.Writer, doc any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(doc)
}

func lastPart(arn string) string { return arn[strings.LastIndexByte(arn, '/')+1:] }
