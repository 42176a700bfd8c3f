package health

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Errors of a table. Each is wrapped in a *TableError that names the line.
var (
	ErrUnknownAction = errors.New("unknown action")
	ErrUnknownWord   = errors.New("unknown word")
	ErrBadRow        = errors.New("bad row")
	ErrBadFile       = errors.New("unreadable table")
)

// TableError says where in a table the fault lies and what it is.
type TableError struct {
	Line int
	Err  error  // one of the sentinels above
	Text string // what to change
}

// Error gives the line first, as compilers do.
func (e *TableError) Error() string { return fmt.Sprintf("line %d: %v: %s", e.Line, e.Err, e.Text) }

// Unwrap lets errors.Is find the sentinel.
func (e *TableError) Unwrap() error { return e.Err }

// Duration is a time.Duration written as "90s", "3h" or "7d".
type Duration time.Duration

// UnmarshalYAML reads the notation of ParseDuration.
func (d *Duration) UnmarshalYAML(n *yaml.Node) error {
	v, err := ParseDuration(n.Value)
	if err != nil {
		return &TableError{n.Line, ErrBadRow, err.Error()}
	}
	*d = Duration(v)
	return nil
}

// ParseDuration reads Go's notation and, besides, whole days ("7d").
func ParseDuration(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.Atoi(days)
		if err != nil || n < 0 || n > 3650 {
			return 0, fmt.Errorf("duration %q: whole days between 0d and 3650d", clip(text, 32))
		}
		return time.Duration(n) * 24 * time.Hour, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("duration %q: write 30s, 10m, 3h or 7d", clip(text, 32))
	}
	return d, nil
}

// UnmarshalYAML refuses a word outside the closed set, with its line.
func (a *Action) UnmarshalYAML(n *yaml.Node) error {
	if _, ok := actionRank[Action(n.Value)]; !ok {
		return &TableError{n.Line, ErrUnknownAction,
			fmt.Sprintf("%q; the actions are IGN, APP, WATCH, SUP, QGPU and RPL", clip(n.Value, 32))}
	}
	*a = Action(n.Value)
	return nil
}

// UnmarshalYAML refuses an unknown class, with its line.
func (c *Class) UnmarshalYAML(n *yaml.Node) error {
	if !slices.Contains(classes, Class(n.Value)) {
		return &TableError{n.Line, ErrUnknownWord, fmt.Sprintf("class %q", clip(n.Value, 32))}
	}
	*c = Class(n.Value)
	return nil
}

// UnmarshalYAML refuses an unknown kind, with its line.
func (k *Kind) UnmarshalYAML(n *yaml.Node) error {
	if !slices.Contains(kinds, Kind(n.Value)) {
		return &TableError{n.Line, ErrUnknownWord, fmt.Sprintf("kind %q", clip(n.Value, 64))}
	}
	*k = Kind(n.Value)
	return nil
}

// Row is what is known of one group of Xid codes, or of one kind of condition.
type Row struct {
	Codes   []int  `yaml:"codes"` // Xid rows only
	Kind    Kind   `yaml:"kind"`  // condition rows only
	Name    string `yaml:"name"`
	Meaning string `yaml:"meaning"`
	Class   Class  `yaml:"class"`
	Form    Form   `yaml:"form"` // Xid rows are events

	Action []Action `yaml:"action"` // when no rule matches
	Closed bool     `yaml:"closed"` // no new sharing tasks, whatever the action
	Rules  []Rule   `yaml:"rules"`  // the first that matches replaces Action

	Debounce Debounce `yaml:"debounce"`
	Clear    Clearing `yaml:"clear"`
	Grace    Duration `yaml:"grace"` // not judged while the host is younger
	Limit    *Limit   `yaml:"limit"`

	Fate        string `yaml:"fate"`         // set on kinds of silence: whose fate this witness shares
	OutrankedBy []Kind `yaml:"outranked_by"` // states whose later reading voids this event
	Cancels     []int  `yaml:"cancels"`      // codes that this one closes
	AttachTo    int    `yaml:"attach_to"`    // detail of another code
	Planned     bool   `yaml:"planned"`      // a departure: drains, never charges the breaker

	Sources map[string]string `yaml:"sources"`
	Note    string            `yaml:"note"`
	Line    int               `yaml:"-"`
}

// Rule replaces a row's action when all its set fields hold.
type Rule struct {
	Repeat   int      `yaml:"repeat"`   // incidents within Within (a quiet gap parts two incidents)
	Families int      `yaml:"families"` // different families that began incidents within Within
	Tasks    int      `yaml:"tasks"`    // different tasks within Within
	Count    int      `yaml:"count"`    // raw occurrences in this episode
	SameUnit bool     `yaml:"same_unit"`
	Within   Duration `yaml:"within"`
	Reads    int      `yaml:"reads"` // bad readings in a row
	For      Duration `yaml:"for"`   // standing at least so long
	Host     string   `yaml:"host"`  // single-gpu, multi-gpu, multi-gpu-tasks, hgx, grace
	Text     string   `yaml:"text"`  // recovery word of Xid 154: none, reset, reboot, drain
	State    Kind     `yaml:"state"` // this state stands on the same card
	Alone    bool     `yaml:"alone"` // no other Xid near it, nor was its process being stopped

	Action []Action `yaml:"action"`
	Closed bool     `yaml:"closed"`
}

// Debounce says when a state is believed.
type Debounce struct {
	Reads int      `yaml:"reads"` // bad readings in a row
	Apart Duration `yaml:"apart"` // readings nearer than this count once
	For   Duration `yaml:"for"`   // bad for so long
}

// Clearing says what ends a condition.
type Clearing struct {
	On    string   `yaml:"on"`    // reads, quiet, boot, replace
	Reads int      `yaml:"reads"` // good readings in a row (on: reads)
	For   Duration `yaml:"for"`   // good (reads) or quiet (quiet) for so long
}

// Limit turns a value into a reading: bad at or beyond the bound, good again only
// at or beyond Clear on the other side.
type Limit struct {
	AtMost  *float64 `yaml:"at_most"`  // bad when value <= this
	AtLeast *float64 `yaml:"at_least"` // bad when value >= this
	Clear   float64  `yaml:"clear"`
}
