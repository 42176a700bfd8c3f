//go:build linux && cgo

package nvmlchild

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/fakenvml"
	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/nvml"
)

// childEnv turns this test binary into the child, as the hidden subcommand turns
// the agent's.
const childEnv = "BULKHEAD_TEST_NVML_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		os.Exit(Main(os.Stdin, os.Stdout))
	}
	goleak.VerifyTestMain(m)
}

// bench runs a supervisor over real children.
type bench struct {
	t       *testing.T
	updates chan Update
	xids    chan nvml.Xid
}

func run(t *testing.T, lib string, change func(*Config)) *bench {
	t.Helper()
	b := &bench{t: t, updates: make(chan Update, 1000), xids: make(chan nvml.Xid, 1000)}
	cfg := Config{
		Command: func() *exec.Cmd {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), childEnv+"=1")
			return cmd
		},
		Library: lib, Interval: 50 * time.Millisecond, Deadline: 400 * time.Millisecond,
		Backoff: 20 * time.Millisecond, Most: 100 * time.Millisecond,
		OnUpdate: func(u Update) { b.updates <- u }, OnXid: func(x nvml.Xid) { b.xids <- x },
	}
	if change != nil {
		change(&cfg)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- New(cfg).Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(5 * time.Second):
			t.Error("Run did not end with its context")
		}
	})
	return b
}

// until waits for an update of condition c and returns it.
func (b *bench) until(c Condition) Update {
	b.t.Helper()
	limit := time.After(5 * time.Second)
	for {
		select {
		case u := <-b.updates:
			if u.Condition == c {
				return u
			}
		case <-limit:
			b.t.Fatalf("no update %q within 5 s", c)
		}
	}
}

func TestEightCardsComeThroughThePipe(t *testing.T) {
	fakenvml.Machine(t, fakenvml.Control{"procs": "41:100:1"})
	u := run(t, fakenvml.Build(t, fakenvml.Current), nil).until(OK)
	if len(u.Sample.Devices) != 8 || u.Stale || u.PID == 0 || *u.Sample.Devices[0].Processes[0].Memory != 100 {
		t.Errorf("%+v", u)
	}
}

// Every call the adapter makes may be the one that never returns.
var calls = []string{
	"nvmlInit", "nvmlEventSetCreate", "nvmlDeviceRegisterEvents", "nvmlDeviceGetCount", "nvmlDeviceGetHandleByIndex",
	"nvmlSystemGetDriverVersion", "nvmlSystemGetNVMLVersion", "nvmlSystemGetCudaDriverVersion_v2", "nvmlDeviceGetUUID",
	"nvmlDeviceGetName", "nvmlDeviceGetPciInfo", "nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetComputeRunningProcesses_v3",
	"nvmlDeviceGetMPSComputeRunningProcesses_v3", "nvmlDeviceGetTotalEccErrors", "nvmlDeviceGetSramEccErrorStatus",
	"nvmlDeviceGetRemappedRows", "nvmlDeviceGetRetiredPagesPendingStatus", "nvmlDeviceGetFieldValues",
	"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetTemperature", "nvmlDeviceGetMarginTemperature",
	"nvmlDeviceGetUtilizationRates", "nvmlDeviceGetPcieReplayCounter", "nvmlDeviceGetCurrPcieLinkWidth",
	"nvmlDeviceGetMaxPcieLinkWidth", "nvmlDeviceGetCurrPcieLinkGeneration", "nvmlDeviceGetMaxPcieLinkGeneration",
	"nvmlDeviceGetPersistenceMode", "nvmlDeviceGetComputeMode", "nvmlDeviceGetVirtualizationMode", "nvmlDeviceGetMigMode",
}

func TestAHangInAnyCallIsNamedInTimeAndRecoversByItself(t *testing.T) {
	lib := fakenvml.Build(t, fakenvml.Current)
	for _, call := range calls {
		t.Run(call, func(t *testing.T) {
			set := fakenvml.Machine(t, fakenvml.Control{"count": "1", "hang": call})
			begin := time.Now()
			b := run(t, lib, func(c *Config) { c.Deadline = 150 * time.Millisecond })
			u := b.until(Hung)
			if took := time.Since(begin); took > 150*time.Millisecond+time.Second {
				t.Errorf("told after %s", took)
			}
			for u.Call == "" { // a busy machine: the process itself was not up within the deadline
				u = b.until(Hung)
			}
			if !strings.HasPrefix(u.Call, strings.TrimSuffix(strings.TrimSuffix(call, "_v2"), "_v3")) {
				t.Errorf("in %q, want %s", u.Call, call)
			}
			set(fakenvml.Control{"count": "1"})
			if u := b.until(OK); u.Stale || u.Restarts == 0 {
				t.Errorf("after recovery %+v", u)
			}
		})
	}
}

func TestDuringAHangTheLastGoodSampleIsKeptAndMarkedStale(t *testing.T) {
	set := fakenvml.Machine(t, fakenvml.Control{"count": "2"})
	b := run(t, fakenvml.Build(t, fakenvml.Current), nil)
	good := b.until(OK)
	set(fakenvml.Control{"count": "2", "hang": "nvmlDeviceGetTemperature"})
	u := b.until(Hung)
	if !u.Stale || len(u.Sample.Devices) != 2 || u.SampledAt.Before(good.SampledAt) || !errors.Is(u.Err, errHung) {
		t.Errorf("%+v", u)
	}
}

func TestAKilledChildIsReplaced(t *testing.T) {
	fakenvml.Machine(t, fakenvml.Control{"count": "1"})
	b := run(t, fakenvml.Build(t, fakenvml.Current), nil)
	first := b.until(OK)
	if err := syscall.Kill(first.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if u := b.until(Died); !u.Stale || !strings.Contains(u.Err.Error(), "killed") {
		t.Errorf("%+v", u)
	}
	if u := b.until(OK); u.PID == first.PID || u.Restarts != 1 {
		t.Errorf("%+v", u)
	}
}

func TestAMissingLibraryIsNamedAndFoundWhenItComes(t *testing.T) {
	fakenvml.Machine(t, fakenvml.Control{"count": "1"})
	real := fakenvml.Build(t, fakenvml.Current)
	link := filepath.Join(t.TempDir(), "libnvidia-ml.so.1")
	b := run(t, link, nil)
	if u := b.until(Failing); !errors.Is(u.Err, nvml.ErrUnavailable) || u.Stale {
		t.Errorf("%+v", u)
	}
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	b.until(OK)
}

func TestXidsComeThroughThePipe(t *testing.T) {
	set := fakenvml.Machine(t, fakenvml.Control{"count": "2"})
	b := run(t, fakenvml.Build(t, fakenvml.Current), nil)
	b.until(OK)
	set(fakenvml.Control{"count": "2", "xid": "79:1:7:20"})
	for i := range 20 {
		select {
		case x := <-b.xids:
			if x.Code != 79 || string(x.UUID) != fakenvml.UUID(1) {
				t.Fatalf("%+v", x)
			}
		case <-time.After(3 * time.Second):
			t.Fatalf("%d of 20 came", i)
		}
	}
}

// A child in uninterruptible sleep cannot be made here; the supervisor reads a
// /proc of the test's making instead, and the child really hangs.
func TestAChildStuckInTheKernelIsNeitherKilledNorDoubled(t *testing.T) {
	proc := t.TempDir()
	stat := ""
	b := run(t, "", func(c *Config) {
		c.ProcRoot, c.Deadline = proc, 100*time.Millisecond
		c.Command = func() *exec.Cmd { return exec.Command("sleep", "30") } // deaf to the end of its input
		pass := c.OnUpdate
		c.OnUpdate = func(u Update) {
			if u.Condition == Starting && stat == "" {
				dir := filepath.Join(proc, fmt.Sprint(u.PID), "task", "7")
				_ = os.MkdirAll(dir, 0o755)
				stat = filepath.Join(dir, "stat")
				_ = os.WriteFile(stat, []byte("7 (a) S b) D 1 1"), 0o644)
			}
			pass(u)
		}
	})
	u := b.until(Stuck)
	time.Sleep(1500 * time.Millisecond)
	if err := syscall.Kill(u.PID, 0); err != nil {
		t.Errorf("the stuck child was killed: %v", err)
	}
	select {
	case more := <-b.updates:
		t.Errorf("while one is stuck: %+v", more)
	default:
	}
	if err := os.Remove(stat); err != nil {
		t.Fatal(err)
	}
	if next := b.until(Starting); next.PID == u.PID || next.Restarts != 1 {
		t.Errorf("after the kernel let go: %+v", next)
	}
	if err := syscall.Kill(u.PID, 0); err == nil {
		t.Error("the first child lives beside the second")
	}
}

func TestAHungChildEndsWithItsAgent(t *testing.T) {
	fakenvml.Machine(t, fakenvml.Control{"hang": "nvmlInit"})
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"=1")
	p, err := start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.send(request{ID: 1, Op: opOpen, Library: fakenvml.Build(t, fakenvml.Current), Deadline: 50}); err != nil {
		t.Fatal(err)
	}
	if f := <-p.frames; f.In != "nvmlInit" {
		t.Fatalf("%+v", f)
	}
	p.in.Close() // as the kernel does when the agent dies
	select {
	case <-p.done:
	case <-time.After(3 * time.Second):
		t.Error("the child outlived its agent")
		p.end(t.Context(), "/proc", func() {})
	}
}

func TestAChildThatBabblesIsGivenUp(t *testing.T) {
	b := run(t, "", func(c *Config) {
		c.Command = func() *exec.Cmd { return exec.Command("sh", "-c", "head -c 4000000 /dev/zero; sleep 30") }
	})
	if u := b.until(Died); !errors.Is(u.Err, errEnded) {
		t.Errorf("%+v", u)
	}
}

func TestTheStateLetterSurvivesHostileNames(t *testing.T) {
	for in, want := range map[string]byte{"1 (x) D 1": 'D', "1 (a) S (b) R 1": 'R', "": 0, "1 (x)": 0, "1 (x) ": 0} {
		if got := State(in); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}
