package ledger_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-ecs/bulkhead/internal/dynamo/codec"
	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger/ledgertest"
)

var now = time.Date(2026, 12, 1, 3, 0, 0, 0, time.UTC)

// share is a share of the first card.
func share(memory gpu.MiB) ledger.TaskShare {
	return ledger.TaskShare{Container: "app", Need: ledger.NeedShare, Sized: true, Memory: memory, Compute: 30, GPUs: []gpu.UUID{ledgertest.Card(16)}}
}

func task(n string, tier gpu.Tier, shares ...ledger.TaskShare) ledger.Task {
	return ledger.Task{ARN: "arn:aws:ecs:us-east-1:111122223333:task/gpu-prod/" + n, Version: 3, LastStatus: "RUNNING", Tier: tier, Shares: shares}
}

func TestEachBreachHasItsName(t *testing.T) {
	policy := ledger.DefaultPolicy()
	policy.Tiers = map[gpu.Tier]ledger.TierRule{"critical": ledger.TierOnlySame}
	whole := ledger.TaskShare{Container: "all", Need: ledger.NeedWhole, GPUs: []gpu.UUID{ledgertest.Card(16)}}
	stopping := task("slow", "standard", share(100))
	stopping.Phase, stopping.StoppingAt, stopping.StopTimeout = ledger.PhaseStopping, now.Add(-4*time.Minute), 2*time.Minute
	stopped, reborn := task("zombie", "standard", share(100)), task("zombie", "standard", share(100))
	stopped.Phase, reborn.Version = ledger.PhaseStopped, 9
	elsewhere := share(100)
	elsewhere.GPUs = []gpu.UUID{ledgertest.Card(99)}
	second := share(100)
	second.Container, second.GPUs = "side", []gpu.UUID{ledgertest.Card(17)}
	unsized := share(0)
	unsized.Sized = false
	ceiling := share(100)
	ceiling.Compute = 130
	var crowd []ledger.Task
	for n := range gpu.MaxClients + 1 {
		crowd = append(crowd, task(string(rune('A'+n)), "standard", share(1)))
	}
	for want, c := range map[ledger.Kind]struct {
		change func(*ledger.Host)
		tasks  []ledger.Task
	}{
		ledger.OverMemory:          {tasks: []ledger.Task{task("a", "standard", share(20_000)), task("b", "standard", share(2_564))}},
		ledger.ModeConflict:        {tasks: []ledger.Task{task("a", "standard", share(1)), task("b", "standard", whole)}},
		ledger.ShareNotPositive:    {tasks: []ledger.Task{task("a", "standard", share(0))}},
		ledger.ShareAboveCard:      {tasks: []ledger.Task{task("a", "standard", share(30_000))}},
		ledger.ComputeOutOfRange:   {tasks: []ledger.Task{task("a", "standard", ceiling)}},
		ledger.TooManyClients:      {tasks: crowd},
		ledger.TierConflict:        {tasks: []ledger.Task{task("a", "critical", share(1)), task("b", "standard", share(1))}},
		ledger.ShareSizeUnknown:    {tasks: []ledger.Task{task("a", "standard", unsized)}},
		ledger.UnknownDevice:       {tasks: []ledger.Task{task("a", "standard", elsewhere)}},
		ledger.InvalidGPUID:        {tasks: []ledger.Task{task("a", "standard", ledger.TaskShare{Container: "x", Need: ledger.NeedShare, Sized: true, Memory: 1, Bad: []string{"0"}})}},
		ledger.SplitTask:           {tasks: []ledger.Task{task("a", "standard", share(1), second)}},
		ledger.RunningAfterStopped: {tasks: []ledger.Task{stopped, reborn}},
		ledger.StoppingHold:        {tasks: []ledger.Task{stopping}},
		ledger.TaskLost:            {tasks: []ledger.Task{task("a", "standard", share(1))}, change: func(h *ledger.Host) { h.Registration.Status = "INACTIVE" }},
		ledger.DeviceVanished:      {tasks: []ledger.Task{task("a", "standard", share(1))}, change: func(h *ledger.Host) { h.Listed++ }},
		ledger.TotalNotPositive:    {change: func(h *ledger.Host) { h.Devices[0].Total = -5 }},
		ledger.NoLease:             {change: func(h *ledger.Host) { h.Reservations = []ledger.Reservation{{ID: "r"}} }},
		ledger.ReservationExpired:  {change: func(h *ledger.Host) { h.Reservations = []ledger.Reservation{{ID: "r", LeaseUntil: now}} }},
	} {
		h := ledgertest.Full(1, 2, 0)
		for _, x := range c.tasks {
			h, _ = ledger.ObserveTask(h, x)
		}
		if c.change != nil {
			c.change(&h)
		}
		fs := ledger.Check(h.View(now), policy, now)
		if !slices.ContainsFunc(fs, func(f ledger.Finding) bool { return f.Kind == want && f.Subject != "" && f.Reason != "" }) {
			t.Errorf("%s: found only %+v", want, fs)
		}
	}
	lawful := ledgertest.Full(1, 2, 6)
	if fs := ledger.Check(lawful.View(now), policy, now); len(fs) != 0 {
		t.Errorf("a lawful host has findings: %+v", fs)
	}
}

func TestCapacityIsFreeOnlyOnceTheTaskIsStopped(t *testing.T) {
	h := ledgertest.Full(1, 1, 0)
	x := task("a", "standard", share(8000))
	want := []struct {
		phase ledger.Phase
		state ledger.State
		held  gpu.MiB
	}{{ledger.PhaseActive, ledger.StateBound, 8000}, {ledger.PhaseStopping, ledger.StateReleasing, 8000}, {ledger.PhaseStopped, ledger.StateReleased, 0}}
	for i, w := range want {
		x.Version, x.Phase, x.StoppedAt = int64(i+1), w.phase, now
		h, _ = ledger.ObserveTask(h, x)
		d := h.View(now).Devices[0]
		if d.Held != w.held || d.Shares[0].State != w.state {
			t.Errorf("phase %d: %v held in state %s, want %v in %s", w.phase, d.Held, d.Shares[0].State, w.held, w.state)
		}
	}
	x.Version, x.Phase = 2, ledger.PhaseActive // late
	if late, out := ledger.ObserveTask(h, x); out.Result != ledger.Stale || late.View(now).Devices[0].Held != 0 {
		t.Errorf("a late event brought it back: %+v", out)
	}
}

func TestModesAndSharesOfACardFollowFromWhatHoldsIt(t *testing.T) {
	whole := ledger.TaskShare{Container: "two", Need: ledger.NeedWhole, GPUs: []gpu.UUID{ledgertest.Card(16), ledgertest.Card(17)}}
	h := ledgertest.Full(1, 4, 0)
	shared := share(5000)
	shared.GPUs = []gpu.UUID{ledgertest.Card(18)}
	pending := share(700)
	pending.GPUs = nil
	for _, x := range []ledger.Task{task("whole", "standard", whole), task("shared", "standard", shared), task("waits", "standard", pending)} {
		h, _ = ledger.ObserveTask(h, x)
	}
	v := h.View(now)
	var modes []string
	for _, d := range v.Devices {
		modes = append(modes, string(d.Mode))
	}
	if got := strings.Join(modes, " "); got != "dedicated dedicated shared idle" {
		t.Errorf("modes %s", got)
	}
	if v.Devices[0].Held != 22563 || v.Devices[0].Compute != 100 {
		t.Errorf("a whole card holds %v and %v", v.Devices[0].Held, v.Devices[0].Compute)
	}
	if len(v.Unplaced) != 1 || v.Unplaced[0].State != ledger.StateReserved {
		t.Errorf("unplaced %+v", v.Unplaced)
	}
}

func TestAReregisteredInstanceWithNewCardsKeepsNoOldState(t *testing.T) {
	h := ledgertest.Full(1, 1, 0)
	h, _ = ledger.ObserveTask(h, task("old", "standard", share(8000)))
	fresh := ledger.HostSeen{Registration: ledger.Registration{Version: 9000, Status: "ACTIVE"}, GPUs: []gpu.UUID{ledgertest.Card(500)}}
	before := h
	h, _ = ledger.ObserveHost(h, fresh)
	if ledger.SameLookup(before, h) {
		t.Error("its cards changed and the index is not told")
	}
	for _, d := range h.View(now).Devices {
		if d.Held != 0 {
			t.Errorf("%s holds %v after the card went", d.UUID, d.Held)
		}
	}
	if got := h.Cards(); !slices.Equal(got, []gpu.UUID{ledgertest.Card(500)}) {
		t.Errorf("cards %v", got)
	}
}

func TestAShareBelowZeroFreesNothing(t *testing.T) {
	h := ledgertest.Full(1, 1, 0)
	for _, x := range []ledger.Task{task("a", "standard", share(2000)), task("b", "standard", share(-500))} {
		h, _ = ledger.ObserveTask(h, x)
	}
	if d := h.View(now).Devices[0]; d.Held != 2000 {
		t.Errorf("held %v, want 2000 MiB", d.Held)
	}
}

func TestACardOnceNamedStaysWhateverASparseSayingLeavesOut(t *testing.T) {
	named := ledger.Task{ARN: "arn:task/1", Version: 2, LastStatus: "RUNNING", Shares: []ledger.TaskShare{share(4000)}}
	named.Shares[0].GPUs = []gpu.UUID{ledgertest.Card(1)}
	sparse := ledger.Task{ARN: "arn:task/1", Version: 3, LastStatus: "RUNNING"}
	stopped := ledger.Task{ARN: "arn:task/1", Version: 4, Phase: ledger.PhaseStopped, LastStatus: "STOPPED", StoppedAt: now}
	moved := ledger.Task{ARN: "arn:task/1", Version: 1, LastStatus: "RUNNING", Shares: []ledger.TaskShare{share(9)}}
	moved.Shares[0].GPUs = []gpu.UUID{ledgertest.Card(2)}
	for _, order := range [][]ledger.Task{{named, sparse, moved}, {sparse, moved, named}, {moved, sparse, named}, {sparse, named, moved}} {
		h := ledgertest.Full(1, 1, 0)
		for _, x := range order {
			h, _ = ledger.ObserveTask(h, x)
		}
		if got, _ := h.Task("arn:task/1"); got.Version != 3 || len(got.Shares) != 1 || got.Shares[0].Memory != 4000 || !slices.Equal(got.Shares[0].GPUs, []gpu.UUID{ledgertest.Card(1)}) {
			t.Errorf("%+v", got)
		}
		again, _, err := codec.Decode(codec.Encode(h))
		if err != nil {
			t.Fatal(err)
		}
		kept, _ := again.Task("arn:task/1")
		want, _ := h.Task("arn:task/1")
		if d := cmp.Diff(want, kept); d != "" {
			t.Errorf("stored and read: %s", d)
		}
		if h, _ = ledger.ObserveTask(h, stopped); h.View(now).Devices[0].Held != 0 || len(h.View(now).Devices[0].Shares) != 1 {
			t.Errorf("when it stopped: %+v", h.View(now).Devices[0])
		}
	}
}

func TestACeilingThatIsNoneWeighsAsTheWholeCard(t *testing.T) {
	for declared, finding := range map[gpu.Percent]bool{0: false, gpu.DeclaredZero: true, -100: true, 40: false} {
		h := ledgertest.Full(1, 1, 0)
		s := share(1000)
		s.Compute = declared
		h, _ = ledger.ObserveTask(h, task("a", "standard", s))
		v := h.View(now)
		want := gpu.Percent(100)
		if declared == 40 {
			want = 40
		}
		if v.Devices[0].Compute != want {
			t.Errorf("declared %v: the card promises %v", declared, v.Devices[0].Compute)
		}
		found := false
		for _, f := range ledger.Check(v, ledger.DefaultPolicy(), now) {
			found = found || f.Kind == ledger.ComputeOutOfRange
		}
		if found != finding {
			t.Errorf("declared %v: a finding %v", declared, found)
		}
	}
}
