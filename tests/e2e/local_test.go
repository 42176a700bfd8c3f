package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// firstScreen is from the start of the process to an answer worth looking at. It
// is 0.2 s on two quiet cores; the bound leaves room for a busy machine.
const firstScreen = 10 * time.Second

// livingFleet is the command's own local mode, as a person starts it.
type livingFleet struct {
	t       *testing.T
	binary  string
	address string
}

func newLivingFleet(t *testing.T) *livingFleet {
	t.Helper()
	f := &livingFleet{t: t, binary: filepath.Join(t.TempDir(), "bulkhead")}
	build := exec.Command("go", "build", "-o", f.binary, "./cmd/bulkhead")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	start := time.Now()
	cmd := exec.Command(f.binary, "local", "--port", "0", "--quiet", "--hosts", "16", "--seed", "5", "--speed", "120")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("stopped, it ends with %v", err)
		}
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	f.address = strings.TrimSpace(line)
	if took := time.Since(start); took > firstScreen {
		t.Errorf("the first screen took %s", took)
	} else {
		t.Logf("first screen after %s", took.Round(time.Millisecond))
	}
	return f
}

// ask gets a document of the local cluster.
func (f *livingFleet) ask(path string) string {
	resp, err := http.Get(f.address + "/v1/clusters/gpu-local" + path)
	if err != nil {
		f.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	return string(b)
}

// inject runs the command's verb and returns what it says.
func (f *livingFleet) inject(args ...string) (string, error) {
	out, err := exec.Command(f.binary, append([]string{"--endpoint", f.address, "local", "inject"}, args...)...).CombinedOutput()
	return string(out), err
}

type host struct {
	ID        string `json:"ec2InstanceId"`
	Status    string `json:"status"`
	Connected bool   `json:"agentConnected"`
	EC2       string `json:"ec2State"`
	Devices   []struct {
		UUID string `json:"uuid"`
	} `json:"devices"`
}

func (f *livingFleet) hosts() map[string]host {
	var doc struct {
		Hosts []host `json:"hosts"`
	}
	if err := json.Unmarshal([]byte(f.ask("/hosts?limit=200")), &doc); err != nil {
		f.t.Fatal(err)
	}
	out := map[string]host{}
	for _, h := range doc.Hosts {
		out[h.ID] = h
	}
	return out
}

// health is what the API says of a host's health, as text.
func (f *livingFleet) health(id string) string { return f.ask("/hosts/" + id + "/health") }

func (f *livingFleet) eventually(within time.Duration, what string, see func() bool) {
	f.t.Helper()
	for end := time.Now().Add(within); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if see() {
			return
		}
	}
	f.t.Errorf("%s: not seen through the API within %s", what, within)
}

// TestTheLocalFleetLives starts the command once, and looks at it as people would.
func TestTheLocalFleetLives(t *testing.T) {
	f := newLivingFleet(t)
	t.Run("it is there at once", func(t *testing.T) { isThereAtOnce(t, f) })
	t.Run("an injection that cannot be is refused with what can", func(t *testing.T) { refuses(t, f) })
	t.Run("every injected fault is seen through the API", func(t *testing.T) { showsEveryFault(t, f) })
}

func isThereAtOnce(t *testing.T, f *livingFleet) {
	tenants, findings := f.ask("/gpus?limit=200"), f.ask("/findings?limit=200")
	for _, want := range []string{`"tier":"critical"`, `"tier":"standard"`, `"mode":"shared"`, `"mode":"dedicated"`, `"lastStatus":"RUNNING"`} {
		if !strings.Contains(strings.ReplaceAll(tenants, `": "`, `":"`), want) {
			t.Errorf("the first look at the cards shows no %s", want)
		}
	}
	if !strings.Contains(findings, `"kind"`) {
		t.Errorf("nothing is wrong in a fleet that packs by memory alone: %s", findings)
	}
	cards := map[int]bool{}
	for _, h := range f.hosts() {
		cards[len(h.Devices)] = true
	}
	if !cards[1] || !cards[4] || !cards[8] {
		t.Errorf("hosts have %v cards, want 1, 4 and 8", cards)
	}
	if healthy := regexp.MustCompile(`"level":\s*"healthy"`).FindAllString(f.ask("/health?limit=200"), -1); len(healthy) < 12 {
		t.Errorf("%d of 16 hosts are healthy", len(healthy))
	}
}

// showsEveryFault breaks a running process from outside.
func showsEveryFault(t *testing.T, f *livingFleet) {
	used := []string{}
	// fresh is a host with n cards that was not broken yet.
	fresh := func(cards int) string {
		all := f.hosts()
		ids := []string{}
		for id, h := range all {
			if h.Status == "ACTIVE" && h.Connected && len(h.Devices) == cards && !slices.Contains(used, id) && strings.Contains(f.health(id), `"healthy"`) {
				ids = append(ids, id)
			}
		}
		if len(ids) == 0 {
			t.Fatalf("no sound host with %d cards is left", cards)
		}
		slices.Sort(ids)
		used = append(used, ids[0])
		return ids[0]
	}
	do := func(want string, args ...string) string {
		t.Helper()
		said, err := f.inject(args...)
		if err != nil || !strings.Contains(said, want) || !strings.Contains(said, "Watch:\n  bulkhead ") {
			t.Fatalf("inject %v: %v, %q", args, err, said)
		}
		return said
	}
	hears := func(id, want string) func() bool { return func() bool { return strings.Contains(f.health(id), want) } }
	reasonless := func(id, word string) func() bool {
		return func() bool { return !strings.Contains(f.health(id), word) }
	}

	silent := fresh(1)
	do(silent, "agent-silent", "--host", silent)

	h := fresh(4)
	do("logs Xid 79", "xid", "79", "--host", h, "--card", "1")
	f.eventually(20*time.Second, "xid", hears(h, "Xid79"))

	h = fresh(4)
	do("is dead", "mps-dead", "--host", h)
	f.eventually(20*time.Second, "mps-dead", hears(h, "MpsControlDead"))
	do("serves again", "mps-recover", "--host", h)
	f.eventually(30*time.Second, "mps-recover", reasonless(h, "MpsControlDead"))
	do("answers nothing", "mps-wedged", "--host", h)
	f.eventually(20*time.Second, "mps-wedged", hears(h, `wedged`))

	h = regexp.MustCompile(`i-[0-9a-f]{17}`).FindString(do("ends all clients", "mps-fault")) // the busiest
	f.eventually(20*time.Second, "mps-fault", hears(h, "MpsServerFault"))

	h = fresh(1)
	do("do not return", "nvml-hang", "--host", h)
	f.eventually(20*time.Second, "nvml-hang", hears(h, "NvmlUnresponsive"))
	do("return again", "nvml-back", "--host", h)
	f.eventually(30*time.Second, "nvml-back", reasonless(h, "NvmlUnresponsive"))
	do("is disconnected", "ecs-agent-lost", "--host", h)
	f.eventually(20*time.Second, "ecs-agent-lost", func() bool { x, there := f.hosts()[h]; return there && !x.Connected })

	h = fresh(1)
	do("two minutes", "spot", "--host", h)
	f.eventually(20*time.Second, "spot", func() bool { x, there := f.hosts()[h]; return !there || x.Status != "ACTIVE" })

	h = fresh(1)
	do("without notice", "host-terminate", "--host", h)
	f.eventually(20*time.Second, "host-terminate", func() bool { x, there := f.hosts()[h]; return !there || x.EC2 == "terminated" })

	h = fresh(1)
	boot := regexp.MustCompile(`"bootId":\s*"[^"]*"`)
	was := boot.FindString(f.health(h))
	do("reboots", "reboot", "--host", h)
	f.eventually(40*time.Second, "reboot", func() bool { now := boot.FindString(f.health(h)); return now != "" && now != was })
	cards := fmt.Sprint(f.hosts()[h].Devices)
	do("other cards", "reboot-new-uuids", "--host", h)
	f.eventually(60*time.Second, "reboot-new-uuids", func() bool { x, there := f.hosts()[h]; return there && fmt.Sprint(x.Devices) != cards })

	f.eventually(60*time.Second, "agent-silent", hears(silent, "AgentSilent"))
	do("speaks again", "agent-back", "--host", silent)
	f.eventually(30*time.Second, "agent-back", reasonless(silent, "AgentSilent"))
}

func refuses(t *testing.T, f *livingFleet) {
	for _, c := range []struct{ args, want string }{
		{"mps-dead --host i-0nowhere", "near ids: i-"},
		{"fire", "faults: agent-back"},
		{"xid 79 --card 40", "counted from 0"},
		{"xid", "inject xid 79"},
		{"event-loss", "inject event-loss 5m"},
		{"spot 5m", "takes no value"},
	} {
		said, err := f.inject(strings.Fields(c.args)...)
		if err == nil || !strings.Contains(said, c.want) || strings.Count(said, "\n") != 1 {
			t.Errorf("inject %s: %v, %q; want one line with %q", c.args, err, said, c.want)
		}
	}
}
