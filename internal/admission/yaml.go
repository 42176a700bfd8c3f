package admission

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// yamlReader turns YAML nodes into ours. Aliases are followed, within the budget of values.
type yamlReader struct {
	limits  Limits
	nodes   int
	lines   []int // offset of each line's first byte
	src     []byte
	repeats []repeat
}

func parseYAML(src []byte, limits Limits) (*node, []repeat, error) {
	if line := deepFlow(src, limits.Depth); line > 0 {
		return nil, nil, tooDeep(line, limits.Depth)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(src, &doc); err != nil {
		return nil, nil, fmt.Errorf("%w: %s", ErrSyntax, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if len(doc.Content) == 0 {
		return nil, nil, fmt.Errorf("%w: it is empty", ErrSyntax)
	}
	r := &yamlReader{limits: limits, src: src, lines: []int{0}}
	for i, c := range src {
		if c == '\n' {
			r.lines = append(r.lines, i+1)
		}
	}
	n, err := r.read(doc.Content[0], 0)
	return n, r.repeats, err
}

// deepFlow finds the line where brackets open more than max levels in a row, before the parser keeps a
// stack of them. It counts only openings that nothing closes, so that prose with brackets passes.
func deepFlow(src []byte, max int) int {
	run := 0
	for i, c := range src {
		switch c {
		case '[', '{':
			if run++; run > max {
				return 1 + bytes.Count(src[:i], []byte("\n"))
			}
		case ' ', '\t', '\r', '\n', '"', ':':
		case ']', '}':
			run = 0
		}
	}
	return 0
}

func (r *yamlReader) read(y *yaml.Node, depth int) (*node, error) {
	if r.nodes++; r.nodes > r.limits.Nodes {
		return nil, fmt.Errorf("line %d: %w: more than %d values", y.Line, ErrTooLarge, r.limits.Nodes)
	}
	if depth > r.limits.Depth {
		return nil, tooDeep(y.Line, r.limits.Depth)
	}
	n := &node{line: y.Line, column: y.Column, text: y.Value, start: -1, end: -1}
	if strings.HasPrefix(y.Tag, "!") && !strings.HasPrefix(y.Tag, "!!") {
		n.kind, n.text = kindUnresolved, y.Tag
		return n, nil
	}
	switch y.Kind {
	case yaml.AliasNode:
		return r.read(y.Alias, depth+1)
	case yaml.SequenceNode:
		n.kind = kindList
		for _, c := range y.Content {
			item, err := r.read(c, depth+1)
			if err != nil {
				return nil, err
			}
			n.items = append(n.items, item)
		}
	case yaml.MappingNode:
		return n, r.mapping(n, y, depth)
	default:
		r.scalar(n, y)
	}
	return n, nil
}

func (r *yamlReader) mapping(n *node, y *yaml.Node, depth int) error {
	n.kind = kindMap
	seen := map[string]bool{}
	for i := 0; i+1 < len(y.Content); i += 2 {
		k := y.Content[i]
		if seen[k.Value] {
			r.repeats = append(r.repeats, repeat{k.Value, k.Line, k.Column})
		}
		seen[k.Value] = true
		v, err := r.read(y.Content[i+1], depth+1)
		if err != nil {
			return err
		}
		if k.Value == "<<" && v.kind == kindMap {
			n.members = append(n.members, v.members...)
			continue
		}
		n.members = append(n.members, member{k.Value, v})
	}
	return nil
}

func (r *yamlReader) scalar(n *node, y *yaml.Node) {
	switch y.Tag {
	case "!!null":
		n.kind = kindNull
	case "!!bool":
		n.kind = kindBool
	case "!!int", "!!float":
		n.kind = kindNumber
	default:
		n.kind = kindText
	}
	if y.Line < 1 || y.Line > len(r.lines) || y.Anchor != "" {
		return
	}
	at := r.lines[y.Line-1]
	for range y.Column - 1 { // columns count characters
		_, size := utf8.DecodeRune(r.src[at:])
		at += size
	}
	if at+len(y.Value) <= len(r.src) && string(r.src[at:at+len(y.Value)]) == y.Value && y.Style == 0 {
		n.start, n.end = at, at+len(y.Value) // only a plain scalar that stands there letter for letter is editable
	}
}
