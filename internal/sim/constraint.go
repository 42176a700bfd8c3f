package sim

import (
	"regexp"
	"slices"
	"strings"
)

// Constraint is a placement constraint: MemberOf with an expression, or
// DistinctInstance.
type Constraint struct{ Type, Expression string }

// The types of constraints.
const (
	MemberOf         = "memberOf"
	DistinctInstance = "distinctInstance"
)

// maxExpression is ECS's bound of an expression.
const maxExpression = 2000

// Query is a parsed expression of ECS's cluster query language.
type Query struct{ node node }

// Matches reports whether a container instance is in the group that a query names.
func (q *Query) Matches(h *Host) bool { return q.node(h) }

// node is a part of a query.
type node func(*Host) bool

// ParseQuery reads an expression: subject, operator and argument, joined by and, or,
// not and parentheses.
func ParseQuery(text string) (*Query, error) {
	if len(text) > maxExpression {
		return nil, refuse("InvalidParameterException", "Expression is longer than %d characters", maxExpression)
	}
	p := &parser{words: split(text)}
	n, err := p.or()
	if err == nil && len(p.words) > 0 {
		err = p.bad("unexpected %q", p.words[0])
	}
	if err != nil {
		return nil, err
	}
	return &Query{n}, nil
}

// lexeme is one word, operator or bracket of an expression.
var lexeme = regexp.MustCompile(`==|!=|>=|<=|=~|!~|&&|\|\||[()\[\],<>]|![a-z]*|'[^']*'|"[^"]*"|[^\s()\[\],<>=!&|]+`)

func split(text string) []string { return lexeme.FindAllString(text, -1) }

type parser struct {
	words []string
	depth int
}

func (p *parser) bad(format string, args ...any) error {
	return refuse("InvalidParameterException", "Invalid expression: "+format, args...)
}

func (p *parser) take(words ...string) bool {
	if len(p.words) > 0 && slices.Contains(words, p.words[0]) {
		p.words = p.words[1:]
		return true
	}
	return false
}

func (p *parser) next() string {
	if len(p.words) == 0 {
		return ""
	}
	w := p.words[0]
	p.words = p.words[1:]
	return w
}

func (p *parser) or() (node, error) {
	left, err := p.and()
	for err == nil && p.take("or", "||") {
		a := left
		var b node
		if b, err = p.and(); err == nil {
			left = func(h *Host) bool { return a(h) || b(h) }
		}
	}
	return left, err
}

func (p *parser) and() (node, error) {
	left, err := p.unary()
	for err == nil && p.take("and", "&&") {
		a := left
		var b node
		if b, err = p.unary(); err == nil {
			left = func(h *Host) bool { return a(h) && b(h) }
		}
	}
	return left, err
}

// maxDepth bounds the nesting of brackets and negations.
const maxDepth = 50

func (p *parser) unary() (node, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, p.bad("nested too deeply")
	}
	defer func() { p.depth-- }()
	if p.take("not", "!") {
		n, err := p.unary()
		if err != nil {
			return nil, err
		}
		return func(h *Host) bool { return !n(h) }, nil
	}
	if p.take("(") {
		n, err := p.or()
		if err == nil && !p.take(")") {
			err = p.bad("a bracket is not closed")
		}
		return n, err
	}
	return p.term()
}

// term is a subject with its operator and argument.
func (p *parser) term() (node, error) {
	name := p.next()
	read, err := subject(name)
	if err != nil {
		return nil, err
	}
	op, ok := operators[p.next()]
	switch {
	case !ok:
		return nil, p.bad("%s needs an operator", name)
	case op == "exists":
		return func(h *Host) bool { return len(read(h)) > 0 }, nil
	case op == "!exists":
		return func(h *Host) bool { return len(read(h)) == 0 }, nil
	}
	args, err := p.arguments(op == "in" || op == "!in")
	if err != nil {
		return nil, err
	}
	test, err := comparison(op, args)
	if err != nil {
		return nil, err
	}
	negative := strings.HasPrefix(op, "!")
	return func(h *Host) bool {
		values := read(h)
		if negative { // no value may be among them, and there must be one
			return len(values) > 0 && !slices.ContainsFunc(values, test)
		}
		return slices.ContainsFunc(values, test)
	}, nil
}

func (p *parser) arguments(list bool) ([]string, error) {
	if !list {
		w := p.next()
		if w == "" || strings.Contains("()[],", w) {
			return nil, p.bad("an argument is missing")
		}
		return []string{strings.Trim(w, `'"`)}, nil
	}
	if !p.take("[") {
		return nil, p.bad("a list must begin with [")
	}
	var out []string
	for !p.take("]") {
		w := p.next()
		if w == "" {
			return nil, p.bad("a list is not closed")
		}
		if w != "," {
			out = append(out, strings.Trim(w, `'"`))
		}
	}
	return out, nil
}
