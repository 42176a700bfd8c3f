package checks

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/nvml"
	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
)

// Facts are what was read of one host. A nil pointer or empty text: not known.
type Facts struct {
	Sample       *nvml.Sample
	NVMLErr      error  // why there is no sample
	KernelModule string // release of the loaded module

	Expected int // cards of the instance type, 0 unknown

	ControlBinary *bool  // nvidia-cuda-mps-control is there
	UnitEnabled   string // as "systemctl is-enabled" says
	UnitActive    string // as "systemctl is-active" says
	Pipe          *Pipe  // the pipe directory in use
	LegacyPipe    *bool  // /tmp/nvidia-mps exists beside /run/mps-ecs

	ShmFreeMiB  *int64 // of /dev/shm
	Descriptors *int64 // soft limit of the MPS control daemon

	AgentVersion string   // of the ECS agent, "1.107.0"
	AMI          string   // name or release of the AMI
	GPUInfo      *GPUInfo // of the ECS agent's start
	GPUInfoErr   error
}

// Pipe is an MPS pipe directory.
type Pipe struct {
	Path    string
	Exists  bool
	IsDir   bool
	Mode    fs.FileMode // of the directory
	Control *fs.FileMode
}

// GPUInfo is /var/lib/ecs/gpu/nvidia-gpu-info.json, written by ecs-init at boot:
// what the ECS agent registered, and never refreshes.
type GPUInfo struct {
	DriverVersion           string
	GPUIDs                  []gpu.UUID
	GPUMemoryMiB            map[gpu.UUID]gpu.MiB
	MpsControlBinaryPresent *bool
	MpsServiceEnabled       *bool
	HasVGPU                 *bool
}

// MaxGPUInfo bounds the file.
const MaxGPUInfo = 1 << 20

// ErrGPUInfo is what every refusal of the file wraps.
var ErrGPUInfo = errors.New("nvidia-gpu-info.json is not usable")

// ParseGPUInfo reads the file and refuses ids and figures that cannot be.
func ParseGPUInfo(b []byte) (GPUInfo, error) {
	var g GPUInfo
	if len(b) > MaxGPUInfo {
		return g, fmt.Errorf("%w: it has %d bytes, at most %d are read", ErrGPUInfo, len(b), MaxGPUInfo)
	}
	if err := json.Unmarshal(b, &g); err != nil {
		return GPUInfo{}, fmt.Errorf("%w: %w", ErrGPUInfo, err)
	}
	if len(g.GPUIDs) > nvml.MaxDevices || len(g.GPUMemoryMiB) > nvml.MaxDevices {
		return GPUInfo{}, fmt.Errorf("%w: more than %d cards", ErrGPUInfo, nvml.MaxDevices)
	}
	for _, id := range g.GPUIDs {
		if !id.Valid() {
			return GPUInfo{}, fmt.Errorf("%w: %.64q is no GPU id", ErrGPUInfo, string(id))
		}
	}
	for id, m := range g.GPUMemoryMiB {
		if !id.Valid() || m < 0 || m > 4<<20 {
			return GPUInfo{}, fmt.Errorf("%w: %.64q has %d MiB", ErrGPUInfo, string(id), int64(m))
		}
	}
	return g, nil
}
