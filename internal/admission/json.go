package admission

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// jsonParser reads JSON with places. The standard decoder gives neither line numbers nor repeated keys.
type jsonParser struct {
	src       []byte
	at        int
	line      int
	lineStart int
	counted   int // where column last counted to, so that a long line is counted once
	chars     int // characters of the line before it
	nodes     int
	limits    Limits
	repeats   []repeat
}

type repeat struct {
	name         string
	line, column int
}

func parseJSON(src []byte, limits Limits) ([]*node, []repeat, error) {
	p := &jsonParser{src: src, line: 1, limits: limits}
	n, err := p.value(0)
	if err != nil {
		return nil, nil, err
	}
	if p.space(); p.at < len(src) {
		return nil, nil, p.fail("text after the end of the value")
	}
	return []*node{n}, p.repeats, nil
}

func (p *jsonParser) fail(what string) error {
	return fmt.Errorf("line %d, column %d: %w: %s", p.line, p.column(), ErrSyntax, what)
}

// column is the place in the line, in characters from 1.
func (p *jsonParser) column() int {
	if p.counted < p.lineStart || p.counted > p.at {
		p.counted, p.chars = p.lineStart, 0
	}
	p.chars += utf8.RuneCount(p.src[p.counted:p.at])
	p.counted = p.at
	return p.chars + 1
}

func (p *jsonParser) space() {
	for ; p.at < len(p.src); p.at++ {
		switch p.src[p.at] {
		case '\n':
			p.line, p.lineStart = p.line+1, p.at+1
		case ' ', '\t', '\r':
		default:
			return
		}
	}
}

func (p *jsonParser) peek() byte {
	if p.space(); p.at < len(p.src) {
		return p.src[p.at]
	}
	return 0
}

func (p *jsonParser) value(depth int) (*node, error) {
	c := p.peek()
	if p.nodes++; p.nodes > p.limits.Nodes {
		return nil, fmt.Errorf("line %d: %w: more than %d values", p.line, ErrTooLarge, p.limits.Nodes)
	}
	if depth > p.limits.Depth {
		return nil, tooDeep(p.line, p.limits.Depth)
	}
	n := &node{line: p.line, column: p.column(), start: p.at}
	var err error
	switch c {
	case '{':
		n.kind = kindMap
		err = p.object(n, depth)
	case '[':
		n.kind = kindList
		err = p.array(n, depth)
	case '"':
		n.kind = kindText
		n.text, err = p.quoted()
		if string(p.src[n.start:p.at]) == `"`+n.text+`"` {
			n.from, n.to = n.start+1, p.at-1
		}
	default:
		err = p.literal(n)
		n.from, n.to = n.start, p.at
	}
	return n, err
}

func (p *jsonParser) object(n *node, depth int) error {
	p.at++
	seen := map[string]bool{}
	for first := true; ; first = false {
		c := p.peek()
		if c == '}' && first {
			p.at++
			return nil
		}
		if c != '"' {
			return p.fail("a key in double quotes is expected")
		}
		line, column := p.line, p.column()
		name, err := p.quoted()
		if err != nil {
			return err
		}
		if seen[name] {
			p.repeats = append(p.repeats, repeat{name, line, column})
		}
		seen[name] = true
		if p.peek() != ':' {
			return p.fail("a colon is expected after the key")
		}
		p.at++
		v, err := p.value(depth + 1)
		if err != nil {
			return err
		}
		n.members = append(n.members, member{name, v})
		if more, err := p.more('}'); !more {
			return err
		}
	}
}

func (p *jsonParser) array(n *node, depth int) error {
	p.at++
	if p.peek() == ']' {
		p.at++
		return nil
	}
	for {
		v, err := p.value(depth + 1)
		if err != nil {
			return err
		}
		n.items = append(n.items, v)
		if more, err := p.more(']'); !more {
			return err
		}
	}
}

// more takes the comma or the closing bracket after a value.
func (p *jsonParser) more(closing byte) (bool, error) {
	switch p.peek() {
	case ',':
		p.at++
		return true, nil
	case closing:
		p.at++
		return false, nil
	}
	return false, p.fail("a comma or " + string(closing) + " is expected")
}

func (p *jsonParser) quoted() (string, error) {
	from := p.at
	for p.at++; p.at < len(p.src); p.at++ {
		switch p.src[p.at] {
		case '\\':
			p.at++
		case '"':
			p.at++
			var s string
			if err := json.Unmarshal(p.src[from:p.at], &s); err != nil {
				return "", p.fail("a damaged string")
			}
			return s, nil
		case '\n':
			return "", p.fail("a string that does not end on its line")
		}
	}
	p.at = len(p.src) // a backslash may have stepped past the end
	return "", p.fail("a string that does not end")
}

func (p *jsonParser) literal(n *node) error {
	from := p.at
	for p.at < len(p.src) && (p.src[p.at] >= '0' && p.src[p.at] <= '9' || p.src[p.at] >= 'a' && p.src[p.at] <= 'z' ||
		p.src[p.at] == '-' || p.src[p.at] == '+' || p.src[p.at] == '.' || p.src[p.at] == 'E') {
		p.at++
	}
	n.text = string(p.src[from:p.at])
	switch n.text {
	case "null":
		n.kind = kindNull
	case "true", "false":
		n.kind = kindBool
	default:
		var num json.Number
		if json.Unmarshal(p.src[from:p.at], &num) != nil {
			p.at = from
			return p.fail("a value is expected")
		}
		n.kind = kindNumber
	}
	return nil
}
