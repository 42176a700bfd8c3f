package render

import (
	"fmt"
	"io"
	"strings"

	"github.com/bulkhead-ecs/bulkhead/internal/admission"
)

type object = map[string]any

// SARIF writes a SARIF 2.1.0 log with one run.
func SARIF(w io.Writer, findings []admission.Finding) error {
	level := map[admission.Severity]string{admission.Error: "error", admission.Warning: "warning", admission.Info: "note"}
	rules, index := []object{}, map[string]int{}
	for i, r := range admission.Rules() {
		index[r.ID] = i
		rules = append(rules, object{"id": r.ID, "shortDescription": object{"text": r.Title},
			"fullDescription": object{"text": r.Why}, "help": object{"text": r.Fix},
			"defaultConfiguration": object{"level": level[r.Severity]}})
	}
	results := []object{}
	for _, f := range findings {
		result := object{"ruleId": f.Rule, "ruleIndex": index[f.Rule], "level": level[f.Severity],
			"message": object{"text": f.Message + ". " + f.Fix},
			"locations": []object{{
				"physicalLocation": object{
					"artifactLocation": object{"uri": uri(f.File)},
					"region":           object{"startLine": max(f.Line, 1), "startColumn": max(f.Column, 1)}},
				"logicalLocations": []object{{"fullyQualifiedName": f.Path}}}}}
		if f.Suppressed {
			result["suppressions"] = []object{{"kind": "inSource", "justification": f.Reason}}
		}
		results = append(results, result)
	}
	return encode(w, object{
		"$schema": "https://json.schemastore.org/sarif-2.1.0.json",
		"version": "2.1.0",
		"runs": []object{{
			"tool":       object{"driver": object{"name": "bulkhead", "rules": rules}},
			"columnKind": "unicodeCodePoints",
			"results":    results}}})
}

// uri is the file as a relative reference, or a file URI where its path is absolute. Whatever a URI does not
// take as it is, is written in percents.
func uri(file string) string {
	var b strings.Builder
	if strings.HasPrefix(file, "/") {
		b.WriteString("file://")
	}
	for _, c := range []byte(strings.ReplaceAll(file, `\`, "/")) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("/-._~", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
