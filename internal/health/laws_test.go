package health

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
)

// anyXid draws an Xid that applications cause, of one of some families.
func drawXid(t *rapid.T, codes []int, families []string) Signal {
	s := Signal{Kind: KindXid, Witness: rapid.SampledFrom([]Witness{WitnessKernelLog, WitnessNVML}).Draw(t, "witness"),
		Code: rapid.SampledFrom(codes).Draw(t, "code"), Device: rapid.SampledFrom([]gpu.UUID{gpuA, gpuB}).Draw(t, "device"),
		PID: rapid.IntRange(1, 4).Draw(t, "pid"), BootID: "b1", Count: 1}
	s.Family = rapid.SampledFrom(families).Draw(t, "family")
	s.LastSeen = t0.Add(time.Duration(rapid.IntRange(0, 86_000).Draw(t, "at")) * time.Second)
	return s
}

func drawState(t *rapid.T) Signal {
	row := rapid.SampledFrom([]Kind{KindGPULost, KindMPSControlDead, KindMPSFault, KindRemapPending, KindThrottle,
		KindNVMLUnresponsive, KindAgentDisconnected, KindEC2Status, KindMonitorLost}).Draw(t, "kind")
	return Signal{Kind: row, Witness: rapid.SampledFrom([]Witness{WitnessAgent, WitnessNVML, WitnessEC2Status}).Draw(t, "witness"),
		Reading: Reading(rapid.IntRange(0, 3).Draw(t, "reading")), BootID: "b1", Count: int64(rapid.IntRange(1, 4).Draw(t, "count")),
		LastSeen: t0.Add(time.Duration(rapid.IntRange(0, 86_000).Draw(t, "at")) * time.Second)}
}

var applicationCodes = []int{8, 11, 13, 25, 31, 32, 39, 43, 60, 69, 80, 85, 135}

func TestOneApplicationNeverMovesACardOrHost(t *testing.T) {
	p := mustDefault(t)
	rapid.Check(t, func(t *rapid.T) {
		st := host(2)
		for range rapid.IntRange(1, 4).Draw(t, "batches") {
			var batch []Signal
			for range rapid.IntRange(0, 30).Draw(t, "n") {
				batch = append(batch, drawXid(t, append(applicationCodes, 45, 777), []string{"trainer:7", ""}))
			}
			var v Verdict
			st, v, _ = Assess(st, batch, p, t0.Add(24*time.Hour))
			if acts([]Action{v.Host.Action}) || v.Host.Level > Suspect {
				t.Fatalf("%s %s: %+v", v.Host.Level, v.Host.Action, v.Reasons)
			}
		}
	})
}

func TestUnknownCodesOnlyAlert(t *testing.T) {
	p := mustDefault(t)
	rapid.Check(t, func(t *rapid.T) {
		var batch []Signal
		for range rapid.IntRange(1, 60).Draw(t, "n") {
			batch = append(batch, drawXid(t, []int{1, 2, 5, 174, 250, 9_000}, []string{"a:1", "b:2", "c:3"}))
		}
		_, v, _ := Assess(host(2), batch, p, t0.Add(24*time.Hour))
		if v.Host.Level > Suspect || acts([]Action{v.Host.Action}) || !v.Host.AcceptsTasks {
			t.Fatalf("%+v", v.Host)
		}
	})
}

func TestABatchInAnyOrderAndTwiceGivesTheSameState(t *testing.T) {
	p := mustDefault(t)
	rapid.Check(t, func(t *rapid.T) {
		var batch []Signal
		for range rapid.IntRange(1, 25).Draw(t, "n") {
			if rapid.Bool().Draw(t, "state") {
				batch = append(batch, drawState(t))
			} else {
				batch = append(batch, drawXid(t, []int{13, 31, 45, 48, 63, 79, 94, 109, 162, 163}, []string{"a:1", "b:2"}))
			}
		}
		now := t0.Add(24 * time.Hour)
		want, wantV, _ := Assess(host(2), batch, p, now)
		shuffled := rapid.Permutation(batch).Draw(t, "order")
		got, gotV, _ := Assess(host(2), shuffled, p, now)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal("order matters: ", diff)
		}
		if diff := cmp.Diff(wantV, gotV); diff != "" {
			t.Fatal("order matters: ", diff)
		}
		again, againV, _ := Assess(want, batch, p, now)
		again.Stale = want.Stale
		if diff := cmp.Diff(levels(wantV), levels(againV)); diff != "" {
			t.Fatal("repetition matters: ", diff)
		}
		for i, c := range again.Conditions {
			if w := want.Conditions[i]; c.Count != w.Count || !c.FirstSeen.Equal(w.FirstSeen) || c.Bad.N != w.Bad.N {
				t.Fatalf("repetition counted: %+v was %+v", c, w)
			}
		}
	})
}

func levels(v Verdict) []string {
	var out []string
	for _, r := range v.Reasons {
		out = append(out, fmt.Sprint(r.Token, r.Device, r.Level, r.Actions, r.FirstSeen.Unix()))
	}
	slices.Sort(out)
	return out
}

// silences are the kinds that say "I hear nothing", each with its witness.
var silences = []Signal{
	{Kind: KindNVMLUnresponsive, Witness: WitnessNVML, Count: 9},
	{Kind: KindAgentDisconnected, Witness: WitnessAgentConnected, Count: 9},
	{Kind: KindMonitorLost, Witness: WitnessECSHealth, Count: 9},
	{Kind: KindSourceBroken, Witness: WitnessAgent, Count: 9},
	{Kind: KindSSMLost, Witness: WitnessSSM, Count: 9},
	{Kind: KindDState, Witness: WitnessAgent, Count: 9},
}

func TestOneFateOfSilenceNeverCondemns(t *testing.T) {
	p := mustDefault(t)
	rapid.Check(t, func(t *rapid.T) {
		st := host(1)
		real := rapid.SampledFrom(silences).Draw(t, "one that counts")
		fate := p.row(real.Kind, 0).Fate
		now := t0
		for range rapid.IntRange(1, 30).Draw(t, "n") {
			s := rapid.SampledFrom(silences).Draw(t, "silence")
			now = now.Add(time.Duration(rapid.IntRange(1, 4_000).Draw(t, "gap")) * time.Second)
			if f := p.row(s.Kind, 0).Fate; f != "none" && f != fate {
				continue
			}
			s.LastSeen = now
			var v Verdict
			st, v, _ = Assess(st, []Signal{s}, p, now)
			if v.Host.Level > Unknown || acts([]Action{v.Host.Action}) {
				t.Fatalf("%s by one fate %q: %+v", v.Host.Level, fate, v.Reasons)
			}
		}
	})
}

func TestEveryAlarmHasAnAllClear(t *testing.T) {
	p := mustDefault(t)
	rapid.Check(t, func(t *rapid.T) {
		var batch []Signal
		for range rapid.IntRange(1, 20).Draw(t, "n") {
			if rapid.Bool().Draw(t, "state") {
				batch = append(batch, drawState(t))
			} else {
				batch = append(batch, drawXid(t, p.Xids.Codes(), []string{"a:1", "b:2"}))
			}
		}
		now := t0.Add(24 * time.Hour)
		st, _, _ := Assess(host(4), batch, p, now)
		_, v, _ := Assess(st, []Signal{{Kind: KindSetHealthy, Witness: WitnessPerson, LastSeen: now}}, p, now)
		if v.Host.Level != Healthy || len(v.Reasons) != 0 {
			t.Fatalf("a person's word left %+v", v.Reasons)
		}
	})
}

func TestFirstSeenNeverMovesWhileTheFaultStands(t *testing.T) {
	p := mustDefault(t)
	rapid.Check(t, func(t *rapid.T) {
		st, now := host(2), t0
		first := map[string]time.Time{}
		for range rapid.IntRange(2, 20).Draw(t, "n") {
			now = now.Add(time.Duration(rapid.IntRange(1, 5_000).Draw(t, "gap")) * time.Second)
			s := drawXid(t, []int{48, 79, 95, 109, 13}, []string{"a:1", "b:2"})
			s.LastSeen = now
			var v Verdict
			st, v, _ = Assess(st, []Signal{s}, p, now)
			standing := map[string]time.Time{}
			for _, r := range v.Reasons {
				key := r.Token + string(r.Device)
				if was, ok := first[key]; ok && !was.Equal(r.FirstSeen) {
					t.Fatalf("%s moved from %s to %s", key, was, r.FirstSeen)
				}
				standing[key] = r.FirstSeen
			}
			first = standing
		}
	})
}

func TestALevelIsReadBackFromItsWord(t *testing.T) {
	for l := Healthy; l <= Failed; l++ {
		text, err := l.MarshalText()
		var back Level
		if err != nil || back.UnmarshalText(text) != nil || back != l {
			t.Errorf("%s came back as %s", text, back)
		}
	}
	var l Level
	if err := l.UnmarshalText([]byte("splendid")); err == nil {
		t.Error("an unknown level was read")
	}
}
