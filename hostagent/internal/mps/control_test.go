package mps

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// realDaemon starts the vendor's daemon in directories of its own.
func realDaemon(t *testing.T) (pipe, logs string) {
	t.Helper()
	if _, err := exec.LookPath(Tool); err != nil {
		t.Skipf("%s is not installed (tests/setup/mps.sh installs it): the real daemon is not tested", Tool)
	}
	dir, err := os.MkdirTemp("", "mps") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	pipe, logs = filepath.Join(dir, "p"), filepath.Join(dir, "l")
	for _, d := range []string{pipe, logs} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(Tool, "-d")
	cmd.Env = append(os.Environ(), "CUDA_MPS_PIPE_DIRECTORY="+pipe, "CUDA_MPS_LOG_DIRECTORY="+logs)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Cleanup(func() {
		Exec{PipeDir: pipe}.Ask(context.Background(), "quit")
		os.RemoveAll(dir)
	})
	for range 50 {
		if (Exec{PipeDir: pipe}).Ask(t.Context(), "get_server_list").Kind == AnswerOK {
			return pipe, logs
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatal("the daemon does not answer")
	return
}

func TestTheRealDaemonIsJudgedByItsText(t *testing.T) {
	pipe, _ := realDaemon(t)
	c := Exec{PipeDir: pipe}
	for _, q := range []struct {
		command string
		kind    AnswerKind
		text    string
	}{
		{"get_default_active_thread_percentage", AnswerOK, "100.0"}, {"get_server_list", AnswerOK, ""}, {"get_client_list 123", AnswerNotFound, "Server 123 not found"},
		{"ps", AnswerNotFound, "Server not found"}, {"no_such_word", AnswerUnknown, `Unknown command "no_such_word"`},
		{"set_default_active_thread_percentage 30", AnswerOK, "30.0"}, {"get_default_active_thread_percentage", AnswerOK, "30.0"},
	} {
		if a := c.Ask(t.Context(), q.command); a.Kind != q.kind || a.Text != q.text {
			t.Errorf("%s: %+v", q.command, a)
		}
	}
	if a := c.Ask(t.Context(), "terminate_client 1 2"); a.Kind != AnswerNotFound || Terminated(a) {
		t.Errorf("terminate_client: %+v", a)
	}
	c.Ask(t.Context(), "quit")
	time.Sleep(100 * time.Millisecond)
	if a := c.Ask(t.Context(), "get_server_list"); a.Kind != AnswerNotRunning {
		t.Errorf("after quit: %+v", a)
	}
}

func TestTheRealDaemonIsWatchedFromItsStartToItsEnd(t *testing.T) {
	pipe, logs := realDaemon(t)
	want := 40.0
	w := NewWatcher(Exec{PipeDir: pipe}, logs, DefaultPolicy())
	w.Want = &want
	s, err := w.Look(t.Context(), time.Now())
	if err != nil || s.Phase != Ready || s.Percentage == nil || *s.Percentage != 40 || s.Restarts != 1 || w.Protocol() != 2 {
		t.Fatalf("%+v %v", s, err)
	}
	if a := (Exec{PipeDir: pipe}).Ask(t.Context(), "set_default_active_thread_percentage 90"); a.Kind != AnswerOK {
		t.Fatal(a)
	}
	if s, _ = w.Look(t.Context(), time.Now()); *s.Percentage != 40 {
		t.Errorf("the percentage was not kept: %v", *s.Percentage)
	}
	if d, ok := DetectPipeDir([]string{filepath.Dir(pipe), pipe}); !ok || d != pipe {
		t.Errorf("detected %s %v", d, ok)
	}
	Exec{PipeDir: pipe}.Ask(t.Context(), "quit")
	time.Sleep(100 * time.Millisecond)
	for i := range 3 {
		s, _ = w.Look(t.Context(), time.Now().Add(time.Duration(i+10)*time.Minute))
	}
	if s.Phase != Absent {
		t.Errorf("after quit: %s (%s)", s.Phase, s.Reason)
	}
}

// fakeTool writes a control tool of shell and a socket for it.
func fakeTool(t *testing.T, script string) Exec {
	t.Helper()
	dir, err := os.MkdirTemp("", "mps")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	l, err := net.Listen("unix", filepath.Join(dir, "control"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	tool := filepath.Join(dir, "tool")
	if err := os.WriteFile(tool, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	return Exec{PipeDir: dir, Path: tool, Deadline: 300 * time.Millisecond}
}

func TestAToolThatHangsIsKilledWithItsChildren(t *testing.T) {
	e := fakeTool(t, "sleep 60 & echo $! > \"$CUDA_MPS_PIPE_DIRECTORY/child\"\nwait\n")
	start := time.Now()
	if a := e.Ask(t.Context(), "ps"); a.Kind != AnswerNone || time.Since(start) > 2*time.Second {
		t.Fatalf("%+v after %s", a, time.Since(start))
	}
	b, err := os.ReadFile(filepath.Join(e.PipeDir, "child"))
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	fmt.Sscan(string(b), &pid)
	for range 50 {
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) || zombie(pid) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("child %d lives on", pid)
}

func zombie(pid int) bool {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return strings.Contains(string(b), ") Z ")
}

func TestWhatTheToolDoesIsBoundedAndTold(t *testing.T) {
	if a := fakeTool(t, "head -c 300000 /dev/zero | tr '\\0' x").Ask(t.Context(), "ps"); !a.Cut || len(a.Text) > maxAnswerBytes {
		t.Errorf("a flood was kept: %d bytes, cut %v", len(a.Text), a.Cut)
	}
	if a := fakeTool(t, "exit 3").Ask(t.Context(), "ps"); a.Kind != AnswerRefused {
		t.Errorf("silent failure: %+v", a)
	}
	e := fakeTool(t, "cat")
	if a := e.Ask(t.Context(), "get_server_list"); a.Kind != AnswerOK || a.Text != "get_server_list" {
		t.Errorf("the command did not arrive: %+v", a)
	}
	for _, c := range []string{"", "ps\nquit", "ps\x00", strings.Repeat("x", 300)} {
		if a := e.Ask(t.Context(), c); a.Kind != AnswerRefused {
			t.Errorf("%q was run: %+v", c, a)
		}
	}
	e.Path = "/nonexistent"
	if a := e.Ask(t.Context(), "ps"); a.Kind != AnswerNoTool {
		t.Errorf("%+v", a)
	}
	e.PipeDir = t.TempDir()
	if a := e.Ask(t.Context(), "ps"); a.Kind != AnswerNoSocket {
		t.Errorf("%+v", a)
	}
}

// scripted answers by command.
type scripted map[string]string

func (s scripted) Ask(_ context.Context, command string) Answer {
	text, ok := s[command]
	if !ok {
		text = `Unknown command "` + command + `"`
	}
	return Answer{Kind: Judge(text), Text: text}
}

func TestServersAndClientsAreListedByEitherProtocol(t *testing.T) {
	v2 := scripted{"get_default_active_thread_percentage": "100.0", "get_server_list": "90\n91\nodd", "get_client_list 90": "42\n41",
		"get_client_list 91": "Server 91 not found", "get_server_status 90": "ACTIVE", "get_server_status 91": "ACTIVE"}
	w := NewWatcher(v2, t.TempDir(), DefaultPolicy())
	s, err := w.Look(t.Context(), t0)
	if err != nil || s.Phase != Serving || len(s.Servers) != 1 || fmt.Sprint(s.Servers[0].Clients) != "[41 42]" || s.Servers[0].Status != StatusActive {
		t.Errorf("%+v %v", s, err)
	}
	w = NewWatcher(scripted{"server list": "one"}, t.TempDir(), DefaultPolicy())
	if s, _ := w.Look(t.Context(), t0); w.Protocol() != 3 || s.Answer != AnswerOK {
		t.Errorf("protocol %d: %+v", w.Protocol(), s)
	}
	got := Answer{Kind: AnswerOK, Text: "PID ID SERVER DEVICE NAMESPACE COMMAND\n41 1 90 GPU-3f 4026531836 python train.py\nx y z"}.Clients(8)
	if len(got) != 1 || got[0] != (Client{PID: 41, Server: 90, Device: "GPU-3f", Command: "python train.py"}) {
		t.Errorf("%+v", got)
	}
}

func TestATailFollowsRotationCutAndBurst(t *testing.T) {
	path := filepath.Join(t.TempDir(), "server.log")
	tail := &Tail{Path: path, MaxBytes: 64}
	put := func(flag int, s string) {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|flag, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		f.WriteString(s)
	}
	want := func(what, lines string) {
		t.Helper()
		got, err := tail.Lines()
		if err != nil || strings.Join(got, "|") != lines {
			t.Errorf("%s: %q %v, want %q", what, strings.Join(got, "|"), err, lines)
		}
	}
	want("no file", "")
	put(os.O_APPEND, "a\nb\nhal")
	want("first", "a|b")
	put(os.O_APPEND, "f\n")
	want("a line in two parts", "half")
	put(os.O_TRUNC, "c\n")
	want("cut", "c")
	os.Rename(path, path+".1")
	put(os.O_APPEND, "d\n")
	want("rotated", "d")
	put(os.O_APPEND, strings.Repeat("0123456789\n", 50)+"end\n")
	got, err := tail.Lines()
	if err != nil || got[len(got)-1] != "end" || got[0] != "0123456789" || tail.Skipped() < 400 {
		t.Errorf("burst: %q, skipped %d, %v", got, tail.Skipped(), err)
	}
	os.Remove(path)
	os.Symlink("/etc/passwd", path)
	if got, err := tail.Lines(); err == nil {
		t.Errorf("a link was followed: %q", got)
	}
}
