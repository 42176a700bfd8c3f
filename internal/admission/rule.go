package admission

import "strings"

// Severity says how bad a finding is.
type Severity string

// Error cannot work or breaks a limit that neighbours rely on, Warning probably hurts, Info is advice.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Info    Severity = "info"
)

// AtLeast reports whether s is as bad as t or worse.
func (s Severity) AtLeast(t Severity) bool { return s.rank() >= t.rank() }

func (s Severity) rank() int {
	switch s {
	case Error:
		return 3
	case Warning:
		return 2
	case Info:
		return 1
	}
	return 0
}

// Rule is one check: of each share, of each container, of each task definition, or of several of these.
type Rule struct {
	ID        string
	Severity  Severity
	Title     string
	Why       string
	Fix       string
	share     func(r *report, c container, s *node) // s is an nvidiaMps value of the container
	container func(r *report, c container)
	task      func(r *report, t *task, cs []container)
}

// RuleByID finds a rule.
func RuleByID(id string) (Rule, bool) {
	for _, r := range Rules() {
		if r.ID == id {
			return r, true
		}
	}
	return Rule{}, false
}

// Rules lists every rule, by id.
func Rules() []Rule {
	var all []Rule
	for _, group := range [][]Rule{memoryRules, computeRules, variableRules, placeRules, processRules, lifeRules, readRules} {
		all = append(all, group...)
	}
	return all
}

// Page is the rule's page in docs/rules.
func (r Rule) Page() string {
	return "# " + r.ID + ": " + r.Title + "\n\nSeverity: " + string(r.Severity) + "\n\n## Why\n\n" + r.Why +
		"\n\n## What to write instead\n\n" + r.Fix +
		"\n\n## Where it does not apply\n\nName it with a reason in the container's Docker labels:\n\n```json\n" +
		`"dockerLabels": {"bulkhead.lint.ignore": "` + r.ID + `: the reason"}` + "\n```\n\n" +
		"or switch it off for all files in `.bulkhead.yaml`:\n\n```yaml\ndisable: [" + r.ID + "]\n```\n"
}

// Finding is one breach of one rule at one place.
type Finding struct {
	Rule       string   `json:"rule"`
	Severity   Severity `json:"severity"`
	Title      string   `json:"title"`
	Message    string   `json:"message"`
	Why        string   `json:"why"`
	Fix        string   `json:"fix"`
	File       string   `json:"file"`
	Line       int      `json:"line"`
	Column     int      `json:"column"`
	Path       string   `json:"path"`
	Container  string   `json:"container,omitempty"`
	Suppressed bool     `json:"suppressed,omitempty"`
	Reason     string   `json:"reason,omitempty"` // why it is suppressed
	Fixable    bool     `json:"fixable,omitempty"`
	edit       edit
}

// edit replaces content[from:to] by text.
type edit struct {
	from, to int
	text     string
}

// IgnoreLabel is the Docker label that suppresses rules of its container: "BH110,BH154: the reason".
const IgnoreLabel = "bulkhead.lint.ignore"

// suppression says whether the container's label names the rule, and why. Without a reason nothing is suppressed.
func suppression(c *node, rule string) (string, bool) {
	labels := c.get("dockerLabels")
	if labels == nil {
		return "", false
	}
	for _, m := range labels.members {
		if m.name != IgnoreLabel {
			continue
		}
		ids, reason, _ := strings.Cut(m.value.string(), ":")
		reason = strings.TrimSpace(reason)
		for id := range strings.SplitSeq(ids, ",") {
			if strings.TrimSpace(id) == rule && reason != "" {
				return reason, true
			}
		}
	}
	return "", false
}
