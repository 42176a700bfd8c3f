package mps

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Control asks the daemon one question. Implementations bound the time and size
// of the answer and never fail otherwise than by its kind.
type Control interface {
	Ask(ctx context.Context, command string) Answer
}

// Bounds of one question.
const (
	AskDeadline    = 3 * time.Second // the ECS agent's own probe waits as long
	maxAnswerBytes = 64 << 10
	maxCommand     = 256
	killGrace      = 500 * time.Millisecond
)

// Tool is the name of the control program.
const Tool = "nvidia-cuda-mps-control"

// PipeDirs are where the daemon's socket may be: the machine image's place first,
// then the one of older images and of the tool itself.
var PipeDirs = []string{"/run/mps-ecs", "/tmp/nvidia-mps"}

// DetectPipeDir returns the first directory of dirs that holds a control socket.
// Where none does, it returns the first that exists, and false.
func DetectPipeDir(dirs []string) (string, bool) {
	found := ""
	for _, d := range dirs {
		if st, err := os.Stat(filepath.Join(d, "control")); err == nil && st.Mode()&fs.ModeSocket != 0 {
			return d, true
		}
		if st, err := os.Stat(d); err == nil && st.IsDir() && found == "" {
			found = d
		}
	}
	return found, false
}

// Exec asks with the vendor's control tool: it follows the protocol of the
// running daemon, which no reimplementation could promise.
type Exec struct {
	PipeDir  string        // required
	Path     string        // the tool; "" finds it in PATH
	Deadline time.Duration // 0 is AskDeadline
}

// Ask runs one command. The tool is killed with its whole process group at the
// deadline. A command of several lines is refused and never run.
func (e Exec) Ask(ctx context.Context, command string) Answer {
	start := time.Now()
	a := e.ask(ctx, command)
	a.Took = time.Since(start)
	return a
}

func (e Exec) ask(ctx context.Context, command string) Answer {
	if command == "" || len(command) > maxCommand || strings.ContainsFunc(command, func(r rune) bool { return r < ' ' || r > '~' }) {
		return Answer{Kind: AnswerRefused, Text: "command must be one printable line"}
	}
	if st, err := os.Stat(filepath.Join(e.PipeDir, "control")); err != nil || st.Mode()&fs.ModeSocket == 0 {
		return Answer{Kind: AnswerNoSocket, Text: "no control socket in " + e.PipeDir}
	}
	deadline := e.Deadline
	if deadline <= 0 {
		deadline = AskDeadline
	}
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	path := e.Path
	if path == "" {
		path = Tool
	}
	out := &bounded{left: maxAnswerBytes}
	cmd := exec.CommandContext(ctx, path)
	cmd.Env = []string{"CUDA_MPS_PIPE_DIRECTORY=" + e.PipeDir, "PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(command+"\n"), out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = killGrace
	err := cmd.Run()
	text := strings.ToValidUTF8(strings.TrimRight(out.String(), "\n"), "?")
	var exit *exec.ExitError
	switch kind := Judge(text); {
	case ctx.Err() != nil:
		return Answer{Kind: AnswerNone, Text: text, Cut: out.cut}
	case err != nil && !errors.As(err, &exit):
		return Answer{Kind: AnswerNoTool, Text: err.Error()}
	case kind == AnswerOK && err != nil: // an exit status alone condemns nothing but a silent failure
		return Answer{Kind: AnswerRefused, Text: text + " (" + err.Error() + ")", Cut: out.cut}
	default:
		return Answer{Kind: kind, Text: text, Cut: out.cut}
	}
}

// bounded keeps the first bytes written to it and swallows the rest, so that a
// talkative tool neither fills memory nor blocks.
type bounded struct {
	buf  bytes.Buffer // not embedded: its ReadFrom would pass the bound by
	left int
	cut  bool
}

func (b *bounded) String() string { return b.buf.String() }

func (b *bounded) Write(p []byte) (int, error) {
	n := len(p)
	if n > b.left {
		p, b.cut = p[:b.left], true
	}
	b.left -= len(p)
	b.buf.Write(p)
	return n, nil
}
