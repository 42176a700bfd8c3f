package pattern

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// test is one entry of a leaf's list, held against all values at its path.
type test func(leaves []any) bool

// anyOf is a test that one value is enough for.
func anyOf(one func(any) bool) test {
	return func(leaves []any) bool { return slices.ContainsFunc(leaves, one) }
}

func testOf(v any) (test, error) {
	m, ok := v.(map[string]any)
	if !ok {
		one, err := exact(v)
		return anyOf(one), err
	}
	if len(m) != 1 {
		return nil, errors.New("a filter has exactly one member")
	}
	for name, arg := range m {
		switch name {
		case "exists":
			want, ok := arg.(bool)
			if !ok {
				return nil, errors.New("exists takes true or false")
			}
			return func(leaves []any) bool { return (len(leaves) > 0) == want }, nil
		case "anything-but":
			not, err := excluded(arg)
			return anyOf(func(v any) bool { return !not(v) }), err
		case "numeric":
			one, err := numeric(arg)
			return anyOf(one), err
		default:
			one, err := textual(name, arg)
			return anyOf(one), err
		}
	}
	return nil, errors.New("a filter has exactly one member")
}

func exact(want any) (func(any) bool, error) {
	switch want := want.(type) {
	case json.Number:
		f, err := want.Float64()
		if err != nil {
			return nil, fmt.Errorf("%s is no usable number", want)
		}
		return func(v any) bool { g, ok := number(v); return ok && g == f }, nil
	case string, bool, nil:
		return func(v any) bool { return v == want }, nil
	}
	return nil, errors.New("a list inside the list of a leaf")
}

// textual is the filters of text, by name.
func textual(name string, arg any) (func(any) bool, error) {
	fold := false
	if m, ok := arg.(map[string]any); ok && len(m) == 1 && (name == "prefix" || name == "suffix") {
		if inner, has := m["equals-ignore-case"]; has {
			arg, fold = inner, true
		}
	}
	want, ok := arg.(string)
	if !ok {
		return nil, fmt.Errorf("%s takes text", name)
	}
	var of func(string) bool
	switch name {
	case "prefix":
		of = func(s string) bool { return len(s) >= len(want) && same(s[:len(want)], want, fold) }
	case "suffix":
		of = func(s string) bool { return len(s) >= len(want) && same(s[len(s)-len(want):], want, fold) }
	case "equals-ignore-case":
		of = func(s string) bool { return strings.EqualFold(s, want) }
	case "wildcard":
		if strings.Contains(want, "**") {
			return nil, errors.New("two wildcards in a row")
		}
		of = func(s string) bool { return glob(want, s) }
	default:
		return nil, fmt.Errorf("the filter %q is not known", name)
	}
	return func(v any) bool { s, ok := v.(string); return ok && of(s) }, nil
}

func same(a, b string, fold bool) bool { return a == b || fold && strings.EqualFold(a, b) }

// excluded is the argument of anything-but: a value, a list, or a text filter with
// one text or a list of it.
func excluded(arg any) (func(any) bool, error) {
	var parts []func(any) bool
	add := func(one func(any) bool, err error) error { parts = append(parts, one); return err }
	var err error
	switch arg := arg.(type) {
	case map[string]any:
		if len(arg) != 1 {
			return nil, errors.New("anything-but takes one filter")
		}
		for name, inner := range arg {
			list, ok := inner.([]any)
			if !ok {
				list = []any{inner}
			}
			for _, v := range list {
				err = errors.Join(err, add(textual(name, v)))
			}
		}
	case []any:
		for _, v := range arg {
			err = errors.Join(err, add(exact(v)))
		}
	default:
		err = add(exact(arg))
	}
	if err == nil && len(parts) == 0 {
		err = errors.New("anything-but takes at least one value")
	}
	return func(v any) bool { return slices.ContainsFunc(parts, func(p func(any) bool) bool { return p(v) }) }, err
}

// numeric is [op, number] or two of them.
func numeric(arg any) (func(any) bool, error) {
	list, _ := arg.([]any)
	if len(list) != 2 && len(list) != 4 {
		return nil, errors.New("numeric takes one or two pairs of comparison and number")
	}
	var parts []func(float64) bool
	for i := 0; i < len(list); i += 2 {
		op, _ := list[i].(string)
		n, ok := number(list[i+1])
		cmp := map[string]func(float64) bool{
			"=": func(f float64) bool { return f == n }, "<": func(f float64) bool { return f < n }, "<=": func(f float64) bool { return f <= n },
			">": func(f float64) bool { return f > n }, ">=": func(f float64) bool { return f >= n },
		}[op]
		if cmp == nil || !ok {
			return nil, errors.New("numeric compares with =, <, <=, > or >= to a number")
		}
		parts = append(parts, cmp)
	}
	return func(v any) bool {
		f, ok := number(v)
		return ok && !slices.ContainsFunc(parts, func(p func(float64) bool) bool { return !p(f) })
	}, nil
}

func number(v any) (float64, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	f, err := n.Float64()
	return f, err == nil
}

// glob matches * against any text; it goes back only to the last star, so its time
// is bounded by the product of the lengths.
func glob(pat, s string) bool {
	p, i, star, mark := 0, 0, -1, 0
	for i < len(s) {
		switch {
		case p < len(pat) && pat[p] == '*':
			star, mark, p = p, i, p+1
		case p < len(pat) && pat[p] == s[i]:
			p, i = p+1, i+1
		case star >= 0:
			mark++
			p, i = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pat[p:], "*") == ""
}
