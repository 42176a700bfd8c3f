package attribution

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Proc reads the process table at Root ("/proc").
type Proc struct{ Root string }

// Process is what /proc says of one process.
type Process struct {
	PID       int
	Start     uint64 // clock ticks since boot; with PID it names the process for ever
	Name      string // the kernel's, at most 15 bytes; the process chose it
	Exe       string // path of the program, "" when not readable
	State     byte   // as in stat: R, S, D, Z …
	Container string // id, "" on the host
	Limits    Limits // of its environment
	HasLimits bool   // the environment was readable
}

// ErrGone: the process ended, or its pid is another's by now.
var ErrGone = errors.New("the process is gone")

const maxEnviron = 256 << 10

// Read reads one process whole, or ErrGone.
func (p Proc) Read(pid int) (Process, error) {
	out, err := p.Stat(pid)
	if err != nil {
		return Process{}, err
	}
	dir := p.dir(pid)
	group, err := bounded(filepath.Join(dir, "cgroup"), maxCgroupBytes)
	if err != nil {
		return Process{}, gone(pid, err)
	}
	out.Container = ContainerID(string(group))
	if env, err := bounded(filepath.Join(dir, "environ"), maxEnviron); err == nil {
		out.HasLimits = true
		var list []string
		for e := range bytes.SplitSeq(env, []byte{0}) {
			if bytes.HasPrefix(e, []byte("CUDA_MPS_")) && len(list) < 16 {
				list = append(list, string(e))
			}
		}
		out.Limits = ParseLimits(list)
	}
	if exe, err := os.Readlink(filepath.Join(dir, "exe")); err == nil {
		out.Exe = printable(strings.TrimSuffix(exe, " (deleted)"), 256)
	}
	// Read again: all of the above is of this process only if it is the same.
	again, err := p.Stat(pid)
	if err != nil {
		return Process{}, err
	}
	if again.Start != out.Start {
		return Process{}, fmt.Errorf("%w: pid %d was reused while it was read", ErrGone, pid)
	}
	return out, nil
}

// Stat reads name, state and start time.
func (p Proc) Stat(pid int) (Process, error) {
	b, err := bounded(filepath.Join(p.dir(pid), "stat"), 4096)
	if err != nil {
		return Process{}, gone(pid, err)
	}
	// "pid (name) S ppid …": the name may hold anything, so the last bracket ends it.
	open, shut := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 0 || shut < open {
		return Process{}, fmt.Errorf("process %d: its stat line has no name", pid)
	}
	f := strings.Fields(string(b[shut+1:]))
	const state, start = 0, 19 // fields 3 and 22
	if len(f) <= start || len(f[state]) != 1 {
		return Process{}, fmt.Errorf("process %d: its stat line is too short", pid)
	}
	ticks, err := strconv.ParseUint(f[start], 10, 64)
	if err != nil {
		return Process{}, fmt.Errorf("process %d: start time: %w", pid, err)
	}
	return Process{PID: pid, Start: ticks, State: f[state][0], Name: printable(string(b[open+1:shut]), 64)}, nil
}

// Uninterruptible lists processes in state D that are of the GPU's driver: they
// are among pids, or their wait channel or name is the driver's.
func (p Proc) Uninterruptible(pids map[int]bool) ([]Process, error) {
	d, err := os.Open(p.Root)
	if err != nil {
		return nil, fmt.Errorf("reading the process table: %w", err)
	}
	defer d.Close()
	names, err := d.Readdirnames(1 << 20)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading the process table: %w", err)
	}
	var out []Process
	for _, n := range names {
		pid, err := strconv.Atoi(n)
		if err != nil || pid <= 0 {
			continue
		}
		s, err := p.Stat(pid)
		if err != nil || s.State != 'D' {
			continue
		}
		wchan, _ := bounded(filepath.Join(p.dir(pid), "wchan"), 128)
		if pids[pid] || strings.HasPrefix(s.Name, "nvidia") || strings.HasPrefix(s.Name, "nv_") || driverWait(string(wchan)) {
			out = append(out, s)
		}
	}
	return out, nil
}

// driverWait recognises functions of NVIDIA's kernel modules.
func driverWait(wchan string) bool {
	for _, p := range []string{"nv_", "nvidia_", "os_acquire_", "rm_", "uvm_", "_nv0", "rpcRecv", "nvswitch_"} {
		if strings.HasPrefix(wchan, p) {
			return true
		}
	}
	return false
}

func (p Proc) dir(pid int) string { return filepath.Join(p.Root, strconv.Itoa(pid)) }

func gone(pid int, err error) error {
	if errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), "no such process") {
		return fmt.Errorf("%w: pid %d", ErrGone, pid)
	}
	return fmt.Errorf("process %d: %w", pid, err)
}

// bounded reads at most n bytes of a file.
func bounded(path string, n int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, n))
}
