package main

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/bulkhead-ecs/bulkhead/events"
	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/fakenvml"
	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/mps"
)

var built struct {
	sync.Once
	dir string
	err error
}

// binary builds the named main package once, as a release does.
func binary(t *testing.T, name string) string {
	t.Helper()
	built.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "agent"); built.err != nil {
			return
		}
		for out, pkg := range map[string]string{"agent": ".", "bare": "./testdata/bare", "bulkhead-agent-nvml": "../bulkhead-agent-nvml"} {
			build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", filepath.Join(built.dir, out), pkg)
			build.Env = append(os.Environ(), "CGO_ENABLED=0") // as released: the NVML child alone has cgo
			if out == "bulkhead-agent-nvml" {
				build.Env = append(os.Environ(), "CGO_ENABLED=1")
			}
			if b, err := build.CombinedOutput(); err != nil {
				built.err = fmt.Errorf("%w: %s", err, b)
			}
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return filepath.Join(built.dir, name)
}

func TestMain(m *testing.M) {
	code := m.Run()
	os.RemoveAll(built.dir)
	os.Exit(code)
}

// api is the reports API over TLS; while down it answers 503.
type api struct {
	*httptest.Server
	mu       sync.Mutex
	down     bool
	settings *events.HostSettings
	got      []events.HostReport
}

func startAPI(t *testing.T) *api {
	a := &api{}
	a.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		defer a.mu.Unlock()
		var rep events.HostReport
		err := json.NewDecoder(r.Body).Decode(&rep)
		switch {
		case err != nil || rep.Check() != nil || !strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 "):
			http.Error(w, "bad", 400)
		case a.down:
			http.Error(w, "down", http.StatusServiceUnavailable)
		case len(a.got) > 0 && rep.Sequence == a.got[len(a.got)-1].Sequence:
			// Sent again because its answer was lost: the API keeps the highest number
			// of a boot and answers a repeat like the first.
			json.NewEncoder(w).Encode(events.HostReportAnswer{Schema: 1, Accepted: rep.Sequence, Settings: a.settings})
		default:
			a.got = append(a.got, rep)
			json.NewEncoder(w).Encode(events.HostReportAnswer{Schema: 1, Accepted: rep.Sequence, Settings: a.settings})
		}
	}))
	t.Cleanup(a.Close)
	return a
}

func (a *api) wait(t *testing.T, what string, want func([]events.HostReport) bool) {
	t.Helper()
	for range 1200 {
		a.mu.Lock()
		ok := want(a.got)
		a.mu.Unlock()
		if ok {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s: did not come; %d reports", what, len(a.got))
}

// start runs the agent's real binary.
func start(t *testing.T, a *api, dir, pipe, logs string, more ...string) *exec.Cmd {
	t.Helper()
	cert := filepath.Join(dir, "ca.pem")
	os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.Certificate().Raw}), 0o600)
	cmd := exec.Command(binary(t, "agent"), "run", "--instance-id", "i-0a")
	if len(more) == 0 {
		cmd.Args = append(cmd.Args, "--no-nvml")
	}
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "SSL_CERT_FILE=" + cert, "AWS_ACCESS_KEY_ID=a", "AWS_SECRET_ACCESS_KEY=b", "BULKHEAD_AGENT_ENDPOINT=" + a.URL,
		"BULKHEAD_AGENT_REGION=eu-west-1", "BULKHEAD_AGENT_STATE_DIR=" + filepath.Join(dir, "state"), "BULKHEAD_AGENT_METRICS=", "BULKHEAD_AGENT_MPS_PROBE=1s",
		"BULKHEAD_AGENT_PIPE_DIR=" + pipe, "BULKHEAD_AGENT_MPS_LOG_DIR=" + logs, "BULKHEAD_AGENT_SAFE_STOP=false"}
	cmd.Env = append(cmd.Env, more...)
	cmd.Stderr = os.Stderr
	if !testing.Verbose() {
		cmd.Stderr = nil
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd
}

func TestReportsOutliveAnOutageAndSIGKILLAndEachArrivesOnce(t *testing.T) {
	a := startAPI(t)
	a.down = true
	dir := t.TempDir()
	for range 3 {
		cmd := start(t, a, dir, filepath.Join(dir, "none"), dir)
		time.Sleep(400 * time.Millisecond)
		cmd.Process.Signal(syscall.SIGKILL)
		cmd.Wait()
	}
	a.mu.Lock()
	a.down = false
	a.mu.Unlock()
	cmd := start(t, a, dir, filepath.Join(dir, "none"), dir)
	a.wait(t, "the reports of four lives", func(got []events.HostReport) bool {
		n := 0
		for _, r := range got {
			if r.Cause == "start" {
				n++
			}
		}
		return n == 4
	})
	cmd.Process.Signal(syscall.SIGTERM)
	if err := cmd.Wait(); err != nil {
		t.Errorf("a stop is a failure: %v", err)
	}
	seqs := []uint64{}
	for _, r := range a.got {
		seqs = append(seqs, r.Sequence)
	}
	if !slices.IsSorted(seqs) || len(slices.Compact(slices.Clone(seqs))) != len(seqs) || seqs[len(seqs)-1]-seqs[0] != uint64(len(seqs)-1) {
		t.Errorf("lost, doubled or out of order: %v", seqs)
	}
	if last := a.got[len(a.got)-1]; last.Cause != "stop" || last.Drops != (events.ReportDrops{}) {
		t.Errorf("%+v", last)
	}
}

func TestTheRealDaemonIsAdoptedAndKeepsThePercentageAskedFor(t *testing.T) {
	if _, err := exec.LookPath(mps.Tool); err != nil {
		t.Skipf("%s is not installed (tests/setup/mps.sh installs it)", mps.Tool)
	}
	base, err := os.MkdirTemp("", "mps")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(base)
	d := exec.Command(mps.Tool, "-d")
	d.Env = append(os.Environ(), "CUDA_MPS_PIPE_DIRECTORY="+base, "CUDA_MPS_LOG_DIRECTORY="+base)
	if b, err := d.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	control := mps.Exec{PipeDir: base}
	defer control.Ask(context.Background(), "quit")
	p := 40.0
	a := startAPI(t)
	a.settings = &events.HostSettings{Version: "v1", ThreadPercentage: &p}
	start(t, a, t.TempDir(), base, base)
	a.wait(t, "a ready daemon at 40%", func(got []events.HostReport) bool {
		return slices.ContainsFunc(got, func(r events.HostReport) bool {
			return r.MPS.State == "ready" && r.Settings == "v1" && r.MPS.Percentage != nil && *r.MPS.Percentage == 40
		})
	})
	if q, ok := control.Ask(t.Context(), "get_default_active_thread_percentage").Percentage(); !ok || q != 40 {
		t.Errorf("the daemon holds %v", q)
	}
	control.Ask(t.Context(), "quit")
	a.wait(t, "the death of the daemon", func(got []events.HostReport) bool { return got[len(got)-1].MPS.State == "absent" })
}

func TestCardsAreReportedByTheChildAndALostOrHungDriverIsTold(t *testing.T) {
	lib := fakenvml.Build(t, fakenvml.Current)
	set := fakenvml.Machine(t, fakenvml.Control{"count": "2"})
	a := startAPI(t)
	dir := t.TempDir()
	start(t, a, dir, filepath.Join(dir, "none"), dir, "BULKHEAD_AGENT_NVML_LIBRARY="+lib, "BULKHEAD_AGENT_SAMPLE=1s", "BULKHEAD_AGENT_NVML_DEADLINE=1s", "BULKHEAD_AGENT_EXPECTED_GPUS=2",
		fakenvml.ControlEnv+"="+os.Getenv(fakenvml.ControlEnv), "BULKHEAD_AGENT_DOCKER_SOCKET="+dir+"/none", "BULKHEAD_AGENT_INTROSPECTION=")
	a.wait(t, "two cards", func(got []events.HostReport) bool {
		return slices.ContainsFunc(got, func(r events.HostReport) bool {
			return r.NVML == "ok" && len(r.Devices) == 2 && r.Devices[0].TotalMiB > 0
		})
	})
	set(fakenvml.Control{"count": "1"})
	signal := func(kind string) func([]events.HostReport) bool {
		return func(got []events.HostReport) bool {
			return slices.ContainsFunc(got, func(r events.HostReport) bool {
				return slices.ContainsFunc(r.Signals, func(s events.ReportSignal) bool { return s.Kind == kind && s.Reading == 0 })
			})
		}
	}
	a.wait(t, "the missing card", signal("GpuCountMismatch"))
	set(fakenvml.Control{"count": "2", "hang": "nvmlDeviceGetTemperature"})
	a.wait(t, "the hang", signal("NvmlUnresponsive"))
	a.wait(t, "the word hung", func(got []events.HostReport) bool { return got[len(got)-1].NVML == "hung" })
}

// usage reads resident memory (KiB, all and not file-backed) and CPU time.
func usage(t *testing.T, pid int) (rss, anon int, cpu time.Duration) {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "VmRSS:"):
			rss, _ = strconv.Atoi(f[1])
		case strings.HasPrefix(line, "RssAnon:"):
			anon, _ = strconv.Atoi(f[1])
		}
	}
	s, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	f := strings.Fields(string(s[strings.LastIndexByte(string(s), ')')+1:]))
	u, _ := strconv.Atoi(f[11])
	k, _ := strconv.Atoi(f[12])
	return rss, anon, time.Duration(u+k) * 10 * time.Millisecond
}

// The bound is for the agent without its NVML child; the bare client beside it
// says how much of that is Go and the SDK.
func TestTheAgentAtRestFitsIn15MiB(t *testing.T) {
	a := startAPI(t)
	dir := t.TempDir()
	cmd := start(t, a, dir, filepath.Join(dir, "none"), dir)
	a.wait(t, "the first report", func(got []events.HostReport) bool { return len(got) >= 1 })
	bare := exec.Command(binary(t, "bare"), a.URL)
	bare.Env = []string{"SSL_CERT_FILE=" + filepath.Join(dir, "ca.pem")}
	if err := bare.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { bare.Process.Kill(); bare.Wait() }()
	time.Sleep(2 * time.Second)
	_, _, before := usage(t, cmd.Process.Pid)
	time.Sleep(3 * time.Second)
	rss, anon, cpu := usage(t, cmd.Process.Pid)
	bareRSS, bareAnon, _ := usage(t, bare.Process.Pid)
	t.Logf("agent %d KiB resident (%d not file-backed), bare client %d KiB (%d); %s of CPU in 3 s at a probe a second", rss, anon, bareRSS, bareAnon, cpu-before)
	if rss > 15<<10 {
		t.Errorf("%d KiB resident, above 15360", rss)
	}
}

func TestTheCommandLineHasStableExitCodes(t *testing.T) {
	bin := binary(t, "agent")
	l, _ := net.Listen("tcp", "127.0.0.1:0")
	defer l.Close()
	bad := filepath.Join(t.TempDir(), "bad.yaml")
	os.WriteFile(bad, []byte("lease: 60s\nlaese: 1s\n"), 0o600)
	none := filepath.Join(t.TempDir(), "none")
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"version", 0, "bulkhead-agent"}, {"version -o json", 0, `"version"`}, {"--help", 0, "Exit codes"}, {"no-such", 2, "unknown command"},
		{"version -o yaml", 2, "table or json"}, {"run -c " + bad, 2, "line 2"}, {"run -c " + none, 2, "no such file"},
		{"evidence", 2, "--to is required"}, {"clients terminate 1 --container x", 2, "want a process id"}, {"clients list", 3, "MPS daemon"},
		{"clients terminate 4711 --container aaaaaaaaaaaa", 3, "MPS daemon"}, {"doctor", 1, "not ready"}, {"scan -o json", 1, `"checks"`},
	} {
		cmd := exec.Command(bin, strings.Fields(c.args)...)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "BULKHEAD_AGENT_PIPE_DIR=" + none, "BULKHEAD_AGENT_MPS_LOG_DIR=" + none, "BULKHEAD_AGENT_NVML_LIBRARY=" + none}
		out, _ := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != c.code || !strings.Contains(string(out), c.says) {
			t.Errorf("%s: exit %d, want %d\n%s", c.args, cmd.ProcessState.ExitCode(), c.code, out)
		}
	}
}

func TestEvidenceIsABundleThatSaysWhatIsMissing(t *testing.T) {
	dir := t.TempDir()
	os.WriteFile(filepath.Join(dir, "control.log"), []byte("line\n"), 0o600)
	to := filepath.Join(dir, "e.tar.gz")
	run := func() ([]byte, error) {
		cmd := exec.Command(binary(t, "agent"), "evidence", "--to", to)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "BULKHEAD_AGENT_PIPE_DIR=" + dir, "BULKHEAD_AGENT_MPS_LOG_DIR=" + dir, "BULKHEAD_AGENT_NVML_LIBRARY=" + dir + "/none"}
		return cmd.CombinedOutput()
	}
	if out, err := run(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	list, err := exec.Command("tar", "-xzOf", to, "MISSING", "mps/control.log", "checks.json").CombinedOutput()
	if err != nil || !strings.Contains(string(list), "server.log") || !strings.Contains(string(list), "nvml.json: ") || !strings.Contains(string(list), "line\n") {
		t.Errorf("%v: %s", err, list)
	}
	if _, err := run(); err == nil {
		t.Error("an existing file was written over")
	}
}
