package signals

import (
	"time"

	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/nvml"
	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
)

// NVML says how the library answers.
type NVML uint8

// Unknown says nothing (start-up), the rest speak for themselves.
const (
	NVMLUnknown NVML = iota
	NVMLAnswers
	NVMLSilent   // hangs, dies or fails
	NVMLMismatch // library and kernel module differ
)

// Input is what was learned since the last Evaluate.
type Input struct {
	BootID string

	Fresh  bool // Sample was read since the last Evaluate
	Sample nvml.Sample

	NVML     NVML
	NVMLText string // why, when it does not answer

	Expected     int    // cards the instance type has; 0 unknown
	KernelModule string // release of the loaded module, "" unknown

	DStateRead bool // the process table was read
	DState     []Stuck

	OffBus []gpu.UUID // cards the kernel called off the bus
	SXids  []SXid
}

// Stuck is a process in uninterruptible sleep in the GPU's driver.
type Stuck struct {
	PID  int
	Name string
}

// SXid is an NVSwitch error that is fatal or not.
type SXid struct {
	Code  int
	Fatal bool
	At    time.Time
}

// State is what Evaluate remembers. The zero State is the start.
type State struct {
	bootID   string
	tracks   map[subject]track
	cards    map[gpu.UUID]card
	byIndex  map[int]gpu.UUID
	most     int // cards counted in this boot
	fatalSX  time.Time
	lastSX   string
	switches bool // an NVSwitch was ever heard of
}

// card is what one sample needs to know of those before it.
type card struct {
	total    gpu.MiB
	offBus   bool
	replays  *uint64
	replayAt time.Time
	links    map[int]link
	throttle []throttled
	held     bool // throttling, by hysteresis over the window
}

type link struct {
	wasUp  bool
	errors *uint64
}

type throttled struct {
	at time.Time
	on bool
}
