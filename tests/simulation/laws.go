package simulation

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-ecs/bulkhead/internal/fleet"
	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/sim"
)

// laws are what must hold of a fleet's ledger after every step.
type laws struct {
	l *life
	// stopped are tasks that the ledger had as stopped, once.
	stopped map[string]bool
	// heard is the highest version that was acknowledged of a task.
	heard map[string]int64
	seen  map[ledger.HostID]int64 // revisions
}

func newLaws(l *life) *laws {
	return &laws{l: l, stopped: map[string]bool{}, heard: map[string]int64{}, seen: map[ledger.HostID]int64{}}
}

// acknowledged takes note of a message that will not come again, and judges one
// that must have changed nothing.
func (w *laws) acknowledged(body []byte, r fleet.Reply) error {
	var e struct {
		Kind    string `json:"detail-type"`
		Account string `json:"account"`
		Detail  struct {
			TaskARN string `json:"taskArn"`
			Version int64  `json:"version"`
		} `json:"detail"`
	}
	if err := json.Unmarshal(body, &e); err != nil {
		return err
	}
	if e.Account != "111122223333" {
		if r.Outcome != fleet.Rejected && r.Outcome != fleet.Ignored { // some kinds are of no use, whoever sends them
			return fmt.Errorf("a foreign event was not rejected: %+v", r)
		}
		return nil
	}
	if r.Outcome == fleet.Rejected {
		return fmt.Errorf("an event of the fleet was rejected: %+v %s", r, body)
	}
	if e.Kind == "ECS Task State Change" && r.Outcome != fleet.Ignored && r.Token == "" {
		w.heard[e.Detail.TaskARN] = max(w.heard[e.Detail.TaskARN], e.Detail.Version)
	}
	return nil
}

// hold checks every host of the ledger.
func (w *laws) hold(ctx context.Context) error {
	hosts, _, err := w.l.table.Hosts(ctx, worldCluster, "", 0)
	if err != nil {
		return err
	}
	on := map[string]string{}
	there := map[ledger.HostID]bool{}
	for _, h := range hosts {
		there[h.ID] = true
	}
	maps.DeleteFunc(w.seen, func(id ledger.HostID, _ int64) bool { return !there[id] }) // removed by a sweep
	for _, h := range hosts {
		if h.Revision < w.seen[h.ID] {
			return fmt.Errorf("host %s went back from revision %d to %d", h.ID, w.seen[h.ID], h.Revision)
		}
		w.seen[h.ID] = h.Revision
		for _, t := range h.Tasks {
			if other, twice := on[t.ARN]; twice {
				return fmt.Errorf("task %s is on %s and on %s", t.ARN, other, h.ID)
			}
			on[t.ARN] = h.ID.Instance
			if err := w.task(t); err != nil {
				return err
			}
		}
		for _, r := range h.Reservations {
			if past := w.l.now.Sub(r.LeaseUntil); past > ledger.DefaultReservationGrace+3*sweepEvery && w.quiet() {
				return fmt.Errorf("reservation %s outlives its lease by %s", r.ID, past)
			}
		}
		if len(w.l.images) == 0 {
			if err := w.journal(ctx, h); err != nil {
				return err
			}
		}
	}
	return nil
}

// quiet reports whether sweeps can be counted on: under faults one may fail.
func (w *laws) quiet() bool {
	return !w.l.plan.has("crash") && !w.l.plan.has("store") && !w.l.plan.has("api")
}

func (w *laws) task(t ledger.Task) error {
	if t.Phase == ledger.PhaseStopped {
		w.stopped[t.ARN] = true
	} else if w.stopped[t.ARN] {
		return fmt.Errorf("task %s ended and came back at version %d", t.ARN, t.Version)
	}
	if t.Phase != ledger.PhaseStopped && t.Version < w.heard[t.ARN] {
		return fmt.Errorf("task %s: version %d was acknowledged, the ledger has %d", t.ARN, w.heard[t.ARN], t.Version)
	}
	return nil
}

// journal: the newest entry of a host is the host.
func (w *laws) journal(ctx context.Context, h ledger.Host) error {
	entries, _, err := w.l.table.Journal(ctx, h.ID, w.l.now.Add(-sweepEvery), w.l.now.Add(time.Hour), "")
	if err != nil || len(entries) == 0 {
		return err
	}
	if newest := entries[len(entries)-1].Image; !reflect.DeepEqual(newest, h) {
		return fmt.Errorf("the journal says another thing of %s than the table (-journal +table)\n%s", h.ID, cmp.Diff(newest, h))
	}
	return nil
}

// decided: what we put on a host has room beside all that waits for a card. There
// is a card with the memory and the client slots for it, and every card that ECS
// could choose by memory has the compute.
func (w *laws) decided(h ledger.Host) error {
	v := h.View(w.l.now)
	var waits gpu.MiB
	var compute gpu.Percent
	clients := 0
	for _, s := range v.Unplaced {
		if s.State.Holds() {
			waits, compute, clients = waits.Add(s.Memory), compute.Add(s.Compute), clients+1
		}
	}
	fits := false
	for _, d := range v.Devices {
		if !d.Registered || d.Mode == gpu.ModeDedicated || d.Held.Add(waits) > d.Total {
			continue
		}
		fits = fits || d.Clients+clients <= gpu.MaxClients
		if sum := d.Compute.Add(compute); sum > gpu.FullCompute {
			return fmt.Errorf("a decision promises %v of %s on %s, where ECS could put it", sum, d.UUID, h.ID)
		}
	}
	if !fits {
		return fmt.Errorf("a decision oversubscribes %s: %v and %d clients wait, and no card has that free", h.ID, waits, clients)
	}
	return nil
}

// settled: with the faults over and two sweeps done, the ledger is the fleet.
func (w *laws) settled(ctx context.Context) error {
	want, got := map[string]bool{}, map[string]bool{}
	w.l.face.Do(func(f *sim.Fleet) {
		for _, h := range f.Truth() {
			want[strings.Join([]string{h.Host, string(h.Card), h.Task, h.Container, fmt.Sprint(h.Memory)}, " ")] = true
		}
	})
	hosts, _, err := w.l.table.Hosts(ctx, worldCluster, "", 0)
	if err != nil {
		return err
	}
	for _, h := range hosts {
		if h.Gone() {
			continue
		}
		for _, d := range h.View(w.l.now).Devices {
			for _, s := range d.Shares {
				if !s.State.Holds() || s.TaskARN == "" {
					continue
				}
				memory := s.Memory
				if s.Need != ledger.NeedShare {
					memory = 0
				}
				got[strings.Join([]string{h.ID.Instance, string(d.UUID), s.TaskARN, s.Container, fmt.Sprint(memory)}, " ")] = true
			}
		}
	}
	if d := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); d != "" {
		return fmt.Errorf("the ledger is not the fleet (-fleet +ledger)\n%s", d)
	}
	return nil
}
