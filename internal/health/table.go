package health

import (
	"bytes"
	_ "embed" // the two tables are part of the package
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

//go:embed xid.yaml
var xidYAML []byte

//go:embed conditions.yaml
var conditionsYAML []byte

// MaxTableBytes bounds what Parse reads.
const MaxTableBytes = 1 << 20

// Table is a checked set of rows with its version and the driver release against
// which it was written.
type Table struct {
	Version string
	Driver  string
	Rows    []Row

	byCode map[int]*Row
	byKind map[Kind]*Row
}

type tableFile struct {
	Version string      `yaml:"version"`
	Driver  string      `yaml:"driver"`
	Rows    []yaml.Node `yaml:"rows"`
}

// XidTable returns the built-in table of Xid codes.
func XidTable() (Table, error) { return Parse(xidYAML) }

// ConditionTable returns the built-in table of all other kinds.
func ConditionTable() (Table, error) { return Parse(conditionsYAML) }

// Parse reads and checks a table. Every error is a *TableError (or several,
// joined) with the line to change; a table with one fault is not used at all.
func Parse(src []byte) (Table, error) {
	if len(src) > MaxTableBytes {
		return Table{}, &TableError{0, ErrBadFile, fmt.Sprintf("%d bytes; at most %d", len(src), MaxTableBytes)}
	}
	var file tableFile
	if err := decodeStrict(src, &file); err != nil {
		return Table{}, err
	}
	if file.Version == "" || file.Driver == "" {
		return Table{}, &TableError{1, ErrBadFile, "version and driver are required"}
	}
	t := Table{Version: file.Version, Driver: file.Driver}
	var errs []error
	for i := range file.Rows {
		row, err := decodeRow(&file.Rows[i])
		if err != nil {
			errs = append(errs, err)
			continue
		}
		t.Rows = append(t.Rows, row)
	}
	return t.index(errs)
}

// index checks the rows one by one and together.
func (t Table) index(errs []error) (Table, error) {
	t.byCode, t.byKind = map[int]*Row{}, map[Kind]*Row{}
	for i := range t.Rows {
		r := &t.Rows[i]
		if err := r.check(); err != nil {
			errs = append(errs, err)
			continue
		}
		for _, c := range r.Codes {
			if t.byCode[c] != nil {
				errs = append(errs, &TableError{r.Line, ErrBadRow, fmt.Sprintf("code %d has a row already, at line %d", c, t.byCode[c].Line)})
			}
			t.byCode[c] = r
		}
		if r.Kind != "" {
			if t.byKind[r.Kind] != nil {
				errs = append(errs, &TableError{r.Line, ErrBadRow, fmt.Sprintf("kind %s has a row already, at line %d", r.Kind, t.byKind[r.Kind].Line)})
			}
			t.byKind[r.Kind] = r
		}
	}
	if len(errs) > 0 {
		return Table{}, errors.Join(errs...)
	}
	return t, nil
}

// Code returns the row of an Xid; for a code without one, the row of unknown
// codes (watch and alert, never more) and false.
func (t Table) Code(code int) (Row, bool) {
	if r := t.byCode[code]; r != nil {
		return *r, true
	}
	return unknownRow(code), false
}

// Kind returns the row of a condition.
func (t Table) Kind(k Kind) (Row, bool) {
	if r := t.byKind[k]; r != nil {
		return *r, true
	}
	return Row{}, false
}

// Codes lists every code that has a row, sorted.
func (t Table) Codes() []int { return slices.Sorted(maps.Keys(t.byCode)) }

// Kinds lists every kind that has a row, sorted.
func (t Table) Kinds() []Kind { return slices.Sorted(maps.Keys(t.byKind)) }

// unknownRow is what a code outside the table gets: peers that called such codes
// fatal cordoned whole fleets, so it is seen and told, and nothing else.
func unknownRow(code int) Row {
	return Row{Codes: []int{code}, Name: "UnknownXid", Class: ClassUnknown, Form: FormEvent,
		Meaning: "not in this table", Action: []Action{Watch, Person},
		Clear: Clearing{On: "quiet", For: Duration(day)}}
}

// decodeStrict refuses unknown keys and turns every fault into a *TableError.
func decodeStrict(src []byte, into any) error {
	dec := yaml.NewDecoder(bytes.NewReader(src))
	dec.KnownFields(true)
	err := dec.Decode(into)
	var te *TableError
	if err == nil || errors.As(err, &te) {
		return err
	}
	return &TableError{lineOf(err), ErrBadFile, clip(err.Error(), 240)}
}

// lineOf finds the line that the YAML library wrote into its message.
func lineOf(err error) int {
	var line int
	if _, after, ok := strings.Cut(err.Error(), "line "); ok {
		_, _ = fmt.Sscanf(after, "%d", &line) // 0 when there is none: the text is kept
	}
	return line
}

// decodeRow decodes one row, strictly, and keeps its line.
func decodeRow(n *yaml.Node) (Row, error) {
	var r Row
	if err := strictKeys(n, &r); err != nil {
		return r, err
	}
	r.Line = n.Line
	if r.Form == "" {
		r.Form = FormEvent
	}
	return r, nil
}

// strictKeys decodes a node and names any key that no field takes. (KnownFields
// does not reach nodes decoded apart.)
func strictKeys(n *yaml.Node, into *Row) error {
	if err := n.Decode(into); err != nil {
		var te *TableError
		if errors.As(err, &te) {
			return err
		}
		return &TableError{max(lineOf(err), n.Line), ErrBadFile, clip(err.Error(), 240)}
	}
	return knownKeys(n, rowKeys)
}

// rowKeys are the keys of a row and, by name, of what is nested in it.
var rowKeys = map[string][]string{
	"": {"codes", "kind", "name", "meaning", "class", "form", "action", "closed", "rules", "debounce", "clear",
		"grace", "limit", "fate", "outranked_by", "cancels", "attach_to", "planned", "sources", "note"},
	"rules": {"repeat", "families", "tasks", "count", "same_unit", "within", "reads", "for", "host", "text", "state",
		"alone", "action", "closed"},
	"debounce": {"reads", "apart", "for"},
	"clear":    {"on", "reads", "for"},
	"limit":    {"at_most", "at_least", "clear"},
}

func knownKeys(n *yaml.Node, allowed map[string][]string) error {
	if n.Kind != yaml.MappingNode {
		return &TableError{n.Line, ErrBadRow, "a row is a mapping of keys to values"}
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, val := n.Content[i], n.Content[i+1]
		if !slices.Contains(allowed[""], key.Value) {
			return &TableError{key.Line, ErrUnknownWord, fmt.Sprintf("key %q", clip(key.Value, 64))}
		}
		nested := map[string][]string{"": allowed[key.Value]}
		if nested[""] == nil {
			continue
		}
		parts := []*yaml.Node{val}
		if val.Kind == yaml.SequenceNode {
			parts = val.Content
		}
		for _, p := range parts {
			if err := knownKeys(p, nested); err != nil {
				return err
			}
		}
	}
	return nil
}
