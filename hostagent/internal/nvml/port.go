package nvml

import (
	"errors"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
)

// Errors of Open and of the calls, told apart because each has another cure.
var (
	// ErrUnavailable: no library, or a build without cgo. Install the driver.
	ErrUnavailable = errors.New("NVML is not available")
	// ErrNoDriver: the library is there and the kernel module is not loaded.
	ErrNoDriver = errors.New("NVIDIA kernel driver is not loaded")
	// ErrMismatch: library and kernel module are of different releases.
	ErrMismatch = errors.New("NVML library and kernel driver differ")
	// ErrNotSupported: this library or these cards lack the function.
	ErrNotSupported = errors.New("not supported by this driver")
	// ErrDriver: any other answer of the driver.
	ErrDriver = errors.New("NVML call failed")
)

// Port is what the agent asks of a driver. Calls are not bounded in time.
type Port interface {
	// Sample reads every card once.
	Sample() (Sample, error)
	// WaitXid waits for one Xid; ok is false when none came in time.
	// ErrNotSupported when the driver has no events.
	WaitXid(timeout time.Duration) (x Xid, ok bool, err error)
	Close() error
}

// Sample is one reading of the host's cards.
type Sample struct {
	Driver  string   `json:"driver,omitempty"`  // kernel driver release, "580.126.09"
	Library string   `json:"library,omitempty"` // NVML release
	CUDA    int      `json:"cuda,omitempty"`    // 13000 is 13.0
	Count   int      `json:"count"`             // cards the driver counts; Devices has one entry for each
	Devices []Device `json:"devices"`
}

// Device is what one card said.
type Device struct {
	Index         int      `json:"index"`
	UUID          gpu.UUID `json:"uuid,omitempty"`
	Name          string   `json:"name,omitempty"`
	BusID         string   `json:"busId,omitempty"` // as PCIAddress writes it: "0000:3b:00"
	Lost          bool     `json:"lost,omitempty"`  // a call answered that the GPU is lost
	ResetRequired bool     `json:"resetRequired,omitempty"`

	Memory      *Memory      `json:"memory,omitempty"`
	Processes   []Process    `json:"processes,omitempty"`
	HasProcess  bool         `json:"hasProcesses,omitempty"` // the compute list was read, even if empty
	HasMPS      bool         `json:"hasMps,omitempty"`       // the MPS list was read, so Process.MPS means something
	Utilization *gpu.Percent `json:"utilization,omitempty"`

	VolatileUncorrected  *uint64  `json:"volatileUncorrected,omitempty"`
	AggregateUncorrected *uint64  `json:"aggregateUncorrected,omitempty"`
	SRAMThreshold        *bool    `json:"sramThreshold,omitempty"`
	Remap                *Remap   `json:"remap,omitempty"`
	Retired              *Retired `json:"retired,omitempty"`
	Recovery             *int     `json:"recovery,omitempty"` // RecoveryNone …

	Throttle    *uint64 `json:"throttle,omitempty"`    // bits Throttle…
	Temperature *int    `json:"temperature,omitempty"` // °C
	Margin      *int    `json:"margin,omitempty"`      // °C below slowdown; zero or less is beyond it

	Links    []Link  `json:"links,omitempty"`
	Replays  *uint64 `json:"replays,omitempty"` // PCIe replay counter
	Width    *int    `json:"width,omitempty"`
	MaxWidth *int    `json:"maxWidth,omitempty"`
	Gen      *int    `json:"gen,omitempty"`
	MaxGen   *int    `json:"maxGen,omitempty"`

	Persistence *bool `json:"persistence,omitempty"`
	ComputeMode *int  `json:"computeMode,omitempty"` // 0 default, 2 prohibited, 3 exclusive process
	VGPU        *bool `json:"vgpu,omitempty"`        // the instance holds a vGPU slice
	MIG         *bool `json:"mig,omitempty"`

	Unreadable []string `json:"unreadable,omitempty"` // fields whose call failed
	Invalid    []string `json:"invalid,omitempty"`    // fields whose value cannot be true
}

// Memory of a card. Usable is what ECS registers: total less reserved.
type Memory struct {
	Total    gpu.MiB `json:"total"`
	Reserved gpu.MiB `json:"reserved"`
	Used     gpu.MiB `json:"used"` // without reserved
	Usable   gpu.MiB `json:"usable"`
}

// Process is one compute process on a card.
type Process struct {
	PID    int      `json:"pid"`
	Memory *gpu.MiB `json:"memory,omitempty"`
	MPS    bool     `json:"mps,omitempty"` // it is in the MPS list: a client, not a bypass
}

// Remap is the state of row remapping (Ampere and newer).
type Remap struct {
	Correctable   int  `json:"correctable"`
	Uncorrectable int  `json:"uncorrectable"`
	Pending       bool `json:"pending,omitempty"`
	Failure       bool `json:"failure,omitempty"`
}

// Retired is the state of page retirement (before Ampere).
type Retired struct {
	Pages   int  `json:"pages"`
	Pending bool `json:"pending,omitempty"`
}

// Link is one NVLink; Errors is the sum of its replay, recovery and CRC counters.
type Link struct {
	ID     int     `json:"id"`
	Up     bool    `json:"up"`
	Errors *uint64 `json:"errors,omitempty"`
}

// Xid is one Xid event told by the driver. It carries no process id.
type Xid struct {
	UUID gpu.UUID `json:"uuid"`
	Code int      `json:"code"`
}

// Recovery actions of nvml.h (nvmlDeviceGpuRecoveryAction_t).
const (
	RecoveryNone          = 0
	RecoveryReset         = 1
	RecoveryReboot        = 2
	RecoveryDrainP2P      = 3
	RecoveryDrainAndReset = 4
	RecoveryIMEX          = 5
	RecoveryBusReset      = 6
	RecoverySystemReboot  = 7
)

// Throttle bits of nvml.h that say a card is held down by trouble; idle, power
// cap and application clocks are ordinary life.
const (
	ThrottleHWSlowdown uint64 = 0x8
	ThrottleSWThermal  uint64 = 0x20
	ThrottleHWThermal  uint64 = 0x40
	ThrottlePowerBrake uint64 = 0x80
)

// Could reports whether field failed to be read, as opposed to not existing.
func (d *Device) Could(field string) bool {
	for _, f := range d.Unreadable {
		if f == field {
			return false
		}
	}
	return true
}
