package admission

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
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
	seen    place          // the last scalar's, so that a long line is counted once
	known   map[[2]int]int // offset by line and column: aliases come back to what stands far behind
}

// place is a byte offset that stands at a line and column.
type place struct{ line, column, at int }

// offset finds the byte at a line and column, which counts characters from 1.
func (r *yamlReader) offset(line, column int) int {
	if at, ok := r.known[[2]int{line, column}]; ok {
		return at
	}
	p := r.seen
	if p.line != line || p.column > column {
		p = place{line, 1, r.lines[line-1]}
	}
	for ; p.column < column; p.column++ {
		_, size := utf8.DecodeRune(r.src[p.at:])
		p.at += size
	}
	r.seen, r.known[[2]int{line, column}] = p, p.at
	return p.at
}

// parseYAML reads every document of a YAML stream.
func parseYAML(src []byte, limits Limits) ([]*node, []repeat, error) {
	if line := deepFlow(src, limits.Depth); line > 0 {
		return nil, nil, tooDeep(line, limits.Depth)
	}
	// The parser keeps some hundred bytes for each value, before they can be counted. Each value but one of a
	// document stands behind one of these marks.
	if marks := bytes.Count(src, []byte(",")) + bytes.Count(src, []byte("\n")) + bytes.Count(src, []byte("[")) + bytes.Count(src, []byte("- ")); marks > limits.Nodes {
		return nil, nil, fmt.Errorf("%w: more than %d values", ErrTooLarge, limits.Nodes)
	}
	r := &yamlReader{limits: limits, src: src, lines: []int{0}, known: map[[2]int]int{}}
	for i, c := range src {
		if c == '\n' {
			r.lines = append(r.lines, i+1)
		}
	}
	var roots []*node
	for d := yaml.NewDecoder(bytes.NewReader(src)); ; {
		var doc yaml.Node
		err := d.Decode(&doc)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%w: %s", ErrSyntax, strings.TrimPrefix(err.Error(), "yaml: "))
		}
		if len(doc.Content) == 0 {
			continue
		}
		n, err := r.read(doc.Content[0], 0)
		if err != nil {
			return nil, nil, err
		}
		roots = append(roots, n)
	}
	if len(roots) == 0 {
		return nil, nil, fmt.Errorf("%w: it is empty", ErrSyntax)
	}
	return roots, r.repeats, nil
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
	n := &node{line: y.Line, column: y.Column, text: y.Value}
	if strings.HasPrefix(y.Tag, "!") && !strings.HasPrefix(y.Tag, "!!") {
		plain := *y
		plain.Tag = ""
		args, err := r.read(&plain, depth+1)
		n.kind, n.text, n.args = kindUnresolved, y.Tag, args
		return n, err
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

// mapping keeps merged members before the mapping's own, whatever their order: its own count.
func (r *yamlReader) mapping(n *node, y *yaml.Node, depth int) error {
	n.kind = kindMap
	seen := map[string]bool{}
	var merged, own []member
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
		if k.Value != "<<" || k.Style != 0 {
			own = append(own, member{k.Value, v})
			continue
		}
		if v.kind == kindMap {
			merged = append(merged, v.members...)
		}
		for j := len(v.items) - 1; j >= 0; j-- { // of several merged mappings the first counts
			merged = append(merged, v.items[j].members...)
		}
	}
	n.members = append(merged, own...)
	return nil
}

func (r *yamlReader) scalar(n *node, y *yaml.Node) {
	switch y.Tag {
	case "!!null":
		n.kind = kindNull
	case "!!bool":
		n.kind = kindBool
	case "!!int":
		n.kind = kindNumber
		if v, err := strconv.ParseInt(strings.ReplaceAll(y.Value, "_", ""), 0, 64); err == nil {
			n.whole = &v // 0x1000 and 010000 are the same figure
		}
	case "!!float":
		n.kind = kindNumber
	default:
		n.kind = kindText
	}
	if y.Line < 1 || y.Line > len(r.lines) || y.Anchor != "" {
		return
	}
	at := r.offset(y.Line, y.Column)
	quote := 0 // a scalar is editable where it stands letter for letter, in quotes or plain
	if y.Style == yaml.DoubleQuotedStyle || y.Style == yaml.SingleQuotedStyle {
		quote = 1
	} else if y.Style != 0 {
		return
	}
	if end := at + quote + len(y.Value); end <= len(r.src) && string(r.src[at+quote:end]) == y.Value {
		n.from, n.to = at+quote, end
	}
}
