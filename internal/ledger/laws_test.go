package ledger_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger/ledgertest"
)

// observation is one thing said of a host.
type observation func(ledger.Host) ledger.Host

// observations draws things said of one host, coherent or not: the pieces of an
// arbitrary host, each told by itself.
func observations(t *rapid.T) []observation {
	var out []observation
	for _, h := range rapid.SliceOfN(ledgertest.Hosts(), 1, 3).Draw(t, "told") {
		for _, task := range h.Tasks {
			out = append(out, func(x ledger.Host) ledger.Host { x, _ = ledger.ObserveTask(x, task); return x })
		}
		seen := ledger.HostSeen{Fixed: h.Fixed, Registration: h.Registration}
		if rapid.Bool().Draw(t, "cardsTold") {
			seen.GPUs = []gpu.UUID{}
		}
		for _, d := range h.Devices {
			if rapid.Bool().Draw(t, "described") {
				seen.Described = append(seen.Described, ledger.DeviceTotal{UUID: d.UUID, Total: d.Total, Mode: d.Mode})
			} else {
				seen.GPUs = append(seen.GPUs, d.UUID)
			}
		}
		out = append(out, func(x ledger.Host) ledger.Host { x, _ = ledger.ObserveHost(x, seen); return x },
			func(x ledger.Host) ledger.Host { x, _ = ledger.ObserveEC2(x, h.EC2); return x },
			func(x ledger.Host) ledger.Host { x, _ = ledger.ObserveHealth(x, h.Health); return x })
		for _, l := range h.Leaving {
			out = append(out, func(x ledger.Host) ledger.Host { x, _ = ledger.ObserveLeaving(x, l); return x })
		}
	}
	return out
}

func tell(os []observation) ledger.Host {
	h := ledger.Host{ID: ledgertest.HostID(1)}
	for _, o := range os {
		h = o(h)
	}
	return h
}

func TestAnyOrderAndRepetitionOfObservationsGivesTheSameHost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		os := observations(t)
		want := tell(os)
		again := append(slices.Clone(os), rapid.SliceOfN(rapid.SampledFrom(os), 0, 10).Draw(t, "again")...)
		got := tell(rapid.Permutation(again).Draw(t, "order"))
		if !cmp.Equal(got, want, cmpopts.EquateEmpty()) {
			t.Fatalf("(-one order +another)\n%s", cmp.Diff(want, got, cmpopts.EquateEmpty()))
		}
	})
}

func TestAnObservationChangesNoValueThatSomebodyHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		os := observations(t)
		half := tell(os[:len(os)/2])
		before := cmp.Diff(ledger.Host{}, half)
		for _, o := range os[len(os)/2:] {
			o(half)
		}
		if cmp.Diff(ledger.Host{}, half) != before {
			t.Fatal("a slice was written in place")
		}
	})
}

func TestNothingPanicsAndTheSameIsNoChange(t *testing.T) {
	now := time.UnixMilli(2e12)
	rapid.Check(t, func(t *rapid.T) {
		h := ledgertest.Hosts().Draw(t, "host")
		v := h.View(now)
		ledger.Check(v, ledger.DefaultPolicy(), now)
		if d := ledger.Diff(h, h, ledger.DefaultPolicy(), now); len(d) != 0 {
			t.Fatalf("a host differs from itself: %+v", d)
		}
		other := ledgertest.Hosts().Draw(t, "other")
		for _, c := range ledger.Diff(h, other, ledger.DefaultPolicy(), now) {
			if c.Kind == ledger.ShareChanged && c.Before == c.After && c.Before == "" {
				t.Fatalf("a change from nothing to nothing: %+v", c)
			}
		}
		pruned, _ := ledger.Prune(h, ledger.DefaultPolicy(), now)
		for _, task := range h.Tasks {
			if _, kept := pruned.Task(task.ARN); !kept && task.Phase != ledger.PhaseStopped {
				t.Fatal("a task that is not stopped was dropped")
			}
		}
	})
}

func TestADecisionNeverBreaksALaw(t *testing.T) {
	now := time.Date(2026, 12, 1, 3, 0, 0, 0, time.UTC)
	policy := ledger.DefaultPolicy()
	policy.Tiers = map[gpu.Tier]ledger.TierRule{"critical": ledger.TierOnlySame, "alone": ledger.TierExclusive}
	rapid.Check(t, func(t *rapid.T) {
		h := ledgertest.Full(1, 1, rapid.IntRange(0, 12).Draw(t, "shares"))
		for i := range h.Tasks {
			h.Tasks[i].Tier = gpu.Tier(rapid.SampledFrom([]string{"critical", "standard", "alone"}).Draw(t, "tier"))
		}
		lawful := len(ledger.Check(h.View(now), policy, now)) == 0
		for n := range rapid.IntRange(1, 60).Draw(t, "asks") {
			r := ledger.Reservation{ID: string(rune('A' + n)), Tier: gpu.Tier(rapid.SampledFrom([]string{"critical", "standard", "alone"}).Draw(t, "ask")),
				LeaseUntil: now.Add(time.Minute), Containers: []ledger.ContainerNeed{{Name: "app", Need: ledger.NeedShare,
					Memory: gpu.MiB(rapid.Int64Range(-10, 30_000).Draw(t, "memory"))}}}
			after, err := ledger.Reserve(h, r, policy, now)
			if err != nil {
				if _, ok := ledger.IsRefusal(err); !ok || !cmp.Equal(after, h) {
					t.Fatalf("a refusal without a reason, or one that changed the host: %v", err)
				}
				continue
			}
			h = after
			// ECS binds it to the only card there is.
			bound, _ := ledger.ObserveTask(h, ledger.Task{ARN: "arn:task/" + r.ID, Version: 1, StartedBy: r.ID, Tier: r.Tier,
				Shares: []ledger.TaskShare{{Container: "app", Need: ledger.NeedShare, Sized: true, Memory: r.Containers[0].Memory, GPUs: []gpu.UUID{h.Devices[0].UUID}}}})
			if fs := ledger.Check(bound.View(now), policy, now); lawful && len(fs) > 0 {
				t.Fatalf("%+v was granted and breaks %+v", r, fs)
			}
			if len(bound.Reservations) >= len(h.Reservations) {
				t.Fatal("the task came and its reservation still holds")
			}
			if rapid.Bool().Draw(t, "starts") {
				h = bound
			}
		}
	})
}

func FuzzObserve(f *testing.F) {
	for _, seed := range []uint64{0, 1, 1 << 40} {
		f.Add([]byte{byte(seed), byte(seed >> 8), 3, 2, 1, 0, 0, 9, 200, 17})
	}
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) {
		os := observations(t)
		if a, b := tell(os), tell(append(slices.Clone(os), os...)); !cmp.Equal(a, b, cmpopts.EquateEmpty()) {
			t.Fatal(cmp.Diff(a, b, cmpopts.EquateEmpty()))
		}
	}))
}

// Reservations that wait for a card weigh on it with the rest: their clients and
// their tiers too, not only their memory.
func TestWhatWaitsForACardCountsAgainstIt(t *testing.T) {
	policy := ledger.DefaultPolicy()
	policy.Tiers = map[gpu.Tier]ledger.TierRule{"alone": ledger.TierExclusive}
	ask := func(id string, tier gpu.Tier, memory gpu.MiB) ledger.Reservation {
		return ledger.Reservation{ID: id, Tier: tier, LeaseUntil: now.Add(time.Minute), Containers: []ledger.ContainerNeed{{Name: "app", Need: ledger.NeedShare, Memory: memory}}}
	}
	token := func(h ledger.Host, r ledger.Reservation) string {
		_, err := ledger.Reserve(h, r, policy, now)
		refusal, _ := ledger.IsRefusal(err)
		return refusal.Token
	}
	h := ledgertest.Full(1, 1, 0)
	for n := range gpu.MaxClients {
		var err error
		if h, err = ledger.Reserve(h, ask(string(rune('A'+n)), "standard", 1), policy, now); err != nil {
			t.Fatalf("reservation %d: %v", n, err)
		}
	}
	if got := token(h, ask("one more", "standard", 1)); got != ledger.RefusedClients {
		t.Errorf("one client too many: %q", got)
	}
	h, err := ledger.Reserve(ledgertest.Full(1, 1, 0), ask("a", "alone", 10), policy, now)
	if err != nil {
		t.Fatal(err)
	}
	if got := token(h, ask("b", "standard", 10)); got != ledger.RefusedTier {
		t.Errorf("beside an exclusive one that waits: %q", got)
	}
	for name, s := range map[string]ledger.TaskShare{"unknown size": {Container: "x", Need: ledger.NeedShare}, "whole": {Container: "x", Need: ledger.NeedWhole}} {
		h, _ := ledger.ObserveTask(ledgertest.Full(1, 1, 0), ledger.Task{ARN: "arn:task/x", Version: 1, Shares: []ledger.TaskShare{s}})
		if got := token(h, ask("b", "standard", 10)); got != ledger.RefusedUnplaced {
			t.Errorf("beside a share of %s: %q", name, got)
		}
	}
}

func TestTimesAreKeptToTheMillisecondSoThatAReloadChangesNothing(t *testing.T) {
	x := ledger.Task{ARN: "arn:task/x", At: now.Add(123456 * time.Nanosecond), StoppedAt: now.Add(999 * time.Nanosecond), StopTimeout: time.Second + time.Microsecond}
	h, _ := ledger.ObserveTask(ledgertest.Full(1, 1, 0), x)
	if _, out := ledger.ObserveTask(h, x); out.Result != ledger.Duplicate {
		t.Errorf("the same again: %+v", out)
	}
	if got, _ := h.Task(x.ARN); got.At != now || got.StopTimeout != time.Second {
		t.Errorf("kept %v and %v", got.At, got.StopTimeout)
	}
}
