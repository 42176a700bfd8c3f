package admission

import (
	"regexp"
	"slices"
	"strings"
)

// reserved are the variables that ECS sets for a share, and the one that hides cards from CUDA.
var reserved = []string{"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
	"CUDA_MPS_PIPE_DIRECTORY", "NVIDIA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"}

// token is a word of a command line, or a mark that ends a command.
type token struct {
	text string
	at   *node
}

var (
	shellWord   = regexp.MustCompile(`[;&|\n()]+|[^\s;&|()]+`)
	inProgram   = regexp.MustCompile(`environ(?:\[|\.setdefault\(|\.pop\(|\.update\(\{?)\s*["'](` + strings.Join(reserved, "|") + `)["']|(?:putenv|unsetenv|setenv)\(\s*["'](` + strings.Join(reserved, "|") + `)["']`)
	readProgram = regexp.MustCompile(`^\s*\]\s*(?:[^=\s]|==|$)`)
)

// tokens splits the container's command as a shell would, far enough to see which variables it changes. The words
// of the list make one command.
func (c container) tokens() []token {
	var out []token
	for _, w := range c.command() {
		for _, t := range shellWord.FindAllString(w.string(), -1) {
			out = append(out, token{strings.Trim(t, `"'`), w})
		}
	}
	return out
}

// mode is what a command does to the names that follow it.
type mode int

const (
	plainMode  mode = iota
	unsetMode       // unset A B
	envMode         // env -u A B=1 program
	exportMode      // export -n A, declare +x A
)

// shell follows a command line word by word.
type shell struct {
	now   mode
	drops bool // the next name loses its value, or its way to the program
	found []usage
}

func (s *shell) change(t token, name string) {
	if u := (usage{t.at, name}); slices.Contains(reserved, name) && !slices.Contains(s.found, u) {
		s.found = append(s.found, u)
	}
}

func (s *shell) word(t token) {
	switch {
	case strings.Trim(t.text, ";&|\n()") == "":
		s.now, s.drops = plainMode, false
	case t.text == "unset":
		s.now = unsetMode
	case t.text == "env" || strings.HasSuffix(t.text, "/env"):
		s.now, s.drops = envMode, false
	case t.text == "export" || t.text == "declare" || t.text == "typeset":
		s.now, s.drops = exportMode, false
	case s.now == envMode && strings.HasPrefix(t.text, "-") && !strings.Contains(t.text, "=") || strings.HasPrefix(t.text, "--unset="):
		s.envFlag(t)
	case s.now == exportMode && (t.text == "-n" || t.text == "+x"):
		s.drops = true
	default:
		s.name(t)
	}
}

func (s *shell) envFlag(t token) {
	switch {
	case t.text == "-u" || t.text == "--unset":
		s.drops = true
	case t.text == "-i" || t.text == "-" || t.text == "--ignore-environment":
		s.found = append(s.found, usage{t.at, "the whole environment, with CUDA_MPS_PIPE_DIRECTORY,"})
	case strings.HasPrefix(t.text, "--unset="):
		s.change(t, strings.TrimPrefix(t.text, "--unset="))
	case strings.HasPrefix(t.text, "-u"):
		s.change(t, t.text[2:])
	}
}

func (s *shell) name(t token) {
	name, _, assigned := strings.Cut(t.text, "=")
	switch {
	case assigned:
		s.change(t, strings.TrimSuffix(name, "+"))
	case s.now == unsetMode || s.drops:
		s.change(t, t.text)
		s.drops = s.drops && s.now == exportMode
	case s.now == envMode:
		s.now = plainMode // the program that env starts
	}
}

// changedVariables are the reserved variables that the command sets or unsets, each with its place.
func (c container) changedVariables() []usage {
	var s shell
	for _, t := range c.tokens() {
		s.word(t)
	}
	for _, w := range c.command() {
		text := w.string()
		for _, m := range inProgram.FindAllStringSubmatchIndex(text, -1) {
			if !readProgram.MatchString(text[m[1]:]) {
				s.change(token{at: w}, strings.Trim(text[max(m[2], m[4]):max(m[3], m[5])], `"'`))
			}
		}
	}
	return s.found
}

func reservedInCommand(r *report, c container) {
	if c.share == nil {
		return
	}
	for _, v := range c.changedVariables() {
		r.at(v.node, c.node, v.what+" is changed in the command")
	}
}
