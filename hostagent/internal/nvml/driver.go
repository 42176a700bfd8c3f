//go:build linux && cgo

package nvml

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/dl"
	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
)

// DefaultLibrary is loaded when no path is given.
const DefaultLibrary = "libnvidia-ml.so.1"

// driver is Port over a loaded library.
type driver struct {
	lib     nvml.Interface
	step    func(string) // told the name of each call before it is made
	known   map[string]bool
	events  nvml.EventSet
	listens bool

	mu    sync.Mutex               // Sample and WaitXid run at the same time
	uuids map[nvml.Device]gpu.UUID // a lost card cannot say its name any more
}

// Open loads the library at path (DefaultLibrary when empty), starts it, and
// registers for Xid events. step, if not nil, is told the name of each call of
// the library before it is made, so that a hang can be named.
func Open(path string, step func(string)) (Port, error) {
	if path == "" {
		path = DefaultLibrary
	}
	if step == nil {
		step = func(string) {}
	}
	d := &driver{step: step, known: map[string]bool{}, uuids: map[nvml.Device]gpu.UUID{}}
	step("load " + path)
	if err := startable(path); err != nil {
		return nil, err
	}
	d.lib = nvml.New(nvml.WithLibraryPath(path))
	step("nvmlInit")
	if ret := d.lib.Init(); ret != nvml.SUCCESS {
		return nil, failure("nvmlInit", ret)
	}
	if err := d.listen(); err != nil {
		d.listens = false
	}
	return d, nil
}

// startable asks for the symbols without which Init would end the process.
func startable(path string) error {
	lib := dl.New(path, dl.RTLD_LAZY|dl.RTLD_GLOBAL)
	if err := lib.Open(); err != nil {
		return fmt.Errorf("%w: %s cannot be loaded: %s", ErrUnavailable, path, clean(err.Error()))
	}
	defer lib.Close()
	if lib.Lookup("nvmlInit_v2") != nil && lib.Lookup("nvmlInit") != nil {
		return fmt.Errorf("%w: %s has no nvmlInit, it is no NVML library", ErrUnavailable, path)
	}
	return nil
}

// has reports whether any of the names (one call and its versions) exists.
func (d *driver) has(names string) bool {
	got, seen := d.known[names]
	if !seen {
		for _, n := range strings.Fields(names) {
			got = got || d.lib.Extensions().LookupSymbol(n) == nil
		}
		d.known[names] = got
	}
	return got
}

func (d *driver) listen() error {
	for _, s := range []string{"nvmlEventSetCreate", "nvmlEventSetWait nvmlEventSetWait_v2", "nvmlEventSetFree", "nvmlDeviceRegisterEvents"} {
		if !d.has(s) {
			return fmt.Errorf("%w: %s", ErrNotSupported, s)
		}
	}
	d.step("nvmlEventSetCreate")
	set, ret := d.lib.EventSetCreate()
	if ret != nvml.SUCCESS {
		return failure("nvmlEventSetCreate", ret)
	}
	d.events = set
	n, err := d.count()
	if err != nil {
		return err
	}
	for i := range n {
		dev, ret := d.handle(i)
		if ret != nvml.SUCCESS {
			continue
		}
		d.step(fmt.Sprintf("nvmlDeviceRegisterEvents gpu %d", i))
		if dev.RegisterEvents(nvml.EventTypeXidCriticalError, set) == nvml.SUCCESS {
			d.listens = true
			d.remember(dev)
		}
	}
	return nil
}

func (d *driver) remember(dev nvml.Device) gpu.UUID {
	if u := d.recall(dev); u != "" {
		return u
	}
	if !d.has("nvmlDeviceGetUUID") {
		return ""
	}
	d.step("nvmlDeviceGetUUID")
	s, ret := dev.GetUUID()
	u := gpu.UUID(clean(s))
	d.mu.Lock()
	defer d.mu.Unlock()
	if ret != nvml.SUCCESS || !u.Valid() || len(d.uuids) >= 4*MaxDevices {
		return ""
	}
	d.uuids[dev] = u
	return u
}

func (d *driver) recall(dev nvml.Device) gpu.UUID {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.uuids[dev]
}

func (d *driver) count() (int, error) {
	if !d.has("nvmlDeviceGetCount_v2 nvmlDeviceGetCount") {
		return 0, fmt.Errorf("%w: nvmlDeviceGetCount", ErrNotSupported)
	}
	d.step("nvmlDeviceGetCount")
	n, ret := d.lib.DeviceGetCount()
	if ret != nvml.SUCCESS {
		return 0, failure("nvmlDeviceGetCount", ret)
	}
	if n < 0 || n > MaxDevices {
		return 0, fmt.Errorf("%w: nvmlDeviceGetCount answered %d devices", ErrDriver, n)
	}
	return n, nil
}

func (d *driver) handle(i int) (nvml.Device, nvml.Return) {
	if !d.has("nvmlDeviceGetHandleByIndex_v2 nvmlDeviceGetHandleByIndex") {
		return nil, nvml.ERROR_NOT_SUPPORTED
	}
	d.step(fmt.Sprintf("nvmlDeviceGetHandleByIndex gpu %d", i))
	return d.lib.DeviceGetHandleByIndex(i)
}

// Sample implements Port.
func (d *driver) Sample() (Sample, error) {
	n, err := d.count()
	if err != nil {
		return Sample{}, err
	}
	s := Sample{Count: n, Devices: make([]Device, n)}
	if d.has("nvmlSystemGetDriverVersion") {
		d.step("nvmlSystemGetDriverVersion")
		if v, ret := d.lib.SystemGetDriverVersion(); ret == nvml.SUCCESS {
			s.Driver = clean(v)
		}
	}
	if d.has("nvmlSystemGetNVMLVersion") {
		d.step("nvmlSystemGetNVMLVersion")
		if v, ret := d.lib.SystemGetNVMLVersion(); ret == nvml.SUCCESS {
			s.Library = clean(v)
		}
	}
	if d.has("nvmlSystemGetCudaDriverVersion_v2") {
		d.step("nvmlSystemGetCudaDriverVersion_v2")
		if v, ret := d.lib.SystemGetCudaDriverVersion_v2(); ret == nvml.SUCCESS && v >= 0 && v < 1_000_000 {
			s.CUDA = v
		}
	}
	for i := range n {
		s.Devices[i] = d.device(i)
	}
	return s, nil
}

// WaitXid implements Port.
func (d *driver) WaitXid(timeout time.Duration) (Xid, bool, error) {
	if !d.listens {
		return Xid{}, false, fmt.Errorf("%w: Xid events", ErrNotSupported)
	}
	e, ret := d.events.Wait(uint32(max(timeout.Milliseconds(), 1)))
	switch {
	case ret == nvml.ERROR_TIMEOUT:
		return Xid{}, false, nil
	case ret != nvml.SUCCESS:
		return Xid{}, false, failure("nvmlEventSetWait", ret)
	case e.EventType != nvml.EventTypeXidCriticalError || e.EventData == 0 || e.EventData > 10_000:
		return Xid{}, false, nil
	}
	return Xid{UUID: d.recall(e.Device), Code: int(e.EventData)}, true, nil
}

// Close implements Port.
func (d *driver) Close() error {
	if d.listens {
		d.step("nvmlEventSetFree")
		_ = d.events.Free()
	}
	if !d.has("nvmlShutdown") {
		return nil
	}
	d.step("nvmlShutdown")
	if ret := d.lib.Shutdown(); ret != nvml.SUCCESS {
		return failure("nvmlShutdown", ret)
	}
	return nil
}

// failure names a return code without asking the library for its text, which an
// older one may lack.
func failure(call string, ret nvml.Return) error {
	switch ret {
	case nvml.ERROR_LIBRARY_NOT_FOUND:
		return fmt.Errorf("%w: %s: library not found", ErrUnavailable, call)
	case nvml.ERROR_DRIVER_NOT_LOADED:
		return fmt.Errorf("%w: %s", ErrNoDriver, call)
	case nvml.ERROR_LIB_RM_VERSION_MISMATCH:
		return fmt.Errorf("%w: %s", ErrMismatch, call)
	case nvml.ERROR_NOT_SUPPORTED, nvml.ERROR_FUNCTION_NOT_FOUND:
		return fmt.Errorf("%w: %s", ErrNotSupported, call)
	}
	return fmt.Errorf("%w: %s answered %d", ErrDriver, call, int(ret))
}
