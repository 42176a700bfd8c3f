package events

import (
	"encoding/json"
	"errors"
)

// cursor walks JSON that json.Valid has accepted; on anything else its answers
// mean nothing, though it neither panics nor runs past the end.
type cursor struct {
	b []byte
	i int
}

// errShape is a value that is not of the expected shape.
var errShape = errors.New("a value of another shape")

// object calls member with each name and its value's bytes.
func (c *cursor) object(member func(name, value []byte) error) error {
	if c.peek() != '{' {
		return errShape
	}
	c.i++
	for c.peek() == '"' {
		quoted := c.value()
		name := quoted[1 : len(quoted)-1]
		if !plain(quoted) {
			var s string
			if err := json.Unmarshal(quoted, &s); err != nil {
				return err
			}
			name = []byte(s)
		}
		c.peek()
		c.i++ // the colon
		c.peek()
		if err := member(name, c.value()); err != nil {
			return err
		}
		if c.peek() == ',' {
			c.i++
		}
	}
	return nil
}

// list reads an array of objects; null is an empty one.
func list[T any](value []byte, into *[]T, member func(*T, []byte, []byte) error) error {
	*into = nil
	c := cursor{b: value}
	switch c.peek() {
	case 'n':
		return nil
	case '[':
		c.i++
	default:
		return errShape
	}
	*into = []T{}
	for c.peek() != ']' && c.i < len(c.b) {
		var one T
		inner := cursor{b: c.value()}
		if inner.peek() != 'n' { // null is the zero value
			if err := inner.object(func(n, v []byte) error { return member(&one, n, v) }); err != nil {
				return err
			}
		}
		*into = append(*into, one)
		if c.peek() == ',' {
			c.i++
		}
	}
	return nil
}

// peek skips space and returns the next byte, 0 at the end.
func (c *cursor) peek() byte {
	for ; c.i < len(c.b); c.i++ {
		switch c.b[c.i] {
		case ' ', '\t', '\r', '\n':
		default:
			return c.b[c.i]
		}
	}
	return 0
}

// value returns the bytes of the value at the cursor and steps over it.
func (c *cursor) value() []byte {
	start, depth := c.i, 0
	for c.i < len(c.b) {
		switch c.b[c.i] {
		case '"':
			for c.i++; c.i < len(c.b) && c.b[c.i] != '"'; c.i++ {
				if c.b[c.i] == '\\' {
					c.i++
				}
			}
			c.i = min(c.i+1, len(c.b))
			if depth == 0 {
				return c.b[start:c.i]
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return c.b[start:c.i]
			}
			if depth--; depth == 0 {
				c.i++
				return c.b[start:c.i]
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return c.b[start:c.i]
			}
		}
		c.i++
	}
	return c.b[start:c.i]
}
