// Package facts reads the host for the checks: files, the service manager's word,
// one NVML sample by the child. It only reads, each source with a bound in time
// and size, and what cannot be read stays unknown.
package facts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/checks"
	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/mps"
	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/nvml"
	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/nvmlchild"
)

// Host says where to read.
type Host struct {
	Root          string // prefix of every path, "" on a real host
	Introspection string
	PipeDir       string // "" detects
	Expected      int
	Child         nvmlchild.Config // Command and Library
	Unit          func(ctx context.Context, question string) string
}

// gpuInfoPath is where ecs-init leaves what it found at boot.
const gpuInfoPath = "/var/lib/ecs/gpu/nvidia-gpu-info.json"

var (
	version       = regexp.MustCompile(`\d+\.\d+(?:\.\d+)?`)
	serverVersion = regexp.MustCompile(`v(\d+\.\d+\.\d+)`)
)

// Read reads all facts within about 15 s.
func Read(ctx context.Context, h Host) checks.Facts {
	f := ReadQuietly(ctx, h)
	f.Sample, f.NVMLErr = Sample(ctx, h.Child)
	return f
}

// ReadQuietly reads all facts but NVML's, within about 5 s.
func ReadQuietly(ctx context.Context, h Host) checks.Facts {
	f := checks.Facts{Expected: h.Expected, UnitEnabled: h.Unit(ctx, "is-enabled"), UnitActive: h.Unit(ctx, "is-active")}
	if b, err := h.read("/proc/driver/nvidia/version"); err == nil {
		f.KernelModule = version.FindString(b)
	}
	_, err := os.Stat(h.Root + "/usr/bin/" + mps.Tool)
	there := err == nil
	f.ControlBinary = &there
	f.Pipe, f.LegacyPipe = h.pipe()
	var st syscall.Statfs_t
	if syscall.Statfs(h.Root+"/dev/shm", &st) == nil {
		free := int64(st.Bavail) * st.Bsize >> 20
		f.ShmFreeMiB = &free
	}
	f.Descriptors = h.descriptors()
	f.AgentVersion = h.agentVersion(ctx)
	if b, err := h.read("/etc/system-release-ami"); err == nil {
		f.AMI = strings.TrimSpace(b)
	}
	b, err := h.read(gpuInfoPath)
	if err == nil {
		var g checks.GPUInfo
		if g, err = checks.ParseGPUInfo([]byte(b)); err == nil {
			f.GPUInfo = &g
			if f.Expected == 0 {
				f.Expected = len(g.GPUIDs)
			}
		}
	}
	f.GPUInfoErr = err
	return f
}

// Expected is how many GPUs ecs-init found at boot; 0 when it did not say.
func Expected(root string) int {
	b, err := Host{Root: root}.read(gpuInfoPath)
	if err != nil {
		return 0
	}
	g, err := checks.ParseGPUInfo([]byte(b))
	if err != nil {
		return 0
	}
	return len(g.GPUIDs)
}

func (h Host) read(path string) (string, error) {
	f, err := os.Open(h.Root + path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 64<<10))
	return string(b), err
}

func (h Host) pipe() (*checks.Pipe, *bool) {
	dirs := make([]string, 0, 2)
	for _, d := range mps.PipeDirs {
		dirs = append(dirs, h.Root+d)
	}
	_, err := os.Stat(dirs[1])
	_, newer := os.Stat(dirs[0])
	legacy := err == nil && newer == nil
	dir := h.PipeDir
	if dir == "" {
		if dir, _ = mps.DetectPipeDir(dirs); dir == "" {
			dir = dirs[0]
		}
	}
	p := &checks.Pipe{Path: dir}
	if st, err := os.Stat(dir); err == nil {
		p.Exists, p.IsDir, p.Mode = true, st.IsDir(), st.Mode()
	}
	if st, err := os.Stat(filepath.Join(dir, "control")); err == nil {
		m := st.Mode()
		p.Control = &m
	}
	return p, &legacy
}

// descriptors is the soft limit of the running control daemon.
func (h Host) descriptors() *int64 {
	comms, _ := filepath.Glob(h.Root + "/proc/[0-9]*/comm")
	for _, c := range comms {
		b, err := os.ReadFile(c)
		if err != nil || !strings.HasPrefix(string(b), "nvidia-cuda-mps") { // the kernel cuts it at 15 bytes
			continue
		}
		limits, err := os.ReadFile(filepath.Join(filepath.Dir(c), "limits"))
		if err != nil {
			return nil
		}
		for line := range strings.Lines(string(limits)) {
			if rest, ok := strings.CutPrefix(line, "Max open files"); ok {
				if n, err := strconv.ParseInt(strings.Fields(rest + " x")[0], 10, 64); err == nil {
					return &n
				}
			}
		}
	}
	return nil
}

func (h Host) agentVersion(ctx context.Context) string {
	if h.Introspection == "" {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, h.Introspection+"/v1/metadata", nil)
	if err != nil {
		return ""
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	var m struct{ Version string }
	if json.NewDecoder(io.LimitReader(resp.Body, 64<<10)).Decode(&m) != nil {
		return ""
	}
	if v := serverVersion.FindStringSubmatch(m.Version); v != nil {
		return v[1] // "Amazon ECS Agent - v1.107.0 (*hash)"
	}
	return version.FindString(m.Version)
}

// Systemd asks the service manager about the MPS unit. Its answer for a unit that
// is not there is a failure with a text; no systemd at all is "".
func Systemd(ctx context.Context, question string) string {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "systemctl", question, mps.Unit)
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	word := strings.TrimSpace(string(out))
	if word == "" || len(word) > 64 || strings.ContainsAny(word, " \n") {
		if err != nil && !errors.Is(err, exec.ErrNotFound) {
			return "unknown"
		}
		return ""
	}
	return word
}

// ErrNoSample: the child did not answer in time.
var ErrNoSample = errors.New("NVML did not answer in time")

// Sample takes one sample by a child process.
func Sample(ctx context.Context, cfg nvmlchild.Config) (*nvml.Sample, error) {
	ctx, cancel := context.WithTimeout(ctx, 12*time.Second)
	defer cancel()
	var got *nvml.Sample
	failed := fmt.Errorf("%w", ErrNoSample)
	cfg.OnXid = func(nvml.Xid) {}
	cfg.OnUpdate = func(u nvmlchild.Update) {
		switch u.Condition {
		case nvmlchild.OK:
			s := u.Sample
			got = &s
			cancel()
		case nvmlchild.Starting:
		default:
			if u.Err != nil {
				failed = u.Err
			}
			cancel()
		}
	}
	if err := nvmlchild.New(cfg).Run(ctx); err != nil {
		return nil, err
	}
	if got == nil {
		return nil, failed
	}
	return got, nil
}
