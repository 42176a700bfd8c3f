package health

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// overrideFile is a cluster's own word on some rows.
type overrideFile struct {
	Version   string      `yaml:"version"`
	Overrides []yaml.Node `yaml:"overrides"`
}

type overrideRow struct {
	Codes  []int    `yaml:"codes"`
	Kind   Kind     `yaml:"kind"`
	Class  Class    `yaml:"class"`
	Action []Action `yaml:"action"`
	Rules  []Rule   `yaml:"rules"`
	Reason string   `yaml:"reason"`
}

var overrideKeys = map[string][]string{"": {"codes", "kind", "class", "action", "rules", "reason"}, "rules": rowKeys["rules"]}

// Difference is one row in which a cluster's table departs from the built-in one.
type Difference struct {
	Name   string
	Codes  []int
	Kind   Kind
	From   []Action
	To     []Action
	Reason string
	Peers  string // what the sources of the built-in row say, for the warning
}

// Override returns the table with the cluster's own rows, and what differs. An
// override names codes or a kind, an action, and a reason that people will read;
// rules are dropped unless given again. A code without a row may get one (class
// required). The laws of check hold for the result.
func (t Table) Override(src []byte) (Table, []Difference, error) {
	if len(src) > MaxTableBytes {
		return Table{}, nil, &TableError{0, ErrBadFile, "too large"}
	}
	var file overrideFile
	if err := decodeStrict(src, &file); err != nil {
		return Table{}, nil, err
	}
	out := Table{Version: t.Version + "+" + file.Version, Driver: t.Driver, Rows: slices.Clone(t.Rows)}
	var diffs []Difference
	var errs []error
	for i := range file.Overrides {
		n := &file.Overrides[i]
		d, err := out.applyOverride(n)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		diffs = append(diffs, d...)
	}
	out, err := out.index(errs)
	if err != nil {
		return Table{}, nil, err
	}
	return out, diffs, nil
}

func (t *Table) applyOverride(n *yaml.Node) ([]Difference, error) {
	var o overrideRow
	if err := n.Decode(&o); err != nil {
		var te *TableError
		if errors.As(err, &te) {
			return nil, err
		}
		return nil, &TableError{max(lineOf(err), n.Line), ErrBadFile, clip(err.Error(), 240)}
	}
	if err := knownKeys(n, overrideKeys); err != nil {
		return nil, err
	}
	switch {
	case strings.TrimSpace(o.Reason) == "":
		return nil, &TableError{n.Line, ErrBadRow, "an override needs a reason"}
	case len(o.Action) == 0:
		return nil, &TableError{n.Line, ErrBadRow, "an override needs an action"}
	case (len(o.Codes) == 0) == (o.Kind == ""):
		return nil, &TableError{n.Line, ErrBadRow, "an override names codes or a kind, and not both"}
	}
	if o.Kind != "" {
		return t.overrideKind(o, n.Line)
	}
	var diffs []Difference
	for _, code := range o.Codes {
		d, err := t.overrideCode(code, o, n.Line)
		if err != nil {
			return nil, err
		}
		diffs = append(diffs, d)
	}
	return diffs, nil
}

func (t *Table) overrideKind(o overrideRow, line int) ([]Difference, error) {
	i := slices.IndexFunc(t.Rows, func(r Row) bool { return r.Kind == o.Kind })
	if i < 0 {
		return nil, &TableError{line, ErrBadRow, fmt.Sprintf("kind %s has no row in this table", o.Kind)}
	}
	d := Difference{Name: t.Rows[i].Name, Kind: o.Kind, From: t.Rows[i].Action, To: o.Action, Reason: o.Reason}
	t.Rows[i].Action, t.Rows[i].Rules, t.Rows[i].Line = o.Action, o.Rules, line
	if o.Class != "" {
		t.Rows[i].Class = o.Class
	}
	return []Difference{d}, nil
}

// overrideCode splits the code out of its row, or makes it one.
func (t *Table) overrideCode(code int, o overrideRow, line int) (Difference, error) {
	i := slices.IndexFunc(t.Rows, func(r Row) bool { return slices.Contains(r.Codes, code) })
	row := unknownRow(code)
	if i >= 0 {
		row = t.Rows[i]
		t.Rows[i].Codes = slices.DeleteFunc(slices.Clone(row.Codes), func(c int) bool { return c == code })
		if len(t.Rows[i].Codes) == 0 {
			t.Rows = slices.Delete(t.Rows, i, i+1)
		}
	} else if o.Class == "" {
		return Difference{}, &TableError{line, ErrBadRow, fmt.Sprintf("code %d is not in the table: say its class", code)}
	}
	d := Difference{Name: row.Name, Codes: []int{code}, From: row.Action, To: o.Action, Reason: o.Reason, Peers: row.peers()}
	row.Codes, row.Action, row.Rules, row.Line = []int{code}, o.Action, o.Rules, line
	if o.Class != "" {
		row.Class = o.Class
	}
	if acts(o.Action) && row.Clear.On == "quiet" {
		row.Clear = Clearing{On: "boot"}
	}
	t.Rows = append(t.Rows, row)
	return d, nil
}

// peers lists what each source says, sorted by source.
func (r Row) peers() string {
	var parts []string
	for _, s := range sortedKeys(r.Sources) {
		parts = append(parts, s+": "+r.Sources[s])
	}
	return strings.Join(parts, "; ")
}
