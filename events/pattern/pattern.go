package pattern

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// ErrPattern is a pattern that EventBridge would refuse, or that this package does
// not know: correct it where the error says.
var ErrPattern = errors.New("not a usable event pattern")

// ErrEvent is an event that is no JSON object.
var ErrEvent = errors.New("the event is no JSON object")

// MaxBytes bounds a pattern and an event, each; EventBridge's bound of an event.
const MaxBytes = 256 << 10

// MaxNesting bounds the objects inside objects of a pattern.
const MaxNesting = 64

// Pattern is a parsed event pattern.
type Pattern struct{ all []field }

// field is one member of a pattern object: exactly one of the three is set.
type field struct {
	name   string
	leaf   []test
	nested *Pattern
	or     []Pattern
}

// Parse reads a pattern from JSON.
func Parse(raw []byte) (Pattern, error) {
	v, err := decode(raw)
	if err != nil {
		return Pattern{}, fmt.Errorf("%w: %w", ErrPattern, err)
	}
	return object(v, "the pattern", 0)
}

func object(v any, path string, depth int) (Pattern, error) {
	m, ok := v.(map[string]any)
	if !ok || len(m) == 0 || depth > MaxNesting {
		return Pattern{}, fmt.Errorf("%w: %s must be an object with members, nested at most %d deep", ErrPattern, path, MaxNesting)
	}
	var p Pattern
	for name, inner := range m {
		f, err := member(name, inner, depth)
		if err != nil {
			return Pattern{}, err
		}
		p.all = append(p.all, f)
	}
	slices.SortFunc(p.all, func(a, b field) int { return bytes.Compare([]byte(a.name), []byte(b.name)) })
	return p, nil
}

func member(name string, v any, depth int) (field, error) {
	f := field{name: name}
	list, isList := v.([]any)
	switch {
	case name == "$or" && isList && len(list) > 1:
		for _, one := range list {
			p, err := object(one, "$or", depth+1)
			if err != nil {
				return f, err
			}
			f.or = append(f.or, p)
		}
		return f, nil
	case isList && len(list) > 0:
		for _, one := range list {
			t, err := testOf(one)
			if err != nil {
				return f, fmt.Errorf("%w: %q: %w", ErrPattern, name, err)
			}
			f.leaf = append(f.leaf, t)
		}
		return f, nil
	case isList:
		return f, fmt.Errorf("%w: %q is an empty list, which nothing can match", ErrPattern, name)
	}
	p, err := object(v, fmt.Sprintf("%q", name), depth+1)
	f.nested = &p
	return f, err
}

// Match reports whether the event has all that the pattern asks.
func (p Pattern) Match(event []byte) (bool, error) {
	v, err := decode(event)
	if err != nil {
		return false, fmt.Errorf("%w: %w", ErrEvent, err)
	}
	m, ok := v.(map[string]any)
	if !ok {
		return false, ErrEvent
	}
	return p.match([]map[string]any{m}), nil
}

// match holds the pattern against all the objects that its path leads to.
func (p Pattern) match(at []map[string]any) bool {
	for _, f := range p.all {
		if !f.match(at) {
			return false
		}
	}
	return true
}

func (f field) match(at []map[string]any) bool {
	if f.or != nil {
		return slices.ContainsFunc(f.or, func(p Pattern) bool { return p.match(at) })
	}
	var leaves []any
	var objects []map[string]any
	for _, o := range at {
		if v, ok := o[f.name]; ok {
			leaves, objects = spread(v, leaves, objects)
		}
	}
	if f.nested != nil {
		return f.nested.match(objects)
	}
	return slices.ContainsFunc(f.leaf, func(t test) bool { return t(leaves) })
}

// spread parts a value into the leaves and objects that arrays hold.
func spread(v any, leaves []any, objects []map[string]any) ([]any, []map[string]any) {
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			leaves, objects = spread(one, leaves, objects)
		}
	case map[string]any:
		objects = append(objects, v)
	default:
		leaves = append(leaves, v)
	}
	return leaves, objects
}

func decode(raw []byte) (any, error) {
	if len(raw) > MaxBytes {
		return nil, fmt.Errorf("%d bytes, at most %d", len(raw), MaxBytes)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("more follows after it")
	}
	return v, nil
}
