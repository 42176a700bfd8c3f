package nvmlchild

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// errEnded is the outcome of a child that ended by itself.
var errEnded = errors.New("the NVML child ended")

// grace is how long a child may take to end after its input did.
const grace = 300 * time.Millisecond

// process is one running child.
type process struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	frames chan frame    // closed when the output ends
	quit   chan struct{} // closed when nobody reads frames any more
	done   chan struct{} // closed when the process is reaped
	errOut tail
	status error // of Wait, after done
}

// start runs the child with pipes. The environment is the agent's: the loader
// finds the library by it.
func start(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, frames: make(chan frame, 16), quit: make(chan struct{}), done: make(chan struct{})}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr, p.in = w, &p.errOut, in
	cmd.WaitDelay = grace / 2 // a grandchild that holds stderr must not hold us
	if err := cmd.Start(); err != nil {
		r.Close()
		w.Close()
		return nil, err
	}
	w.Close()
	go p.read(r)
	go func() {
		p.status = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

func (p *process) read(r io.ReadCloser) {
	defer close(p.frames)
	defer r.Close()
	s := lines(r)
	for s.Scan() {
		var f frame
		if json.Unmarshal(s.Bytes(), &f) != nil {
			return // out of step: the conversation ends as if the child had
		}
		select {
		case p.frames <- f:
		case <-p.quit:
			return
		}
	}
}

func (p *process) pid() int { return p.cmd.Process.Pid }

func (p *process) send(r request) error { return writeLine(p.in, r) }

// ended words the end of the output, waiting shortly for the exit status.
func (p *process) ended() error {
	select {
	case <-p.done:
		return fmt.Errorf("%w: %w%s", errEnded, p.status, p.errOut.quoted())
	case <-time.After(grace):
		return fmt.Errorf("%w its output or broke the protocol", errEnded)
	}
}

// end gets rid of the child: its input is closed, then it is killed unless one of
// its threads sleeps uninterruptibly, then it is waited for. stuck is called while
// it cannot be killed. It returns when the process is reaped or ctx is done.
func (p *process) end(ctx context.Context, procRoot string, stuck func()) {
	close(p.quit)
	p.in.Close()
	wait := grace
	for {
		t := time.NewTimer(wait)
		select {
		case <-p.done:
			t.Stop()
			return
		case <-t.C:
		}
		if Uninterruptible(procRoot, p.pid()) {
			stuck()
		} else {
			_ = p.cmd.Process.Kill() // ErrProcessDone: reaped in between
		}
		if ctx.Err() != nil {
			select {
			case <-p.done:
			case <-time.After(grace):
			}
			return
		}
		wait = min(2*wait, 5*time.Second)
	}
}

// Uninterruptible reports whether any thread of pid is in state D. A process
// that cannot be read is not.
func Uninterruptible(procRoot string, pid int) bool {
	tasks, _ := filepath.Glob(filepath.Join(procRoot, strconv.Itoa(pid), "task", "*", "stat"))
	for _, t := range tasks {
		b, err := os.ReadFile(t)
		if err == nil && State(string(b)) == 'D' {
			return true
		}
	}
	return false
}

// State is the letter after the command name of a /proc stat line; the name may
// hold spaces and brackets, so the last bracket counts. Zero when there is none.
func State(stat string) byte {
	i := strings.LastIndexByte(stat, ')')
	if i < 0 || i+2 >= len(stat) {
		return 0
	}
	return stat[i+2]
}

// tail keeps the last bytes of what the child's runtime or loader complained.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

const tailBytes = 512

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, b[max(0, len(b)-tailBytes):]...)
	t.buf = t.buf[max(0, len(t.buf)-tailBytes):]
	return len(b), nil
}

func (t *tail) quoted() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.buf) == 0 {
		return ""
	}
	return fmt.Sprintf(": %q", t.buf)
}
