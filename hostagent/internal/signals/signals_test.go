package signals

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/kmsg"
	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/nvml"
	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/health"
)

const card0 = gpu.UUID("GPU-00000000-0000-4000-8000-000000000000")

var begin = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

func ptr[T any](v T) *T { return &v }

// well is a card that reports everything and has nothing.
func well() nvml.Device {
	return nvml.Device{UUID: card0, Memory: &nvml.Memory{Total: 23034, Reserved: 471, Usable: 22563}, Utilization: ptr(gpu.Percent(40)),
		VolatileUncorrected: ptr(uint64(0)), SRAMThreshold: ptr(false), Remap: &nvml.Remap{}, Retired: &nvml.Retired{}, Recovery: ptr(0),
		Throttle: ptr(uint64(1)), Margin: ptr(40), Links: []nvml.Link{{ID: 0, Up: true, Errors: ptr(uint64(5))}}, Replays: ptr(uint64(7)),
		Width: ptr(16), MaxWidth: ptr(16), Gen: ptr(4), MaxGen: ptr(4), Persistence: ptr(true)}
}

func input(d nvml.Device) Input {
	return Input{BootID: "boot-a", Fresh: true, NVML: NVMLAnswers, Expected: 1, KernelModule: "580.1", DStateRead: true,
		Sample: nvml.Sample{Driver: "580.1", Count: 1, Devices: []nvml.Device{d}}}
}

// steps runs inputs 15 s apart and returns the last signal of the kind told in each.
func steps(t *testing.T, kind health.Kind, inputs ...Input) []string {
	t.Helper()
	var st State
	var out []health.Signal
	var got []string
	for i, in := range inputs {
		now := begin.Add(time.Duration(i) * 15 * time.Second)
		st, out = Evaluate(st, in, now)
		word := "-"
		for _, s := range out {
			if _, err := s.Normalize(now); err != nil {
				t.Fatalf("health refuses %+v: %v", s, err)
			}
			if s.Kind == kind {
				word = [...]string{"bad", "well", "none", "unreadable"}[s.Reading]
			}
		}
		got = append(got, word)
	}
	return got
}

// Every kind goes up by its fault and comes down without it.
func TestEveryStateHasAWayDownAsWellAsUp(t *testing.T) {
	for _, c := range []struct {
		kind   health.Kind
		fault  func(*Input, *nvml.Device)
		before int // well inputs first
		repeat int // faulty inputs
	}{
		{health.KindGPULost, func(_ *Input, d *nvml.Device) { d.Lost = true }, 1, 1},
		{health.KindGPULost, func(_ *Input, d *nvml.Device) { d.UUID = ""; d.Unreadable = []string{"handle"} }, 1, 1},
		{health.KindResetRequired, func(_ *Input, d *nvml.Device) { d.Recovery = ptr(1) }, 0, 1},
		{health.KindResetRequired, func(_ *Input, d *nvml.Device) { d.Recovery = ptr(99) }, 0, 1},
		{health.KindResetRequired, func(_ *Input, d *nvml.Device) { d.ResetRequired = true }, 0, 1},
		{health.KindECCUncorrectable, func(_ *Input, d *nvml.Device) { d.VolatileUncorrected = ptr(uint64(2)) }, 0, 1},
		{health.KindSRAMThreshold, func(_ *Input, d *nvml.Device) { d.SRAMThreshold = ptr(true) }, 0, 1},
		{health.KindRemapPending, func(_ *Input, d *nvml.Device) { d.Remap = &nvml.Remap{Pending: true} }, 0, 1},
		{health.KindRemapFailure, func(_ *Input, d *nvml.Device) { d.Remap = &nvml.Remap{Failure: true} }, 0, 1},
		{health.KindRemapCount, func(_ *Input, d *nvml.Device) { d.Remap = &nvml.Remap{Uncorrectable: 512} }, 0, 1},
		{health.KindRetiredPending, func(_ *Input, d *nvml.Device) { d.Retired = &nvml.Retired{Pending: true} }, 0, 1},
		{health.KindRetiredPages, func(_ *Input, d *nvml.Device) { d.Retired = &nvml.Retired{Pages: 63} }, 0, 1},
		{health.KindNVLink, func(_ *Input, d *nvml.Device) { d.Links = []nvml.Link{{ID: 0, Errors: ptr(uint64(5))}} }, 1, 1},
		{health.KindNVLink, func(_ *Input, d *nvml.Device) { d.Links = []nvml.Link{{ID: 0, Up: true, Errors: ptr(uint64(6))}} }, 1, 1},
		{health.KindPCIe, func(_ *Input, d *nvml.Device) { d.Width = ptr(8) }, 1, 1},
		{health.KindPCIe, func(_ *Input, d *nvml.Device) { d.Gen = ptr(1) }, 1, 1},
		{health.KindPCIe, func(_ *Input, d *nvml.Device) { d.Replays = ptr(uint64(400)) }, 1, 1},
		{health.KindThrottle, func(_ *Input, d *nvml.Device) { d.Throttle = ptr(nvml.ThrottleHWThermal) }, 0, 3},
		{health.KindPower, func(_ *Input, d *nvml.Device) { d.Throttle = ptr(nvml.ThrottlePowerBrake) }, 0, 1},
		{health.KindThermal, func(_ *Input, d *nvml.Device) { d.Margin = ptr(-2) }, 0, 1},
		{health.KindTotalChanged, func(_ *Input, d *nvml.Device) { d.Memory = &nvml.Memory{Total: 23034, Usable: 20000} }, 1, 1},
		{health.KindCountMismatch, func(in *Input, _ *nvml.Device) { in.Sample.Count = 0; in.Sample.Devices = nil }, 0, 1},
		{health.KindDriverMismatch, func(in *Input, _ *nvml.Device) { in.KernelModule = "570.2" }, 0, 1},
		{health.KindDriverMismatch, func(in *Input, _ *nvml.Device) { in.Fresh = false; in.NVML = NVMLMismatch }, 0, 1},
		{health.KindPersistenceOff, func(_ *Input, d *nvml.Device) { d.Persistence = ptr(false) }, 0, 1},
		{health.KindNVMLUnresponsive, func(in *Input, _ *nvml.Device) { in.Fresh = false; in.NVML = NVMLSilent }, 0, 1},
		{health.KindDState, func(in *Input, _ *nvml.Device) { in.DState = []Stuck{{7, "py\x1bthon"}} }, 0, 1},
	} {
		t.Run(string(c.kind), func(t *testing.T) {
			var all []Input
			for range c.before {
				all = append(all, input(well()))
			}
			for range c.repeat {
				in := input(well())
				c.fault(&in, &in.Sample.Devices[0])
				all = append(all, in)
			}
			up := len(all) - 1
			for range 12 {
				all = append(all, input(well()))
			}
			got := steps(t, c.kind, all...)
			if got[up] != "bad" || !slices.Contains(got[up+1:], "well") || slices.Contains(got[:max(up-c.repeat+1, 0)], "bad") {
				t.Errorf("%v", got)
			}
		})
	}
}

func TestWhatACardLacksIsNeitherBadNorWell(t *testing.T) {
	bare := nvml.Device{UUID: card0}
	failed := nvml.Device{UUID: card0, Unreadable: []string{"remap", "margin", "volatileUncorrected"}, Invalid: []string{"memory"}}
	for kind, want := range map[health.Kind][2]string{
		health.KindRemapPending: {"none", "unreadable"}, health.KindThermal: {"none", "unreadable"}, health.KindECCUncorrectable: {"none", "unreadable"},
		health.KindTotalChanged: {"none", "unreadable"}, health.KindNVLink: {"none", "none"}, health.KindThrottle: {"none", "none"},
	} {
		if got := steps(t, kind, input(bare), input(failed)); got[0] != want[0] || kind != health.KindNVLink && kind != health.KindThrottle && got[1] != want[1] {
			t.Errorf("%s: %v, want %v", kind, got, want)
		}
	}
}

func TestAStaleSampleSaysNothingOfTheCards(t *testing.T) {
	in := input(well())
	in.Fresh, in.Sample.Devices[0].Lost = false, true
	_, out := Evaluate(State{}, in, begin)
	for _, s := range out {
		if s.Device != "" {
			t.Errorf("%+v", s)
		}
	}
}

func TestACardThatLeavesIsMissedEvenOnAnUnknownType(t *testing.T) {
	whole, less := input(well()), input(well())
	whole.Expected, less.Expected = 0, 0
	whole.Sample.Count = 2
	got := steps(t, health.KindCountMismatch, whole, less, whole)
	if got[0] != "well" || got[1] != "bad" || got[2] != "well" {
		t.Errorf("%v", got)
	}
}

func TestAnIdleCardMayHaveANarrowLink(t *testing.T) {
	d := well()
	d.Utilization, d.Width, d.Gen = ptr(gpu.Percent(0)), ptr(4), ptr(1)
	if got := steps(t, health.KindPCIe, input(d), input(d), input(d)); slices.Contains(got, "bad") {
		t.Errorf("%v", got)
	}
}

func TestALinkThatWasNeverUpIsNotDown(t *testing.T) {
	d := well()
	d.Links = []nvml.Link{{ID: 3}}
	if got := steps(t, health.KindNVLink, input(d), input(d)); slices.Contains(got, "bad") {
		t.Errorf("%v", got)
	}
}

func TestOneThrottledSampleInManyIsNoThrottling(t *testing.T) {
	hot := well()
	hot.Throttle = ptr(nvml.ThrottleHWSlowdown)
	var all []Input
	for i := range 20 {
		d := well()
		if i%8 == 7 {
			d = hot
		}
		all = append(all, input(d))
	}
	if got := steps(t, health.KindThrottle, all...); slices.Contains(got, "bad") {
		t.Errorf("%v", got)
	}
}

func TestACardOffTheBusStaysSoUntilANewBoot(t *testing.T) {
	in := input(well())
	in.OffBus = []gpu.UUID{card0}
	st, _ := Evaluate(State{}, in, begin)
	kernelSays := func(in Input, at time.Duration) (bad bool) {
		var out []health.Signal
		st, out = Evaluate(st, in, begin.Add(at))
		for _, s := range out {
			bad = bad || s.Kind == health.KindGPULost && s.Witness == health.WitnessKernelLog
		}
		return bad
	}
	if !kernelSays(input(well()), 15*time.Second) {
		t.Error("forgotten in the same boot")
	}
	next := input(well())
	next.BootID = "boot-b"
	if kernelSays(next, 30*time.Second) {
		t.Error("kept over a boot")
	}
}

func TestAFatalSwitchErrorSpeaksForTenMinutes(t *testing.T) {
	in := input(well())
	in.SXids = []SXid{{20034, true, begin}}
	st, out := Evaluate(State{}, in, begin)
	is := func(out []health.Signal) string {
		for _, s := range out {
			if s.Kind == health.KindFabricManager {
				return fmt.Sprint(s.Reading)
			}
		}
		return ""
	}
	if is(out) != "0" {
		t.Errorf("at once: %q", is(out))
	}
	if _, out = Evaluate(st, input(well()), begin.Add(fabricMemory)); is(out) != "1" {
		t.Errorf("after ten minutes: %q", is(out))
	}
	if _, out = Evaluate(State{}, input(well()), begin); is(out) != "" {
		t.Error("a host without switches speaks of its fabric")
	}
}

// Folding loses no reading: the counts of the signals add up to the readings,
// less those still held, and a standing fault is never silent for long.
func TestFoldingKeepsCount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var st State
		now, told, readings := begin, int64(0), int64(0)
		var last time.Time
		d := well()
		d.Remap = &nvml.Remap{Pending: true}
		for range rapid.IntRange(1, 60).Draw(t, "samples") {
			now = now.Add(time.Duration(rapid.IntRange(1, 40).Draw(t, "s")) * time.Second)
			before := st
			var out []health.Signal
			st, out = Evaluate(st, input(d), now)
			_, again := Evaluate(before, input(d), now)
			if len(out) != len(again) {
				t.Fatal("Evaluate changed the state it was given")
			}
			readings++
			for _, s := range out {
				if s.Kind == health.KindRemapPending {
					told, last = told+s.Count, now
				}
			}
		}
		held := st.tracks[subject{health.KindRemapPending, card0, health.WitnessNVML}].held
		if told+held != readings || now.Sub(last) > badEvery+40*time.Second {
			t.Fatalf("told %d held %d of %d, silent for %s", told, held, readings, now.Sub(last))
		}
	})
}

func TestAnXid154TellsOnlyTheActionItChangedTo(t *testing.T) {
	l, _ := kmsg.ParseLine("NVRM: Xid (PCI:0000:18:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)")
	s := XidSignal(kmsg.Event{Device: card0, Line: l, At: begin, Count: 1}, "boot-a", "", "", false)
	if strings.Contains(strings.ToLower(s.Text), "none") || !strings.Contains(s.Text, "Reset") {
		t.Errorf("%q", s.Text)
	}
	if _, err := s.Normalize(begin); err != nil {
		t.Error(err)
	}
}
