package remedy

import (
	"strings"

	"github.com/cockroachdb/datadriven"
)

// policy, with lines "old => new" (with \n for a line break): the default document changed so. A fleet that
// runs goes on under the new one, in the mode it had.
func verbPolicy(s *script, d *datadriven.TestData) string {
	doc := string(defaultYAML)
	for _, line := range strings.Split(strings.Trim(d.Input, "\n"), "\n") {
		old, now, ok := strings.Cut(line, " => ")
		if !ok || !strings.Contains(doc, old) {
			d.Fatalf(s.t, "the document has no %q", old)
		}
		doc = strings.Replace(doc, old, strings.ReplaceAll(now, `\n`, "\n"), 1)
	}
	p, err := ParsePolicy([]byte(doc))
	if err != nil {
		return err.Error() + "\n"
	}
	s.doc = doc
	if s.fleet != nil {
		p.Mode = s.fleet.policy.Mode
		s.fleet.policy = p
	}
	return "ok\n"
}
