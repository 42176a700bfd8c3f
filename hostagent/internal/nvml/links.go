//go:build linux && cgo

package nvml

import "github.com/NVIDIA/go-nvml/pkg/nvml"

// links reads each NVLink until the driver says there is no further one.
func (c card) links() {
	n, ok := c.field(nvml.FI_DEV_NVLINK_LINK_COUNT, 0, "links")
	if !ok || n == 0 {
		return
	}
	for id := range int(min(n, maxLinks)) {
		state, ok := read(c, "links", "nvmlDeviceGetNvLinkState", func() (nvml.EnableState, nvml.Return) { return c.dev.GetNvLinkState(id) })
		if !ok {
			continue
		}
		l := Link{ID: id, Up: state == nvml.FEATURE_ENABLED}
		if sum, ok := c.linkErrors(id); ok {
			l.Errors = &sum
		}
		c.out.Links = append(c.out.Links, l)
	}
}

func (c card) linkErrors(id int) (sum uint64, any bool) {
	for _, kind := range []nvml.NvLinkErrorCounter{nvml.NVLINK_ERROR_DL_REPLAY, nvml.NVLINK_ERROR_DL_RECOVERY, nvml.NVLINK_ERROR_DL_CRC_FLIT} {
		v, ok := read(c, "linkErrors", "nvmlDeviceGetNvLinkErrorCounter", func() (uint64, nvml.Return) { return c.dev.GetNvLinkErrorCounter(id, kind) })
		if !ok {
			continue
		}
		if _, valid := counter(v); valid {
			sum, any = sum+v, true
		}
	}
	return sum, any
}

func (c card) pcie() {
	if v, ok := read(c, "replays", "nvmlDeviceGetPcieReplayCounter", c.dev.GetPcieReplayCounter); ok {
		n, valid := counter(uint64(int64(v)))
		put(c, "replays", &c.out.Replays, n, valid)
	}
	for _, r := range []struct {
		field, symbol string
		call          func() (int, nvml.Return)
		to            **int
		most          int
	}{
		{"width", "nvmlDeviceGetCurrPcieLinkWidth", c.dev.GetCurrPcieLinkWidth, &c.out.Width, maxPCIeLanes},
		{"maxWidth", "nvmlDeviceGetMaxPcieLinkWidth", c.dev.GetMaxPcieLinkWidth, &c.out.MaxWidth, maxPCIeLanes},
		{"gen", "nvmlDeviceGetCurrPcieLinkGeneration", c.dev.GetCurrPcieLinkGeneration, &c.out.Gen, maxPCIeGen},
		{"maxGen", "nvmlDeviceGetMaxPcieLinkGeneration", c.dev.GetMaxPcieLinkGeneration, &c.out.MaxGen, maxPCIeGen},
	} {
		if v, ok := read(c, r.field, r.symbol, r.call); ok {
			n, valid := within(v, 0, r.most)
			put(c, r.field, r.to, n, valid)
		}
	}
}

func (c card) modes() {
	if v, ok := read(c, "persistence", "nvmlDeviceGetPersistenceMode", c.dev.GetPersistenceMode); ok {
		on := v == nvml.FEATURE_ENABLED
		c.out.Persistence = &on
	}
	if v, ok := read(c, "computeMode", "nvmlDeviceGetComputeMode", c.dev.GetComputeMode); ok {
		n, valid := within(int(v), 0, 3)
		put(c, "computeMode", &c.out.ComputeMode, n, valid)
	}
	if v, ok := read(c, "vgpu", "nvmlDeviceGetVirtualizationMode", c.dev.GetVirtualizationMode); ok {
		is := v == nvml.GPU_VIRTUALIZATION_MODE_VGPU
		c.out.VGPU = &is
	}
	on, ok := read(c, "mig", "nvmlDeviceGetMigMode", func() (int, nvml.Return) {
		now, _, ret := c.dev.GetMigMode()
		return now, ret
	})
	if ok {
		is := on == nvml.DEVICE_MIG_ENABLE
		c.out.MIG = &is
	}
}
