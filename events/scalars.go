package events

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Text reads a string; null is empty, and a number or boolean is its own text.
type Text string

// UnmarshalJSON reads it.
func (t *Text) UnmarshalJSON(b []byte) error {
	switch {
	case len(b) == 0 || string(b) == "null":
		*t = ""
	case b[0] == '"' && bytes.IndexByte(b, '\\') < 0:
		*t = Text(b[1 : len(b)-1]) // the usual case, without a second decoder
	case plain(b):
		*t = Text(b[1 : len(b)-1])
	case b[0] == '"':
		var s string
		if err := json.Unmarshal(b, &s); err != nil {
			return err
		}
		*t = Text(s)
	case b[0] == '{' || b[0] == '[':
		return wrongType(b, reflect.TypeFor[Text]())
	default:
		*t = Text(b)
	}
	return nil
}

// Texts reads a list of strings; null is empty, one string is a list of one.
type Texts []string

// UnmarshalJSON reads it.
func (t *Texts) UnmarshalJSON(b []byte) error {
	*t = nil
	if len(b) > 0 && b[0] == '"' {
		var s Text
		err := s.UnmarshalJSON(b)
		*t = Texts{string(s)}
		return err
	}
	if fast, ok := plainList(b); ok {
		*t = fast
		return nil
	}
	var list []Text
	if err := json.Unmarshal(b, &list); err != nil {
		return wrongType(b, reflect.TypeFor[Texts]())
	}
	for _, s := range list {
		if s != "" {
			*t = append(*t, string(s))
		}
	}
	return nil
}

// plainList reads a list of plain strings, as nearly all are; ok is false for any
// other, which then takes the long way.
func plainList(b []byte) (out Texts, ok bool) {
	c := cursor{b: b}
	if c.peek() != '[' {
		return nil, false
	}
	for c.i++; c.peek() == '"'; {
		v := c.value()
		if !plain(v) {
			return nil, false
		}
		if len(v) > 2 {
			out = append(out, string(v[1:len(v)-1]))
		}
		if c.peek() == ',' {
			c.i++
		}
	}
	return out, c.peek() == ']'
}

// Int reads a whole number, written as a number or as text; Known is false when it
// was absent, null or empty. A figure beyond an int64 is held at its end, so that
// a judge can call it absurd.
type Int struct {
	Value int64
	Known bool
}

// UnmarshalJSON reads it.
func (n *Int) UnmarshalJSON(b []byte) error {
	*n = Int{}
	s := strings.Trim(string(b), `"`)
	if s == "" || s == "null" {
		return nil
	}
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) { // out of range, v is the end it passed
		f, ferr := strconv.ParseFloat(s, 64)
		switch {
		case ferr != nil && !errors.Is(ferr, strconv.ErrRange), math.IsNaN(f):
			return wrongType(b, reflect.TypeFor[Int]())
		case f >= math.MaxInt64:
			v = math.MaxInt64
		case f <= math.MinInt64:
			v = math.MinInt64
		case f != math.Trunc(f):
			return wrongType(b, reflect.TypeFor[Int]())
		default:
			v = int64(f)
		}
	}
	*n = Int{Value: v, Known: true}
	return nil
}

// Bool reads a boolean, written as one or as text.
type Bool bool

// UnmarshalJSON reads it.
func (x *Bool) UnmarshalJSON(b []byte) error {
	switch strings.ToLower(strings.Trim(string(b), `"`)) {
	case "true":
		*x = true
	case "false", "null", "":
		*x = false
	default:
		return wrongType(b, reflect.TypeFor[Bool]())
	}
	return nil
}

// Time reads a time as AWS writes it: ISO text, epoch seconds or milliseconds, or
// the words that older services use. Absent, null and unreadable are the zero
// time: no decision hangs on a time alone, so one that is odd costs nothing else.
type Time struct{ time.Time }

var timeLayouts = []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999Z0700", "2006-01-02T15:04:05.999999999", time.RFC1123, "Mon, 2 Jan 2006 15:04:05 MST"}

// UnmarshalJSON reads it.
func (t *Time) UnmarshalJSON(b []byte) error {
	t.Time = time.Time{}
	s := strings.Trim(string(b), `"`)
	if s == "" || s == "null" || len(s) > 64 {
		return nil
	}
	for _, layout := range timeLayouts {
		if v, err := time.Parse(layout, s); err == nil {
			t.Time = v.UTC()
			return nil
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	switch {
	case err != nil || f <= 0:
	case f < 1e11: // seconds, up to the year 5138
		t.Time = time.UnixMilli(int64(f * 1000)).UTC()
	case f < 1e14:
		t.Time = time.UnixMilli(int64(f)).UTC()
	}
	return nil //nolint:nilerr // an odd time is no time, see above
}

// plain reports whether b is a JSON string without escapes, which is its own text.
func plain(b []byte) bool {
	return len(b) >= 2 && b[0] == '"' && b[len(b)-1] == '"' && bytes.IndexByte(b, '\\') < 0
}

// wrongType is the error of a member of the wrong type. It is the decoder's own
// type of error because that is the one the decoder completes with the member's
// name, which ErrDetail tells.
func wrongType(b []byte, want reflect.Type) error {
	return &json.UnmarshalTypeError{Value: shown(b), Type: want}
}

// shown is what an error tells of a value: never more than a few characters of it.
func shown(b []byte) string {
	switch {
	case len(b) == 0:
		return "nothing"
	case b[0] == '{':
		return "object"
	case b[0] == '[':
		return "array"
	case len(b) > 40:
		b = b[:40]
	}
	return strings.ToValidUTF8(string(b), "")
}
