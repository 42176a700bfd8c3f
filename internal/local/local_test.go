package local

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bulkhead-ecs/bulkhead/events"
	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/httpapi"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/memstore"
)

func options() Options {
	return Options{Addr: "127.0.0.1:0", Hosts: 6, Seed: 1, Speed: 600, Store: memstore.New(), Log: slog.New(slog.DiscardHandler)}
}

func TestTheSameSeedGivesTheSameDayAndEveryEventIsUnderstood(t *testing.T) {
	start := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	a, b := newDay(7, 9, start), newDay(7, 9, start)
	seen := map[string]int{}
	for n := range 24 * 4 {
		until := start.Add(time.Duration(n+1) * 15 * time.Minute)
		x, y := a.advance(until), b.advance(until)
		if !bytes.Equal(bytes.Join(x, nil), bytes.Join(y, nil)) {
			t.Fatalf("the days part at %s", until)
		}
		for _, raw := range x {
			ev, err := events.Parse(raw, events.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			seen[ev.DetailType]++
		}
	}
	if len(seen) < 4 || seen["ECS Task State Change"] < 500 {
		t.Errorf("a day of %v", seen)
	}
	if c := newDay(8, 9, start); bytes.Equal(bytes.Join(c.advance(start.Add(time.Hour)), nil), bytes.Join(newDay(7, 9, start).advance(start.Add(time.Hour)), nil)) {
		t.Error("another seed gives the same day")
	}
}

// At the end of a day the ledger must be what the fleet is.
func TestTheLedgerFollowsTheFleet(t *testing.T) {
	r := newRun(options())
	for range 24 {
		if err := r.step(context.Background(), time.Hour); err != nil {
			t.Fatal(err)
		}
		r.lastSweep = time.Time{} // a sweep at the hour, so that what was deferred is there
		if err := r.handle(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		want := map[string]gpu.MiB{}
		for _, task := range r.day.sorted() {
			if task.last != "STOPPED" && !task.service.containers[0].whole {
				want[task.card.uuid] += gpu.MiB(task.service.mib())
			}
		}
		hosts, _, err := r.o.Store.Hosts(context.Background(), dayCluster, "", 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range hosts {
			for _, d := range h.View(r.now()).Devices {
				if d.Mode != gpu.ModeDedicated && !h.Gone() && d.Held != want[string(d.UUID)] {
					t.Fatalf("%s: %s holds %v, the fleet says %v", r.now(), d.UUID, d.Held, want[string(d.UUID)])
				}
			}
		}
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
