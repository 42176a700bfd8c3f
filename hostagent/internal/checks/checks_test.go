package checks

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/nvml"
	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
)

const id = gpu.UUID("GPU-00000000-0000-4000-8000-000000000000")

func ptr[T any](v T) *T { return &v }

func fit() Facts {
	return Facts{
		Sample: &nvml.Sample{Driver: "580.1", CUDA: 13000, Count: 1, Devices: []nvml.Device{{UUID: id, Memory: &nvml.Memory{Total: 23034, Usable: 22563},
			Persistence: ptr(true), ComputeMode: ptr(0), VGPU: ptr(false), MIG: ptr(false), Recovery: ptr(0)}}},
		KernelModule: "580.1", Expected: 1, ControlBinary: ptr(true), UnitEnabled: "enabled", UnitActive: "active",
		Pipe: &Pipe{Path: "/run/mps-ecs", Exists: true, IsDir: true, Mode: 0o755, Control: ptr(fs.FileMode(0o666))}, LegacyPipe: ptr(false),
		ShmFreeMiB: ptr(int64(1000)), Descriptors: ptr(int64(65536)), AgentVersion: "1.107.0", AMI: "al2023-ami-ecs-gpu-hvm-2023.0.20261019-kernel-6.1-x86_64-ebs",
		GPUInfo: &GPUInfo{GPUIDs: []gpu.UUID{id}, GPUMemoryMiB: map[gpu.UUID]gpu.MiB{id: 22563}, MpsControlBinaryPresent: ptr(true), MpsServiceEnabled: ptr(true), HasVGPU: ptr(false)},
	}
}

func TestAFitHostPassesEveryCheck(t *testing.T) {
	results := All(fit())
	for _, r := range results {
		if r.Status != Passed || r.Fix != "" || r.Found == "" {
			t.Errorf("%+v", r)
		}
	}
	if !Ready(results) {
		t.Error("not ready")
	}
}

func TestEachFaultFailsItsOwnCheckAndSaysTheFix(t *testing.T) {
	dev := func(f *Facts) *nvml.Device { return &f.Sample.Devices[0] }
	for _, c := range []struct {
		check string
		want  Status
		fault func(*Facts)
	}{
		{"driver", Failed, func(f *Facts) { f.Sample, f.NVMLErr = nil, fmt.Errorf("x: %w", nvml.ErrUnavailable) }},
		{"driver", Failed, func(f *Facts) { f.Sample, f.NVMLErr = nil, fmt.Errorf("x: %w", nvml.ErrNoDriver) }},
		{"driver", Failed, func(f *Facts) { f.Sample, f.NVMLErr = nil, errors.New("hung") }},
		{"driver-match", Failed, func(f *Facts) { f.KernelModule = "570" }},
		{"gpu-count", Failed, func(f *Facts) { f.Expected = 4 }},
		{"gpu-count", Failed, func(f *Facts) { f.Sample.Count, f.Expected = 0, 0 }},
		{"gpu-lost", Failed, func(f *Facts) { dev(f).Lost = true }},
		{"gpu-lost", Failed, func(f *Facts) { dev(f).Recovery = ptr(2) }},
		{"vgpu", Failed, func(f *Facts) { dev(f).VGPU = ptr(true) }},
		{"gpu-memory", Failed, func(f *Facts) { dev(f).Memory = nil }},
		{"persistence", Warned, func(f *Facts) { dev(f).Persistence = ptr(false) }},
		{"compute-mode", Warned, func(f *Facts) { dev(f).ComputeMode = ptr(3) }},
		{"compute-mode", Failed, func(f *Facts) { dev(f).ComputeMode = ptr(2) }},
		{"mig", Failed, func(f *Facts) { dev(f).MIG = ptr(true) }},
		{"ecs-agent-version", Failed, func(f *Facts) { f.AgentVersion = "1.106.1" }},
		{"ami-version", Failed, func(f *Facts) { f.AMI = "20260820" }},
		{"mps-binary", Failed, func(f *Facts) { f.ControlBinary = ptr(false) }},
		{"mps-unit", Failed, func(f *Facts) { f.UnitEnabled = "disabled" }},
		{"mps-unit", Failed, func(f *Facts) { f.UnitActive = "failed" }},
		{"mps-pipe", Failed, func(f *Facts) { f.Pipe.Exists = false }},
		{"mps-pipe", Failed, func(f *Facts) { f.Pipe.Mode = 0o750 }},
		{"mps-pipe", Failed, func(f *Facts) { f.Pipe.Control = nil }},
		{"mps-pipe", Failed, func(f *Facts) { f.Pipe.Control = ptr(fs.FileMode(0o600)) }},
		{"mps-pipe-legacy", Warned, func(f *Facts) { f.LegacyPipe = ptr(true) }},
		{"shm", Warned, func(f *Facts) { f.ShmFreeMiB = ptr(int64(1)) }},
		{"descriptors", Warned, func(f *Facts) { f.Descriptors = ptr(int64(1024)) }},
		{"ecs-gpu-info", Failed, func(f *Facts) { f.GPUInfo.GPUMemoryMiB[id] = 23034 }},
		{"ecs-gpu-info", Failed, func(f *Facts) { f.GPUInfo.GPUIDs = []gpu.UUID{"GPU-ff"} }},
		{"ecs-gpu-info", Failed, func(f *Facts) { f.GPUInfoErr = errors.New("no such file") }},
		{"capability", Failed, func(f *Facts) { f.GPUInfo.MpsServiceEnabled = ptr(false) }},
		{"capability", Failed, func(f *Facts) { f.GPUInfo.MpsControlBinaryPresent = nil }},
		{"capability", Failed, func(f *Facts) { delete(f.GPUInfo.GPUMemoryMiB, id) }},
	} {
		f := fit()
		c.fault(&f)
		results := All(f)
		for _, r := range results {
			if r.Check == c.check && (r.Status != c.want || r.Fix == "" || r.Found == "") {
				t.Errorf("%s: %+v, want %s", c.check, r, c.want)
			}
		}
		if Ready(results) != (c.want == Warned) {
			t.Errorf("%s %s: ready %v", c.check, c.want, Ready(results))
		}
	}
}

func TestWhatIsNotKnownIsUnknownAndNotReady(t *testing.T) {
	results := All(Facts{})
	for _, r := range results {
		if r.Status != Unknown {
			t.Errorf("%+v", r)
		}
	}
	if Ready(results) {
		t.Error("a host of which nothing is known is ready")
	}
}

func TestVersionsAreComparedByNumber(t *testing.T) {
	for _, c := range []struct {
		a, b      string
		older, ok bool
	}{{"1.99.0", "1.107.0", true, true}, {"v1.107.1", "1.107.0", false, true}, {"1.107", "1.107.0", false, true}, {"1.107.0-rc1", "1.107.0", false, true}, {"x", "1", false, false}, {"", "1", false, false}} {
		if older, ok := Older(c.a, c.b); older != c.older || ok != c.ok {
			t.Errorf("%s before %s: %v %v", c.a, c.b, older, ok)
		}
	}
}

func FuzzGPUInfoIsReadOrRefused(f *testing.F) {
	f.Add([]byte(`{"DriverVersion":"580","GPUIDs":["GPU-0a"],"GPUMemoryMiB":{"GPU-0a":22563},"MpsControlBinaryPresent":true,"MpsServiceEnabled":true,"HasVGPU":false}`))
	f.Add([]byte(`{"GPUIDs":["$(x)"]}`))
	f.Add([]byte(`{"GPUMemoryMiB":{"GPU-0a":-1}}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, b []byte) {
		g, err := ParseGPUInfo(b)
		if err != nil && !errors.Is(err, ErrGPUInfo) {
			t.Fatal(err)
		}
		for _, id := range g.GPUIDs {
			if !id.Valid() {
				t.Fatalf("%q passed", id)
			}
		}
		_ = All(Facts{GPUInfo: &g, Sample: &nvml.Sample{}})
	})
}
