//go:build linux && cgo

package nvml

import (
	"fmt"
	"slices"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
)

// card reads one device; every field goes through read, so that a missing
// symbol, a lost card and a failed call are each told once and in one way.
type card struct {
	d   *driver
	dev nvml.Device
	out *Device
}

// read makes one call unless the symbol is missing or the card is gone.
func read[T any](c card, field, symbols string, call func() (T, nvml.Return)) (T, bool) {
	var none T
	if c.out.Lost || !c.d.has(symbols) {
		return none, false
	}
	name, _, _ := strings.Cut(symbols, " ")
	c.d.step(fmt.Sprintf("%s gpu %d", name, c.out.Index))
	v, ret := call()
	switch ret {
	case nvml.SUCCESS:
		return v, true
	case nvml.ERROR_NOT_SUPPORTED, nvml.ERROR_FUNCTION_NOT_FOUND, nvml.ERROR_ARGUMENT_VERSION_MISMATCH, nvml.ERROR_DEPRECATED:
	case nvml.ERROR_GPU_IS_LOST:
		c.out.Lost = true
	case nvml.ERROR_RESET_REQUIRED:
		c.out.ResetRequired = true
	default:
		c.out.Unreadable = append(c.out.Unreadable, field)
	}
	return none, false
}

// put stores what a check let through and names what it did not.
func put[T any](c card, field string, to **T, v *T, ok bool) {
	if !ok {
		c.out.Invalid = append(c.out.Invalid, field)
		return
	}
	*to = v
}

func (d *driver) device(i int) Device {
	out := Device{Index: i}
	dev, ret := d.handle(i)
	switch ret {
	case nvml.SUCCESS:
	case nvml.ERROR_GPU_IS_LOST:
		out.Lost = true
		return out
	case nvml.ERROR_RESET_REQUIRED:
		out.ResetRequired = true
		return out
	default:
		out.Unreadable = append(out.Unreadable, "handle")
		return out
	}
	c := card{d, dev, &out}
	c.identity()
	c.memory()
	c.processes()
	c.errors()
	c.rows()
	c.clocks()
	c.links()
	c.pcie()
	c.modes()
	return out
}

func (c card) identity() {
	if u, ok := read(c, "uuid", "nvmlDeviceGetUUID", c.dev.GetUUID); ok {
		if id := gpu.UUID(clean(u)); id.Valid() {
			c.out.UUID = id
			c.d.remember(c.dev)
		} else {
			c.out.Invalid = append(c.out.Invalid, "uuid")
		}
	} else {
		c.out.UUID = c.d.recall(c.dev)
	}
	if n, ok := read(c, "name", "nvmlDeviceGetName", c.dev.GetName); ok {
		c.out.Name = clean(n)
	}
	if p, ok := read(c, "busId", "nvmlDeviceGetPciInfo_v3 nvmlDeviceGetPciInfo_v2 nvmlDeviceGetPciInfo", c.dev.GetPciInfo); ok {
		c.out.BusID = PCIAddress(fmt.Sprintf("%04x:%02x:%02x", p.Domain, p.Bus, p.Device))
	}
}

// memory prefers version 2, which tells what the driver reserves; version 1
// counts the reserve as used.
func (c card) memory() {
	if m, ok := read(c, "memory", "nvmlDeviceGetMemoryInfo_v2", c.dev.GetMemoryInfo_v2); ok {
		v, valid := memoryOf(m.Total, m.Reserved, m.Used)
		put(c, "memory", &c.out.Memory, &v, valid)
		return
	}
	if c.d.has("nvmlDeviceGetMemoryInfo_v2") && !c.out.Could("memory") {
		return
	}
	if m, ok := read(c, "memory", "nvmlDeviceGetMemoryInfo", c.dev.GetMemoryInfo); ok {
		v, valid := memoryOf(m.Total, 0, m.Used)
		put(c, "memory", &c.out.Memory, &v, valid)
	}
}

// processes joins the compute list and the MPS list by pid: a process in the
// second is an MPS client, one in the first alone goes around the server.
func (c card) processes() {
	total := gpu.MiB(0)
	if c.out.Memory != nil {
		total = c.out.Memory.Total
	}
	plain, ok := read(c, "processes", "nvmlDeviceGetComputeRunningProcesses_v3 nvmlDeviceGetComputeRunningProcesses_v2 nvmlDeviceGetComputeRunningProcesses", c.dev.GetComputeRunningProcesses)
	c.out.HasProcess = ok
	mps, okMPS := read(c, "mpsProcesses", "nvmlDeviceGetMPSComputeRunningProcesses_v3 nvmlDeviceGetMPSComputeRunningProcesses_v2 nvmlDeviceGetMPSComputeRunningProcesses", c.dev.GetMPSComputeRunningProcesses)
	c.out.HasMPS = okMPS
	byPID := map[int]Process{}
	add := func(list []nvml.ProcessInfo, isMPS bool) {
		for _, p := range list[:min(len(list), maxProcesses)] {
			m, valid := processMemory(p.UsedGpuMemory, total)
			if p.Pid == 0 || p.Pid > 1<<22 || !valid {
				if !slices.Contains(c.out.Invalid, "processes") {
					c.out.Invalid = append(c.out.Invalid, "processes")
				}
				m = nil
			}
			if p.Pid == 0 || p.Pid > 1<<22 {
				continue
			}
			old := byPID[int(p.Pid)]
			if m == nil || old.Memory != nil && *old.Memory > *m {
				m = old.Memory
			}
			byPID[int(p.Pid)] = Process{PID: int(p.Pid), Memory: m, MPS: isMPS || old.MPS}
		}
	}
	add(plain, false)
	add(mps, true)
	for _, p := range byPID {
		c.out.Processes = append(c.out.Processes, p)
	}
	slices.SortFunc(c.out.Processes, func(a, b Process) int { return a.PID - b.PID })
}

func (c card) errors() {
	total := func(kind nvml.EccCounterType) func() (uint64, nvml.Return) {
		return func() (uint64, nvml.Return) {
			return c.dev.GetTotalEccErrors(nvml.MEMORY_ERROR_TYPE_UNCORRECTED, kind)
		}
	}
	if v, ok := read(c, "volatileUncorrected", "nvmlDeviceGetTotalEccErrors", total(nvml.VOLATILE_ECC)); ok {
		n, valid := counter(v)
		put(c, "volatileUncorrected", &c.out.VolatileUncorrected, n, valid)
	}
	if v, ok := read(c, "aggregateUncorrected", "nvmlDeviceGetTotalEccErrors", total(nvml.AGGREGATE_ECC)); ok {
		n, valid := counter(v)
		put(c, "aggregateUncorrected", &c.out.AggregateUncorrected, n, valid)
	}
	if v, ok := read(c, "sramThreshold", "nvmlDeviceGetSramEccErrorStatus", c.dev.GetSramEccErrorStatus); ok {
		set := v.BThresholdExceeded != 0
		put(c, "sramThreshold", &c.out.SRAMThreshold, &set, v.BThresholdExceeded <= 1)
	}
}

func (c card) rows() {
	r, ok := read(c, "remap", "nvmlDeviceGetRemappedRows", func() (Remap, nvml.Return) {
		cor, unc, pending, failed, ret := c.dev.GetRemappedRows()
		return Remap{cor, unc, pending, failed}, ret
	})
	if ok {
		put(c, "remap", &c.out.Remap, &r, min(r.Correctable, r.Uncorrectable) >= 0 && max(r.Correctable, r.Uncorrectable) <= maxRemapCount)
	}
	pending, ok := read(c, "retired", "nvmlDeviceGetRetiredPagesPendingStatus", c.dev.GetRetiredPagesPendingStatus)
	if !ok {
		return
	}
	sum := 0
	for _, id := range []uint32{nvml.FI_DEV_RETIRED_SBE, nvml.FI_DEV_RETIRED_DBE} {
		v, ok := c.field(id, 0, "retired")
		if !ok || v > maxPages {
			return
		}
		sum += int(v)
	}
	c.out.Retired = &Retired{Pages: sum, Pending: pending == nvml.FEATURE_ENABLED}
}

// field asks for one field value; its own return code counts too.
func (c card) field(id, scope uint32, name string) (uint64, bool) {
	v, ok := read(c, name, "nvmlDeviceGetFieldValues", func() (nvml.FieldValue, nvml.Return) {
		list := []nvml.FieldValue{{FieldId: id, ScopeId: scope}}
		if ret := c.dev.GetFieldValues(list); ret != nvml.SUCCESS {
			return list[0], ret
		}
		return list[0], nvml.Return(list[0].NvmlReturn)
	})
	if !ok {
		return 0, false
	}
	n, valid := fieldValue(v.ValueType, v.Value)
	if !valid || n > maxCounter {
		c.out.Invalid = append(c.out.Invalid, name)
		return 0, false
	}
	return n, true
}

func (c card) clocks() {
	if v, ok := c.field(nvml.FI_DEV_GET_GPU_RECOVERY_ACTION, 0, "recovery"); ok {
		// An action newer than the header is still an action: it is not "none".
		n, valid := within(int(v), 0, 255)
		put(c, "recovery", &c.out.Recovery, n, valid)
	}
	if v, ok := read(c, "throttle", "nvmlDeviceGetCurrentClocksEventReasons", c.dev.GetCurrentClocksEventReasons); ok {
		c.out.Throttle = &v
	} else if v, ok := read(c, "throttle", "nvmlDeviceGetCurrentClocksThrottleReasons", c.dev.GetCurrentClocksThrottleReasons); ok {
		c.out.Throttle = &v
	}
	t, ok := read(c, "temperature", "nvmlDeviceGetTemperature", func() (uint32, nvml.Return) { return c.dev.GetTemperature(nvml.TEMPERATURE_GPU) })
	if ok {
		n, valid := within(int(t), 0, maxCelsius)
		put(c, "temperature", &c.out.Temperature, n, valid)
	}
	if m, ok := read(c, "margin", "nvmlDeviceGetMarginTemperature", c.dev.GetMarginTemperature); ok {
		n, valid := within(int(m.MarginTemperature), -maxCelsius, maxCelsius)
		put(c, "margin", &c.out.Margin, n, valid)
	}
	if u, ok := read(c, "utilization", "nvmlDeviceGetUtilizationRates", c.dev.GetUtilizationRates); ok {
		p := gpu.Percent(min(u.Gpu, 1000))
		put(c, "utilization", &c.out.Utilization, &p, p <= 100)
	}
}
