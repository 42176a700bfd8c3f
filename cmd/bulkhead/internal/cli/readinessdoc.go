package cli

import (
	"html/template"
	"io"
	"strings"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/sizing/readiness"
)

// readinessMarkdown writes the report for a wiki or a pull request. Names come from
// outside: what Markdown or HTML would take for markup is escaped.
func readinessMarkdown(r readiness.Report) string {
	var b strings.Builder
	b.WriteString("# GPU sharing readiness\n\n" + markdown(headline(r)) + " As of " + r.At.UTC().Format(time.RFC3339) + ".\n")
	for _, s := range readinessSections(r, "document") {
		b.WriteString("\n## " + s.title + "\n\n")
		if len(s.rows) == 0 {
			b.WriteString("None.\n")
			continue
		}
		for _, c := range s.cols {
			b.WriteString("| " + c.title + " ")
		}
		b.WriteString("|\n" + strings.Repeat("| --- ", len(s.cols)) + "|\n")
		for _, row := range s.rows {
			for _, cell := range row {
				b.WriteString("| " + markdown(cell) + " ")
			}
			b.WriteString("|\n")
		}
	}
	return b.String()
}

var markdownMarks = strings.NewReplacer("\\", "\\\\", "|", "\\|", "`", "\\`", "*", "\\*", "_", "\\_", "[", "\\[", "]", "\\]", "#", "\\#", "!", "\\!", "<", "&lt;", ">", "&gt;", "&", "&amp;")

func markdown(s string) string { return markdownMarks.Replace(clean(s)) }

var readinessPage = template.Must(template.New("readiness").Parse(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>GPU sharing readiness</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<style>body{font:14px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:80rem;padding:0 1rem;color:#1b1f24;background:#fff}
table{border-collapse:collapse;width:100%}th,td{text-align:left;vertical-align:top;padding:.35rem .6rem;border-bottom:1px solid #d5dbe1}
th{font-size:12px;letter-spacing:.03em}@media(prefers-color-scheme:dark){body{color:#e6e9ec;background:#14181c}th,td{border-color:#39414a}}</style></head>
<body><h1>GPU sharing readiness</h1><p>{{.Headline}} As of <time>{{.At}}</time>.</p>
{{range .Sections}}<h2>{{.Title}}</h2>{{if .Rows}}<table><thead><tr>{{range .Cols}}<th scope="col">{{.}}</th>{{end}}</tr></thead>
<tbody>{{range .Rows}}<tr>{{range .}}<td>{{.}}</td>{{end}}</tr>
{{end}}</tbody></table>{{else}}<p>None.</p>{{end}}
{{end}}</body></html>
`))

// readinessHTML writes the report as one page that loads nothing.
func readinessHTML(w io.Writer, r readiness.Report) error {
	type table struct {
		Title string
		Cols  []string
		Rows  [][]string
	}
	page := struct {
		Headline, At string
		Sections     []table
	}{Headline: clean(headline(r)), At: r.At.UTC().Format(time.RFC3339)}
	for _, s := range readinessSections(r, "document") {
		t := table{Title: s.title}
		for _, c := range s.cols {
			t.Cols = append(t.Cols, c.title)
		}
		for _, row := range s.rows {
			var cells []string
			for _, cell := range row {
				cells = append(cells, clean(cell))
			}
			t.Rows = append(t.Rows, cells)
		}
		page.Sections = append(page.Sections, t)
	}
	return readinessPage.Execute(w, page)
}
