package remedy

import (
	"bytes"
	_ "embed" // the default policy is part of the package
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/bulkhead-ecs/bulkhead/internal/health"
)

//go:embed default.yaml
var defaultYAML []byte

// MaxPolicyBytes bounds a policy document.
const MaxPolicyBytes = 256 << 10

// ErrPolicy is what every refusal of a policy document wraps.
var ErrPolicy = errors.New("policy refused")

// Duration is written as "90s", "30m", "2h" or "7d".
type Duration = health.Duration

// Policy is the operator's document. The zero value is not usable: take
// DefaultPolicy or ParsePolicy.
type Policy struct {
	Version     string            `yaml:"version"`
	Mode        Mode              `yaml:"mode"`
	RuleMode    Mode              `yaml:"ruleMode"`
	OptOutTag   string            `yaml:"optOutTag"`
	Rules       []Rule            `yaml:"rules"`
	Ladders     []Ladder          `yaml:"ladders"`
	Drain       DrainPolicy       `yaml:"drain"`
	Evidence    EvidencePolicy    `yaml:"evidence"`
	Replacement ReplacementPolicy `yaml:"replacement"`
	Hook        HookPolicy        `yaml:"hook"`
	Retry       RetryPolicy       `yaml:"retry"`
	Repeat      RepeatPolicy      `yaml:"repeat"`
	Budgets     []Budget          `yaml:"budgets"`
	Breaker     BreakerPolicy     `yaml:"breaker"`
}

// Rule maps a reason to a ladder. All fields that are set must match.
type Rule struct {
	Name     string         `yaml:"name"`
	Tokens   []string       `yaml:"tokens"`  // "Xid79", "MpsServerFault"
	Classes  []health.Class `yaml:"classes"` // "memory"
	Action   health.Action  `yaml:"action"`  // the strongest asked for is this
	Planned  bool           `yaml:"planned"`
	Ladder   string         `yaml:"ladder"`
	Mode     Mode           `yaml:"mode"`     // lowers the global mode for this rule
	Tolerate Duration       `yaml:"tolerate"` // the reason must stand so long first
}

// Ladder is what is tried, in order.
type Ladder struct {
	Name  string `yaml:"name"`
	Rungs []Rung `yaml:"rungs"`
}

// Do is what a rung tries.
type Do string

// What a rung can try. Those before DoReboot leave the tasks of others alone and
// keep the host registered as ACTIVE with its marks.
const (
	DoRestartMPS       Do = "restart-mps"
	DoTerminateClients Do = "terminate-clients"
	DoStopVictims      Do = "stop-victims"
	DoReboot           Do = "reboot"
	DoReplace          Do = "replace"
	DoLeave            Do = "leave"
)

var doWords = []Do{DoRestartMPS, DoTerminateClients, DoStopVictims, DoReboot, DoReplace, DoLeave}

// drains reports whether the rung needs an empty host.
func (d Do) drains() bool { return d == DoReboot || d == DoReplace || d == DoLeave }

// Rung is one try.
type Rung struct {
	Do          Do       `yaml:"do"`
	Wait        Duration `yaml:"wait"`        // for the fault to clear
	Tries       int      `yaml:"tries"`       // 0 means once
	Drain       Duration `yaml:"drain"`       // deadline for the host to be empty
	WithClients bool     `yaml:"withClients"` // restart-mps though clients run
}

// DrainPolicy says what is done about tasks that stay.
type DrainPolicy struct {
	After           string   `yaml:"after"`
	Protection      Duration `yaml:"protection"`
	AfterProtection string   `yaml:"afterProtection"`
	Standalone      string   `yaml:"standalone"`
	StandaloneFor   Duration `yaml:"standaloneFor"`
}

// EvidencePolicy says how long the bundle may take and whether it must exist.
type EvidencePolicy struct {
	Required bool     `yaml:"required"`
	Deadline Duration `yaml:"deadline"`
}

// ReplacementPolicy says how an instance is replaced.
type ReplacementPolicy struct {
	CapacityFirst bool     `yaml:"capacityFirst"` // detach, so that the newcomer starts before the old one is empty
	Newcomer      Duration `yaml:"newcomer"`      // deadline for it to pass preflight
	Healthy       Duration `yaml:"healthy"`       // it, or a restored host, must be well so long
}

// HookPolicy holds the lifecycle hook.
type HookPolicy struct {
	Heartbeat Duration `yaml:"heartbeat"`
	Limit     Duration `yaml:"limit"` // a person is called; Auto Scaling ends the wait at 48 h
}

// RetryPolicy says how a step is asked for again.
type RetryPolicy struct {
	After Duration `yaml:"after"` // doubled each time, up to 16 times this
	Tries int      `yaml:"tries"`
}

// RepeatPolicy hands a host that is fixed too often to a person.
type RepeatPolicy struct {
	Fixes  int      `yaml:"fixes"`
	Within Duration `yaml:"within"`
}

// DefaultPolicy is the built-in document: observe only.
func DefaultPolicy() (Policy, error) { return ParsePolicy(defaultYAML) }

// ParsePolicy reads and checks a whole document. Unknown keys are refused. The
// error wraps ErrPolicy and says in a sentence what to change; the caller keeps
// the last good one.
func ParsePolicy(src []byte) (Policy, error) {
	if len(src) > MaxPolicyBytes {
		return Policy{}, fmt.Errorf("%w: %d bytes; at most %d", ErrPolicy, len(src), MaxPolicyBytes)
	}
	var p Policy
	dec := yaml.NewDecoder(bytes.NewReader(src))
	dec.KnownFields(true)
	if err := dec.Decode(&p); err != nil {
		return Policy{}, fmt.Errorf("%w: %s", ErrPolicy, cut(strings.ReplaceAll(err.Error(), "\n", " ")))
	}
	if err := p.check(); err != nil {
		return Policy{}, fmt.Errorf("%w: %w", ErrPolicy, err)
	}
	return p, nil
}

// RuleFor returns the rule of a reason.
func (p Policy) RuleFor(r health.Reason) (Rule, bool) {
	for _, rule := range p.Rules {
		if rule.matches(r) {
			return rule, true
		}
	}
	return Rule{}, false
}

func (rule Rule) matches(r health.Reason) bool {
	switch {
	case rule.Planned != r.Planned:
		return false
	case len(rule.Tokens) > 0 && !slices.Contains(rule.Tokens, r.Token):
		return false
	case len(rule.Classes) > 0 && !slices.Contains(rule.Classes, r.Class):
		return false
	case rule.Action != "" && health.Strongest(r.Actions) != rule.Action:
		return false
	}
	return true
}

// rule finds a rule by name; the document may have changed since.
func (p Policy) rule(name string) (Rule, bool) {
	i := slices.IndexFunc(p.Rules, func(r Rule) bool { return r.Name == name })
	if i < 0 {
		return Rule{}, false
	}
	return p.Rules[i], true
}

// rung is the rung a case stands on; the last one when the ladder became shorter.
func (p Policy) rung(ruleName string, n int) (Rung, bool) {
	rule, ok := p.rule(ruleName)
	if !ok {
		return Rung{}, false
	}
	i := slices.IndexFunc(p.Ladders, func(l Ladder) bool { return l.Name == rule.Ladder })
	if i < 0 || len(p.Ladders[i].Rungs) == 0 {
		return Rung{}, false
	}
	rungs := p.Ladders[i].Rungs
	return rungs[min(n, len(rungs)-1)], true
}

// last reports whether there is no rung after n.
func (p Policy) last(ruleName string, n int) bool {
	rule, _ := p.rule(ruleName)
	i := slices.IndexFunc(p.Ladders, func(l Ladder) bool { return l.Name == rule.Ladder })
	return i < 0 || n >= len(p.Ladders[i].Rungs)-1
}

// ModeOf is the mode in force for a rule: the global one is the ceiling.
func (p Policy) ModeOf(rule Rule) Mode {
	own := rule.Mode
	if own == "" {
		own = p.RuleMode
	}
	return p.Mode.lower(own)
}

func dur(d Duration) time.Duration { return time.Duration(d) }
