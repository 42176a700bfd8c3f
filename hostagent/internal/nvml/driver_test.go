//go:build linux && cgo

package nvml_test

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/fakenvml"
	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/nvml"
	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
)

func open(t *testing.T, lib string) nvml.Port {
	t.Helper()
	p, err := nvml.Open(lib, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func sample(t *testing.T, p nvml.Port) nvml.Sample {
	t.Helper()
	s, err := p.Sample()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAHealthyMachineOfEightCardsIsReadWhole(t *testing.T) {
	lib := fakenvml.Build(t, fakenvml.Current)
	fakenvml.Machine(t, fakenvml.Control{"procs": "100:512:1,200:300:0", "links": "2", "linkdown": "1"})
	s := sample(t, open(t, lib))
	if s.Count != 8 || len(s.Devices) != 8 || s.Driver != "580.126.09" || s.CUDA != 13000 {
		t.Fatalf("host %+v", s)
	}
	d := s.Devices[0]
	if d.UUID != gpu.UUID(fakenvml.UUID(0)) || d.BusID != "0000:3b:00" || d.Memory == nil || d.Memory.Usable != 22563 {
		t.Errorf("card 0: %+v, memory %+v", d, d.Memory)
	}
	if len(d.Unreadable)+len(d.Invalid) != 0 {
		t.Errorf("unreadable %v invalid %v", d.Unreadable, d.Invalid)
	}
	if len(d.Processes) != 2 || !d.Processes[0].MPS || *d.Processes[0].Memory != 512 || d.Processes[1].MPS || *d.Processes[1].Memory != 300 {
		t.Errorf("processes %+v", d.Processes)
	}
	if len(d.Links) != 2 || !d.Links[0].Up || d.Links[1].Up || *d.Links[0].Errors != 6 {
		t.Errorf("links %+v", d.Links)
	}
	if d.Retired != nil || d.MIG != nil || d.Margin == nil || *d.Margin != 44 || d.Recovery == nil || *d.VGPU {
		t.Errorf("retired %v mig %v margin %v recovery %v", d.Retired, d.MIG, d.Margin, d.Recovery)
	}
}

func TestAnOlderLibraryIsReadAsFarAsItGoes(t *testing.T) {
	lib := fakenvml.Build(t, fakenvml.Old)
	fakenvml.Machine(t, fakenvml.Control{"count": "1"})
	p := open(t, lib)
	d := sample(t, p).Devices[0]
	if d.UUID == "" || d.Memory == nil || d.Memory.Usable != 23034 || d.Memory.Reserved != 0 {
		t.Errorf("card %+v memory %+v", d, d.Memory)
	}
	if d.HasProcess || d.HasMPS || d.Remap != nil || d.Margin != nil || d.Recovery != nil || len(d.Unreadable) != 0 {
		t.Errorf("what the library lacks must be absent and not unreadable: %+v", d)
	}
	if _, _, err := p.WaitXid(time.Millisecond); !errors.Is(err, nvml.ErrNotSupported) {
		t.Errorf("events of a library without them: %v", err)
	}
}

func TestALibraryThatCannotServeIsAnErrorWithItsCure(t *testing.T) {
	fakenvml.Machine(t, fakenvml.Control{})
	if _, err := nvml.Open(filepath.Join(t.TempDir(), "none.so"), nil); !errors.Is(err, nvml.ErrUnavailable) {
		t.Errorf("missing library: %v", err)
	}
	if _, err := nvml.Open(fakenvml.Build(t, fakenvml.Foreign), nil); !errors.Is(err, nvml.ErrUnavailable) {
		t.Errorf("a library that is not NVML: %v", err)
	}
	if _, err := open(t, fakenvml.Build(t, fakenvml.Bare)).Sample(); !errors.Is(err, nvml.ErrNotSupported) {
		t.Errorf("a library with nothing but init: %v", err)
	}
}

func TestInitFailuresAreToldApart(t *testing.T) {
	lib := fakenvml.Build(t, fakenvml.Current)
	for code, want := range map[string]error{"9": nvml.ErrNoDriver, "18": nvml.ErrMismatch, "999": nvml.ErrDriver} {
		fakenvml.Machine(t, fakenvml.Control{"init": code})
		if _, err := nvml.Open(lib, nil); !errors.Is(err, want) {
			t.Errorf("init answered %s: %v, want %v", code, err, want)
		}
	}
}

func TestALostCardDoesNotHideTheOthers(t *testing.T) {
	lib := fakenvml.Build(t, fakenvml.Current)
	set := fakenvml.Machine(t, fakenvml.Control{"count": "3"})
	p := open(t, lib)
	sample(t, p)
	set(fakenvml.Control{"count": "3", "lost": "1", "reset": "2"})
	s := sample(t, p)
	if s.Devices[0].Lost || !s.Devices[1].Lost || !s.Devices[2].ResetRequired || s.Devices[0].Memory == nil {
		t.Errorf("%+v", s.Devices)
	}
	if s.Devices[1].UUID != gpu.UUID(fakenvml.UUID(1)) {
		t.Errorf("a lost card keeps the name it had, got %q", s.Devices[1].UUID)
	}
}

func TestImpossibleFiguresAreNamedAndNeverPublished(t *testing.T) {
	lib := fakenvml.Build(t, fakenvml.Current)
	set := fakenvml.Machine(t, fakenvml.Control{"count": "1", "garbagecard": "1", "procs": "7:9:1"})
	p := open(t, lib)
	d := sample(t, p).Devices[0]
	for _, f := range []string{"memory", "processes", "volatileUncorrected", "remap", "temperature", "utilization", "width"} {
		if !slices.Contains(d.Invalid, f) {
			t.Errorf("%s passed: %+v", f, d)
		}
	}
	if d.Memory != nil || d.VolatileUncorrected != nil || d.Remap != nil || d.Temperature != nil || d.Width != nil || d.Processes[0].Memory != nil {
		t.Errorf("an impossible figure was kept: %+v", d)
	}
	if d.Name != "bad[31mname" {
		t.Errorf("name %q", d.Name)
	}
	set(fakenvml.Control{"garbage": "1"})
	if _, err := p.Sample(); !errors.Is(err, nvml.ErrDriver) {
		t.Errorf("four thousand million cards: %v", err)
	}
}

func TestABurstOfXidsIsHeardWhole(t *testing.T) {
	lib := fakenvml.Build(t, fakenvml.Current)
	set := fakenvml.Machine(t, fakenvml.Control{"count": "4"})
	p := open(t, lib)
	if _, ok, err := p.WaitXid(10 * time.Millisecond); ok || err != nil {
		t.Fatalf("an event where none was: %v", err)
	}
	set(fakenvml.Control{"count": "4", "xid": "79:3:1:5"})
	for i := range 5 {
		x, ok, err := p.WaitXid(time.Second)
		if err != nil || !ok || x.Code != 79 || x.UUID != gpu.UUID(fakenvml.UUID(3)) {
			t.Fatalf("event %d: %+v %v %v", i, x, ok, err)
		}
	}
	if _, ok, _ := p.WaitXid(10 * time.Millisecond); ok {
		t.Error("a sixth event")
	}
}
