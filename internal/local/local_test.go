package local

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/bulkhead-ecs/bulkhead/events"
	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/httpapi"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/memstore"
	"github.com/bulkhead-ecs/bulkhead/internal/sim"
)

func options() Options {
	store := memstore.New()
	return Options{Start: time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC), Addr: "127.0.0.1:0", Hosts: 8, Seed: 1, Speed: 600, Store: store, Vitals: store, Log: slog.New(slog.DiscardHandler)}
}

func begin(t *testing.T, o Options) *run {
	t.Helper()
	r, err := newRun(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.ecs.close)
	return r
}

func TestTheSameSeedGivesTheSameDayAndEveryEventIsUnderstood(t *testing.T) {
	start := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	day := func(seed uint64, hours int) (string, map[string]int) {
		w, err := newWorld(seed, 8, start)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]int{}
		digest := sha256.New()
		for n := range hours * 60 {
			out, err := w.advance(start.Add(time.Duration(n+1) * time.Minute))
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range out {
				ev, err := events.Parse(e.Body, events.Limits{})
				if err != nil {
					t.Fatal(err)
				}
				seen[ev.DetailType]++
				digest.Write(e.Body)
			}
		}
		return hex.EncodeToString(digest.Sum(nil)), seen
	}
	one, seen := day(7, 24)
	if again, _ := day(7, 24); again != one {
		t.Error("the days part")
	}
	if len(seen) < 5 || seen["ECS Task State Change"] < 500 || seen["EC2 Spot Instance Interruption Warning"] == 0 {
		t.Errorf("a day of %v", seen)
	}
	if other, _ := day(8, 1); other == one {
		t.Error("another seed gives the same day")
	}
}

// At every hour of the day the ledger must be what the fleet is.
func TestTheLedgerFollowsTheFleet(t *testing.T) {
	r := begin(t, options())
	for range 24 {
		if err := r.step(context.Background(), time.Hour); err != nil {
			t.Fatal(err)
		}
		r.lastSweep = time.Time{} // a sweep at the hour, so that what was deferred is there
		if err := r.handle(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		want, got := map[string]gpu.MiB{}, map[string]gpu.MiB{}
		r.world.face.Do(func(f *sim.Fleet) {
			for _, h := range f.Truth() {
				if h.Memory > 0 {
					want[string(h.Card)] += h.Memory
				}
			}
		})
		hosts, _, err := r.o.Store.Hosts(context.Background(), clusterARN, "", 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range hosts {
			for _, d := range h.View(r.now()).Devices {
				if d.Mode != gpu.ModeDedicated && d.Held > 0 {
					got[string(d.UUID)] = d.Held
				}
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s (-fleet +ledger)\n%s", r.now(), diff)
		}
	}
	if len(r.agents) < r.o.Hosts {
		t.Errorf("%d agents of %d hosts spoke", len(r.agents), r.o.Hosts)
	}
}

// Each fault is seen where the answer says, through the real handlers.
func TestEveryInjectedFaultIsSeen(t *testing.T) {
	ctx := context.Background()
	untried := map[string]bool{}
	for _, kind := range InjectKinds() {
		untried[kind] = true
	}
	level := func(r *run, host string) string {
		rec, err := r.query.Health(ctx, host)
		if err != nil {
			t.Fatal(err)
		}
		words := []string{rec.Verdict.Host.Level.String(), rec.Report.MPS.State, rec.Report.NVML}
		for _, x := range rec.Verdict.Reasons {
			words = append(words, x.Token)
		}
		return strings.Join(words, " ")
	}
	viewOf := func(r *run, host string) ledger.View {
		v, err := r.query.HostOfInstance(ctx, host)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	sane := func(r *run, host string) string { // what the fleet is by itself, where no API of ours tells it
		var x sim.Host
		r.world.face.Do(func(f *sim.Fleet) {
			h, err := f.Host(host)
			if err != nil {
				t.Fatal(err)
			}
			x = *h
		})
		return fmt.Sprintf("impaired=%t silent=%t hang=%t", x.EC2Impaired, x.Silent, x.NVMLHang)
	}
	registered := func(r *run, host string) string {
		v := viewOf(r, host)
		return fmt.Sprintf("%s connected=%t %s", v.Host.Registration.Status, v.Host.Registration.AgentConnected, v.Host.EC2.State)
	}
	before := map[string]string{}
	changed := func(look func(*run, string) string) func(*run, string) string {
		return func(r *run, host string) string {
			now := look(r, host)
			if was, looked := before[host]; !looked {
				before[host] = now
			} else if was != now {
				return "changed"
			}
			return "same"
		}
	}
	cards := func(r *run, host string) string { return fmt.Sprint(viewOf(r, host).Host.Cards()) }
	boot := func(r *run, host string) string {
		rec, err := r.query.Health(ctx, host)
		if err != nil {
			t.Fatal(err)
		}
		return rec.BootID
	}
	told := func(r *run, _ string) string { return fmt.Sprint(r.events) }
	refused := func(r *run, host string) string {
		var all []string
		for _, x := range viewOf(r, host).Host.Tasks {
			all = append(all, x.StopReason)
		}
		return strings.Join(all, " ")
	}
	for kind, c := range map[string]struct {
		in   Injection
		wait time.Duration
		see  func(r *run, host string) string
		want string
	}{
		"xid":              {Injection{Xid: 79}, 2 * time.Minute, level, "Xid79"},
		"mps-dead":         {Injection{}, 2 * time.Minute, level, "MpsControlDead"},
		"mps-wedged":       {Injection{}, 2 * time.Minute, level, "wedged"},
		"mps-slow":         {Injection{}, 40 * time.Minute, refused, "MPS"},
		"mps-fault":        {Injection{}, 20 * time.Second, level, "fault"},
		"mps-recover":      {Injection{}, time.Minute, level, "healthy"},
		"nvml-hang":        {Injection{}, 2 * time.Minute, level, "NvmlUnresponsive"},
		nvmlBack:           {Injection{}, time.Minute, sane, "hang=false"},
		"agent-silent":     {Injection{}, 30 * time.Minute, level, "AgentSilent"},
		agentBack:          {Injection{}, time.Minute, sane, "silent=false"},
		"ecs-agent-lost":   {Injection{}, 5 * time.Minute, registered, "connected=false"},
		"spot":             {Injection{}, time.Minute, registered, "DRAINING"},
		"host-terminate":   {Injection{}, time.Minute, registered, "terminated"},
		"reboot":           {Injection{}, 8 * time.Minute, changed(boot), "changed"},
		"reboot-new-uuids": {Injection{}, 15 * time.Minute, changed(cards), "changed"},
		"event-loss":       {Injection{For: 5 * time.Minute}, 4 * time.Minute, changed(told), "same"},
		"ec2-impaired":     {Injection{}, time.Minute, sane, "impaired=true"},
	} {
		r := begin(t, options())
		if err := r.step(ctx, settle); err != nil {
			t.Fatal(err)
		}
		clear(before)
		host := ""
		r.world.face.Do(func(f *sim.Fleet) { host = busiest(f).EC2 })
		c.see(r, host)
		c.in.Kind = kind
		out, err := r.inject(c.in)
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		if out.Said == "" || len(out.Watch) == 0 || strings.Contains(out.Said, "%!") || strings.Contains(out.Said, "{") {
			t.Errorf("%s: the answer tells nothing: %+v", kind, out)
		}
		if err := r.step(ctx, c.wait); err != nil {
			t.Fatal(err)
		}
		if got := c.see(r, host); !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q in it", kind, got, c.want)
		}
		delete(untried, kind)
	}
	if len(untried) > 0 {
		t.Errorf("these can be injected and are not tried: %v", untried)
	}
}

func TestAWrongInjectionSaysWhatIsRight(t *testing.T) {
	r := begin(t, options())
	if err := r.step(context.Background(), settle); err != nil {
		t.Fatal(err)
	}
	for want, in := range map[string]Injection{
		"near ids: i-0":      {Kind: "mps-dead", Host: "i-0nowhere"},
		"faults: agent-back": {Kind: "fire"},
		"from 1 to 999":      {Kind: "xid"},
		"takes how long":     {Kind: "event-loss"},
		"takes no time":      {Kind: "spot", For: time.Minute},
		"cards, counted":     {Kind: "xid", Xid: 79, Card: 40},
	} {
		if _, err := r.inject(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", in, err, want)
		}
	}
	w := httptest.NewRecorder()
	r.injects(w, httptest.NewRequest(http.MethodPost, InjectPath, strings.NewReader(`{"kind":"mps-dead"}`)))
	if w.Code != http.StatusForbidden {
		t.Errorf("a page of another origin may break the fleet: %d", w.Code)
	}
}

func TestItServesTheAPIAndEndsByItselfLeavingNothing(t *testing.T) {
	defer goleak.VerifyNone(t)
	o := options()
	o.For = 600 * time.Millisecond
	var out bytes.Buffer
	var hosts struct {
		Hosts []httpapi.HostDoc `json:"hosts"`
	}
	asked := make(chan error, 1)
	o.Ready = func(address string) {
		go func() { asked <- ask(address+"/v1/clusters/gpu-local/hosts", &hosts) }()
	}
	if err := Run(context.Background(), o, &out); err != nil {
		t.Fatal(err)
	}
	if err := <-asked; err != nil {
		t.Fatal(err)
	}
	http.DefaultClient.CloseIdleConnections()
	if !strings.Contains(out.String(), "bulkhead gpus") || !strings.Contains(out.String(), "Stopped.") {
		t.Errorf("it says %s", out.String())
	}
}

func ask(url string, into any) error {
	for range 20 {
		resp, err := http.Get(url)
		if err != nil {
			return err
		}
		b, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			return err
		}
		if resp.StatusCode == http.StatusOK {
			return json.Unmarshal(b, into)
		}
		time.Sleep(10 * time.Millisecond) // its first events are under way
	}
	return errors.New("it never knew its cluster")
}

func TestATakenPortAndAnOpenAddressAreRefused(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	o := options()
	o.Addr = ln.Addr().String()
	if err := Run(context.Background(), o, io.Discard); !errors.Is(err, ErrPortTaken) {
		t.Errorf("a taken port: %v", err)
	}
	o.Addr = "0.0.0.0:0"
	if err := Run(context.Background(), o, io.Discard); !errors.Is(err, ErrNotLoopback) {
		t.Errorf("an open address: %v", err)
	}
}

var _ ledger.Store = (*memstore.Store)(nil)
