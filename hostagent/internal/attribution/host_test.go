package attribution

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/nvml"
	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	idA = strings.Repeat("a1", 32)
	idB = strings.Repeat("b2", 32)
	arn = "arn:aws:ecs:eu-west-1:111122223333:task/c/0123456789abcdef0123456789abcdef"
	own = "arn:aws:ecs:eu-west-1:111122223333:task/c/ffffffffffffffffffffffffffffffff"
)

// host is a /proc tree, a Docker socket and an ECS agent of the test's making.
type host struct {
	t        *testing.T
	root     string
	list     []map[string]any
	env      map[string][]string
	agent    string // body of /v1/tasks
	asked    int
	docker   *Docker
	introspt *Introspection
}

func newHost(t *testing.T) *host {
	h := &host{t: t, root: t.TempDir(), env: map[string][]string{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /containers/json", func(w http.ResponseWriter, _ *http.Request) {
		h.asked++
		_ = json.NewEncoder(w).Encode(h.list)
	})
	mux.HandleFunc("GET /containers/{id}/json", func(w http.ResponseWriter, r *http.Request) {
		env, ok := h.env[r.PathValue("id")]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"Config": map[string]any{"Env": env}})
	})
	dir, err := os.MkdirTemp("", "d") // a socket's path is bounded to 108 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "docker.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	engine := &httptest.Server{Listener: l, Config: &http.Server{Handler: mux}}
	engine.Start()
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if h.agent == "" {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		fmt.Fprint(w, h.agent)
	}))
	h.docker, h.introspt = NewDocker(socket), NewIntrospection(agent.URL)
	t.Cleanup(func() {
		h.docker.CloseIdle()
		h.introspt.CloseIdle()
		engine.Close()
		agent.Close()
	})
	return h
}

// process writes a process into the tree.
func (h *host) process(pid int, start uint64, name, cgroup string, env ...string) {
	h.t.Helper()
	dir := filepath.Join(h.root, fmt.Sprint(pid))
	files := map[string]string{
		"stat":    fmt.Sprintf("%d (%s) S 1 1 1 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 %d 1 1\n", pid, name, start),
		"cgroup":  cgroup,
		"environ": strings.Join(env, "\x00") + "\x00",
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		h.t.Fatal(err)
	}
	for f, s := range files {
		if err := os.WriteFile(filepath.Join(dir, f), []byte(s), 0o644); err != nil {
			h.t.Fatal(err)
		}
	}
}

func (h *host) container(id, name string, labels map[string]string, env ...string) {
	h.list = append(h.list, map[string]any{"Id": id, "Names": []string{name}, "State": "running", "Labels": labels})
	h.env[id] = env
}

func (h *host) attributor() *Attributor {
	return &Attributor{Proc: Proc{h.root}, Docker: h.docker, Agent: h.introspt}
}

func sampleOf(procs ...nvml.Process) nvml.Sample {
	return nvml.Sample{Count: 1, Devices: []nvml.Device{{UUID: "GPU-0a", HasProcess: true, HasMPS: true, Processes: procs}}}
}

func holds(pid int, mib gpu.MiB, mps bool) nvml.Process {
	return nvml.Process{PID: pid, Memory: &mib, MPS: mps}
}

func v2(id string) string { return "0::/ecstasks.slice/docker-" + id + ".scope\n" }

func TestMemoryIsChargedToTheTaskBehindEachProcess(t *testing.T) {
	h := newHost(t)
	h.container(idA, "/ecs-serve-1", map[string]string{labelTask: arn, labelName: "serve", labelFamily: "llm", labelVersion: "7"},
		"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=4096M", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=30")
	h.agent = fmt.Sprintf(`{"Tasks":[{"Arn":%q,"Family":"llm","Version":"7","Containers":[{"DockerId":%q,"Name":"serve"}]}]}`, arn, idA)
	h.process(10, 500, "python3", v2(idA), "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=4096M")
	h.process(11, 501, "python3", v2(idA), "PATH=/bin")
	h.process(20, 502, "nvidia-cuda-mps", "0::/system.slice/nvidia-mps.service\n")
	h.process(30, 503, "miner", "0::/user.slice/user-0.slice\n")
	h.process(31, 504, "nvidia-cuda-mps", v2(idB)) // a container that borrows the server's name
	v, err := h.attributor().Attribute(t.Context(), sampleOf(holds(10, 3000, true), holds(11, 2000, false), holds(20, 30, false), holds(30, 700, false), holds(31, 9, false), holds(99, 1, true)), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(v.Usages) != 1 {
		t.Fatalf("%+v", v)
	}
	u := v.Usages[0]
	if u.Container.Task != arn || u.Container.Family != "llm:7" || u.Container.Name != "serve" || !u.Container.Confirmed {
		t.Errorf("container %+v", u.Container)
	}
	if u.Memory != 5000 || u.Largest != 3000 || u.Count != gpu.ProcessesSeveral || u.Client != ClientMixed || u.Promise != 4096 || u.OverBy != 904 || !u.LimitWrong || u.Unlimited != 1 {
		t.Errorf("usage %+v", u)
	}
	if len(v.Foreign) != 2 || v.Foreign[0].Name != "miner" || v.Foreign[1].Container != idB {
		t.Errorf("foreign %+v", v.Foreign)
	}
	if len(v.Servers) != 1 || v.Servers[0] != 20 || len(v.Gone) != 1 || v.Gone[0] != 99 {
		t.Errorf("servers %v gone %v", v.Servers, v.Gone)
	}
}

func TestAReusedPidIsAnotherProcess(t *testing.T) {
	h := newHost(t)
	h.container(idA, "/a", map[string]string{labelTask: arn})
	h.container(idB, "/b", map[string]string{labelTask: own})
	h.agent = `{"Tasks":[]}`
	h.process(10, 500, "one", v2(idA))
	a := h.attributor()
	v, _ := a.Attribute(t.Context(), sampleOf(holds(10, 5, true)), nil)
	if v.Usages[0].Container.ID != idA {
		t.Fatalf("%+v", v)
	}
	h.process(10, 900, "two", v2(idB))
	v, _ = a.Attribute(t.Context(), sampleOf(holds(10, 5, true)), nil)
	if v.Usages[0].Container.ID != idB || v.Usages[0].Container.Task != own {
		t.Errorf("%+v", v)
	}
	os.RemoveAll(filepath.Join(h.root, "10"))
	v, _ = a.Attribute(t.Context(), sampleOf(holds(10, 5, true)), nil)
	if len(v.Usages) != 0 || len(v.Gone) != 1 {
		t.Errorf("%+v", v)
	}
}

func TestTheLedgersPromiseOutranksTheInjectedOne(t *testing.T) {
	h := newHost(t)
	h.container(idA, "/a", map[string]string{labelTask: arn}, "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=8G")
	h.agent = `{"Tasks":[]}`
	h.process(10, 500, "one", v2(idA), "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=8G")
	v, _ := h.attributor().Attribute(t.Context(), sampleOf(holds(10, 5000, true)), map[string]gpu.MiB{arn: 4096})
	u := v.Usages[0]
	if u.Promise != 4096 || u.OverBy != 904 || !u.LimitWrong || u.InForce.Memory != 8192 || u.Client != ClientMPS || u.Count != gpu.ProcessesSingle {
		t.Errorf("%+v", u)
	}
}

func TestSourcesAreAskedOnlyWhenSomethingIsUnknown(t *testing.T) {
	h := newHost(t)
	h.container(idA, "/a", map[string]string{labelTask: arn})
	h.agent = fmt.Sprintf(`{"Tasks":[{"Arn":%q,"Containers":[{"DockerId":%q}]}]}`, arn, idA)
	h.process(10, 500, "one", v2(idA))
	a := h.attributor()
	for range 5 {
		if _, err := a.Attribute(t.Context(), sampleOf(holds(10, 5, true)), nil); err != nil {
			t.Fatal(err)
		}
	}
	if h.asked != 1 {
		t.Errorf("Docker was asked %d times for a host that does not change", h.asked)
	}
}

func TestWithoutDockerTheEcsAgentSuffices(t *testing.T) {
	h := newHost(t)
	h.agent = fmt.Sprintf(`{"Tasks":[{"Arn":%q,"Family":"f","Version":"1","Containers":[{"DockerId":%q,"Name":"c"}]}]}`, arn, idA)
	h.process(10, 500, "one", v2(idA))
	a := h.attributor()
	d := NewDocker(filepath.Join(t.TempDir(), "none.sock"))
	defer d.CloseIdle()
	a.Docker = d
	v, err := a.Attribute(t.Context(), sampleOf(holds(10, 5, true)), nil)
	if err == nil || len(v.Usages) != 1 || v.Usages[0].Container.Family != "f:1" {
		t.Errorf("%v %+v", err, v)
	}
}

func TestForgedLabelsAreCorrectedOrLeftUnconfirmed(t *testing.T) {
	docker := []Container{{ID: idA, Task: own}, {ID: idB, Task: own}}
	got := Merge(docker, []Container{{ID: idA, Task: arn}}, true)
	if got[idA].Task != arn || !got[idA].Confirmed || got[idB].Confirmed {
		t.Errorf("%+v", got)
	}
}

func TestHostileNamesAndLabelsAreBoundedAndHarmless(t *testing.T) {
	h := newHost(t)
	evil := "\x1b[2J$(reboot)\n" + strings.Repeat("x", 1<<16)
	h.container(idA, evil, map[string]string{labelTask: evil, labelName: evil, labelFamily: evil})
	h.container(idB, evil, map[string]string{labelTask: arn, labelName: evil, labelFamily: evil, labelVersion: evil})
	h.container("../../etc", "/x", nil)
	h.agent = `{"Tasks":[{"Arn":"arn:nonsense","Containers":[{"DockerId":"` + idA + `"}]}]}`
	h.process(10, 500, ") S 1 (evil\n\x1b", v2(idA))
	h.process(11, 500, "x", v2(idB), "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=99999999999999999999M", "CUDA_MPS_PIPE_DIRECTORY="+evil)
	v, err := h.attributor().Attribute(t.Context(), sampleOf(holds(10, 1, true), holds(11, 1, true)), nil)
	if err != nil || len(v.Usages) != 2 {
		t.Fatalf("%v %+v", err, v)
	}
	for _, u := range v.Usages {
		for _, s := range []string{u.Container.Name, u.Container.Family, u.Container.Cluster, u.InForce.Pipe} {
			if len(s) > 300 || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) {
				t.Errorf("%.80q", s)
			}
		}
		if u.InForce.Memory != 0 {
			t.Errorf("a limit out of nonsense: %s", u.InForce.Memory)
		}
	}
	if v.Usages[0].Container.Task != "" || v.Usages[1].Container.Task != arn {
		t.Errorf("tasks %q %q", v.Usages[0].Container.Task, v.Usages[1].Container.Task)
	}
}

func TestASlowOrFloodingEngineIsBounded(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/flood/v1/tasks") {
			for range maxAnswer/65536 + 2 {
				_, _ = w.Write(make([]byte, 65536))
			}
			return
		}
		<-r.Context().Done()
	}))
	defer s.Close()
	i := NewIntrospection(s.URL + "/flood")
	defer i.CloseIdle()
	if _, err := i.Containers(t.Context()); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	slow := NewIntrospection(s.URL + "/slow")
	defer slow.CloseIdle()
	if _, err := slow.Containers(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

func TestProcessesStuckInTheDriverAreFound(t *testing.T) {
	h := newHost(t)
	for pid, c := range map[int]struct{ name, state, wchan string }{
		1: {"python3", "D", "nv_open_device"}, 2: {"python3", "D", "io_schedule"}, 3: {"nvidia-smi", "D", "0"},
		4: {"python3", "S", "uvm_wait"}, 5: {"worker", "D", "0"},
	} {
		h.process(pid, 9, c.name, "0::/\n")
		stat := fmt.Sprintf("%d (%s) %s 1 1 1 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 9 1 1\n", pid, c.name, c.state)
		dir := filepath.Join(h.root, fmt.Sprint(pid))
		_ = os.WriteFile(filepath.Join(dir, "stat"), []byte(stat), 0o644)
		_ = os.WriteFile(filepath.Join(dir, "wchan"), []byte(c.wchan), 0o644)
	}
	got, err := (Proc{h.root}).Uninterruptible(map[int]bool{5: true})
	pids := map[int]bool{}
	for _, p := range got {
		pids[p.PID] = true
	}
	if err != nil || len(pids) != 3 || !pids[1] || !pids[3] || !pids[5] {
		t.Errorf("%v %v", pids, err)
	}
	if _, err := (Proc{filepath.Join(h.root, "none")}).Uninterruptible(nil); err == nil {
		t.Error("an unreadable process table is an error")
	}
}

func TestThisProcessCanBeRead(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("no /proc here")
	}
	p, err := (Proc{"/proc"}).Read(os.Getpid())
	if err != nil || p.Start == 0 || p.Exe == "" || !p.HasLimits {
		t.Errorf("%+v %v", p, err)
	}
	if _, err := (Proc{"/proc"}).Read(1 << 22); !errors.Is(err, ErrGone) {
		t.Errorf("a pid that cannot be: %v", err)
	}
}

// The cgroup file is a pipe here, so that the pid changes hands between the two
// looks at its start time.
func TestAPidReusedWhileItIsReadIsNobody(t *testing.T) {
	h := newHost(t)
	h.process(10, 500, "one", "")
	pipe := filepath.Join(h.root, "10", "cgroup")
	if err := os.Remove(pipe); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skipf("no named pipes here: %v", err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := (Proc{h.root}).Read(10)
		done <- err
	}()
	w, err := os.OpenFile(pipe, os.O_WRONLY, 0) // returns when Read has opened its end
	if err != nil {
		t.Fatal(err)
	}
	stat := "10 (two) S 1 1 1 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 900 1 1\n"
	if err := os.WriteFile(filepath.Join(h.root, "10", "stat"), []byte(stat), 0o644); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(w, v2(idA))
	w.Close()
	if err := <-done; !errors.Is(err, ErrGone) {
		t.Errorf("%v", err)
	}
}
