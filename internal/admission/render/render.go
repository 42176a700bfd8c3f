// Package render writes findings for people and for machines.
package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/bulkhead-ecs/bulkhead/internal/admission"
)

// Text writes findings with the source line and a caret under the column. content gives a file's bytes.
func Text(w io.Writer, findings []admission.Finding, content func(file string) []byte) error {
	var b bytes.Buffer
	for _, f := range findings {
		mark := ""
		if f.Suppressed {
			mark = " (suppressed: " + clean(f.Reason) + ")"
		}
		head := fmt.Sprintf("%s:%d:%d: %s %s:", clean(f.File), f.Line, f.Column, f.Severity, f.Rule)
		b.WriteString(head + wrap(clean(f.Message)+mark, "    ", len(head)))
		if src, ok := line(content(f.File), f.Line); ok {
			before := []rune(src)
			before = before[:min(max(f.Column-1, 0), len(before))]
			fmt.Fprintf(&b, "    %s\n    %s^\n", clean(src), strings.Repeat(" ", len([]rune(clean(string(before))))))
		}
		b.WriteString(wrap("fix: "+f.Fix, "    ", 0))
	}
	_, err := w.Write(b.Bytes())
	return err
}

// wrap breaks text at spaces so that lines stay within 100 columns; before is how many the first line has.
func wrap(text, indent string, before int) string {
	var b strings.Builder
	at := before
	for _, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case at == 0:
			b.WriteString(indent)
			at = len(indent)
		case at+1+n > 100:
			b.WriteString("\n" + indent)
			at = len(indent)
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += n
	}
	return b.String() + "\n"
}

// line is the text of a line, as long as it is of a length that people read.
func line(content []byte, n int) (string, bool) {
	for i := 1; i < n; i++ {
		at := bytes.IndexByte(content, '\n')
		if at < 0 {
			return "", false
		}
		content = content[at+1:]
	}
	if at := bytes.IndexByte(content, '\n'); at >= 0 {
		content = content[:at]
	}
	s := strings.TrimPrefix(strings.TrimRight(string(content), "\r"), "\ufeff")
	return s, len(s) > 0 && len(s) <= 200
}

// clean drops what could steer a terminal; tabs become one space so that carets stay in place.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case r < 0x20, r >= 0x7f && r < 0xa0:
			return -1
		}
		return r
	}, s)
}

// JSON writes the findings as one object.
func JSON(w io.Writer, findings []admission.Finding) error {
	if findings == nil {
		findings = []admission.Finding{}
	}
	return encode(w, struct {
		Findings []admission.Finding `json:"findings"`
	}{findings})
}

func encode(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// GitHub writes workflow commands that annotate a pull request. Suppressed findings are left out.
func GitHub(w io.Writer, findings []admission.Finding) error {
	var b bytes.Buffer
	level := map[admission.Severity]string{admission.Error: "error", admission.Warning: "warning", admission.Info: "notice"}
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	message := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	for _, f := range findings {
		if !f.Suppressed {
			fmt.Fprintf(&b, "::%s file=%s,line=%d,col=%d,title=%s::%s\n", level[f.Severity], property.Replace(f.File),
				f.Line, f.Column, property.Replace(f.Rule+" "+f.Title), message.Replace(f.Message+". "+f.Fix))
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}
