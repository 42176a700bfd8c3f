package checks

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/nvml"
	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
)

func driver(f *Facts) (Status, string, string) {
	switch {
	case f.Sample != nil:
		return Passed, fmt.Sprintf("driver %s, CUDA %d.%d", f.Sample.Driver, f.Sample.CUDA/1000, f.Sample.CUDA%1000/10), ""
	case f.NVMLErr == nil:
		return Unknown, "NVML was not asked", ""
	case errors.Is(f.NVMLErr, nvml.ErrUnavailable):
		return Failed, f.NVMLErr.Error(), "use the ECS-optimized GPU AMI, or install the NVIDIA driver with its library libnvidia-ml.so.1"
	case errors.Is(f.NVMLErr, nvml.ErrNoDriver):
		return Failed, f.NVMLErr.Error(), "load the kernel module (systemctl status nvidia-kmod-load.service) and look for NVRM lines in the kernel log"
	case errors.Is(f.NVMLErr, nvml.ErrMismatch):
		return Failed, f.NVMLErr.Error(), "reboot once: the driver was upgraded under a loaded module"
	}
	return Failed, f.NVMLErr.Error(), "look for Xid lines in the kernel log; replace the instance if NVML goes on failing"
}

func driverMatch(f *Facts) (Status, string, string) {
	if f.Sample == nil || f.Sample.Driver == "" || f.KernelModule == "" {
		return Unknown, "the two releases are not both known", ""
	}
	if f.KernelModule != f.Sample.Driver {
		return Failed, fmt.Sprintf("kernel module %s, library for %s", f.KernelModule, f.Sample.Driver), "reboot once; if they still differ, repair the AMI"
	}
	return Passed, "kernel module and library are both " + f.KernelModule, ""
}

func count(f *Facts) (Status, string, string) {
	switch {
	case f.Sample == nil:
		return Unknown, "the cards were not counted", ""
	case f.Sample.Count == 0:
		return Failed, "NVML counts no card", "check that this is a GPU instance type; if it is, replace the instance"
	case f.Expected == 0:
		return Unknown, fmt.Sprintf("%d cards; what the instance type has is not known", f.Sample.Count), ""
	case f.Sample.Count < f.Expected:
		return Failed, fmt.Sprintf("%d of %d cards", f.Sample.Count, f.Expected), "replace the instance: a card does not come back by itself"
	}
	return Passed, fmt.Sprintf("%d of %d cards", f.Sample.Count, f.Expected), ""
}

// cards lists the indexes of the cards for which bad holds, as text.
func cards(s *nvml.Sample, bad func(*nvml.Device) bool) string {
	var out []string
	for i := range s.Devices {
		if bad(&s.Devices[i]) {
			out = append(out, fmt.Sprint(s.Devices[i].Index))
		}
	}
	return strings.Join(out, ", ")
}

func lost(f *Facts) (Status, string, string) {
	if f.Sample == nil {
		return Unknown, "no sample", ""
	}
	if l := cards(f.Sample, func(d *nvml.Device) bool { return d.Lost || !d.Could("handle") }); l != "" {
		return Failed, "lost: card " + l, "drain and replace the instance"
	}
	reset := func(d *nvml.Device) bool {
		return d.ResetRequired || d.Recovery != nil && *d.Recovery != nvml.RecoveryNone
	}
	if l := cards(f.Sample, reset); l != "" {
		return Failed, "recovery is asked for by card " + l, "drain the host, then reboot or replace it"
	}
	return Passed, "every card answers", ""
}

func vgpu(f *Facts) (Status, string, string) {
	if f.Sample == nil {
		return Unknown, "no sample", ""
	}
	if l := cards(f.Sample, func(d *nvml.Device) bool { return d.VGPU != nil && *d.VGPU }); l != "" {
		return Failed, "vGPU slice: card " + l, "use an instance type with whole cards: MPS does not share a vGPU slice"
	}
	return Passed, "whole cards", ""
}

func memory(f *Facts) (Status, string, string) {
	if f.Sample == nil {
		return Unknown, "no sample", ""
	}
	if l := cards(f.Sample, func(d *nvml.Device) bool { return d.Memory == nil || d.Memory.Usable <= 0 }); l != "" {
		return Failed, "no usable memory figure from card " + l, "ECS does not offer sharing unless every card tells its memory; replace the instance"
	}
	return Passed, "every card tells its memory", ""
}

func persistence(f *Facts) (Status, string, string) {
	if f.Sample == nil {
		return Unknown, "no sample", ""
	}
	if l := cards(f.Sample, func(d *nvml.Device) bool { return d.Persistence != nil && !*d.Persistence }); l != "" {
		return Warned, "off on card " + l, "enable nvidia-persistenced: MPS starts slowly without it"
	}
	return Passed, "on, or not applicable", ""
}

func computeMode(f *Facts) (Status, string, string) {
	if f.Sample == nil {
		return Unknown, "no sample", ""
	}
	if l := cards(f.Sample, func(d *nvml.Device) bool { return d.ComputeMode != nil && *d.ComputeMode == 2 }); l != "" {
		return Failed, "prohibited on card " + l, "set compute mode DEFAULT: nothing can run on the card"
	}
	if l := cards(f.Sample, func(d *nvml.Device) bool { return d.ComputeMode != nil && *d.ComputeMode != 0 }); l != "" {
		return Warned, "exclusive on card " + l, "the AMI leaves DEFAULT; in exclusive mode only MPS clients run, and whole-GPU tasks fail beside the server"
	}
	return Passed, "DEFAULT", ""
}

func mig(f *Facts) (Status, string, string) {
	if f.Sample == nil {
		return Unknown, "no sample", ""
	}
	if l := cards(f.Sample, func(d *nvml.Device) bool { return d.MIG != nil && *d.MIG }); l != "" {
		return Failed, "MIG is on, card " + l, "turn MIG off: ECS shares whole cards"
	}
	return Passed, "off, or not applicable", ""
}

// gpuInfo compares what ECS registered at boot with what is there now.
func gpuInfo(f *Facts) (Status, string, string) {
	const again = "restart the ecs service when no task would be hurt, or replace the instance: ECS reads its cards at boot only"
	switch {
	case f.GPUInfoErr != nil:
		return Failed, f.GPUInfoErr.Error(), "without it ECS registers no GPU: check ECS_ENABLE_GPU_SUPPORT and the log of ecs-init"
	case f.GPUInfo == nil || f.Sample == nil:
		return Unknown, "not both known", ""
	}
	seen := map[gpu.UUID]*nvml.Device{}
	for i := range f.Sample.Devices {
		seen[f.Sample.Devices[i].UUID] = &f.Sample.Devices[i]
	}
	var wrong []string
	for _, id := range f.GPUInfo.GPUIDs {
		d, ok := seen[id]
		m, told := f.GPUInfo.GPUMemoryMiB[id]
		switch {
		case !ok:
			wrong = append(wrong, id.Short()+" is registered and not there")
		case told && d.Memory != nil && m != d.Memory.Usable:
			wrong = append(wrong, fmt.Sprintf("%s is registered with %s and has %s", id.Short(), m, d.Memory.Usable))
		}
	}
	for id := range seen {
		if id != "" && !slices.Contains(f.GPUInfo.GPUIDs, id) {
			wrong = append(wrong, id.Short()+" is there and not registered")
		}
	}
	if len(wrong) > 0 {
		slices.Sort(wrong)
		return Failed, strings.Join(wrong, "; "), again
	}
	return Passed, fmt.Sprintf("%d cards as registered", len(f.GPUInfo.GPUIDs)), ""
}
