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

// changedVariables are the reserved variables that the command sets or unsets, each with its place.
func (c container) changedVariables() []usage {
	var out []usage
	found := func(t token, name string) {
		if u := (usage{t.at, name}); slices.Contains(reserved, name) && !slices.Contains(out, u) {
			out = append(out, u)
		}
	}
	now, drops := plainMode, false
	for _, t := range c.tokens() {
		name, _, assigned := strings.Cut(t.text, "=")
		switch {
		case strings.Trim(t.text, ";&|\n()") == "":
			now, drops = plainMode, false
		case t.text == "unset":
			now = unsetMode
		case t.text == "env" || strings.HasSuffix(t.text, "/env"):
			now, drops = envMode, false
		case t.text == "export" || t.text == "declare" || t.text == "typeset":
			now, drops = exportMode, false
		case now == envMode && name == "--unset" && assigned:
			found(t, strings.TrimPrefix(t.text, "--unset="))
		case now == envMode && strings.HasPrefix(t.text, "-u") && len(t.text) > 2:
			found(t, t.text[2:])
		case (now == envMode && (t.text == "-u" || t.text == "--unset")) || now == exportMode && (t.text == "-n" || t.text == "+x"):
			drops = true
		case now == envMode && (t.text == "-i" || t.text == "-" || t.text == "--ignore-environment"):
			out = append(out, usage{t.at, "the whole environment, with CUDA_MPS_PIPE_DIRECTORY,"})
		case assigned:
			found(t, strings.TrimSuffix(name, "+"))
		case now == unsetMode || drops:
			found(t, t.text)
			drops = drops && now == exportMode
		case now == envMode && !strings.HasPrefix(t.text, "-"):
			now = plainMode // the program that env starts
		}
	}
	for _, w := range c.command() {
		text := w.string()
		for _, m := range inProgram.FindAllStringSubmatchIndex(text, -1) {
			if !readProgram.MatchString(text[m[1]:]) {
				found(token{at: w}, strings.Trim(text[max(m[2], m[4]):max(m[3], m[5])], `"'`))
			}
		}
	}
	return out
}

func reservedInCommand(r *report, c container) {
	if c.share == nil {
		return
	}
	for _, v := range c.changedVariables() {
		r.at(v.node, c.node, v.what+" is changed in the command")
	}
}
