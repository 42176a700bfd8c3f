package events

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// HostReportSchema is the version of HostReport. A member may be added to it;
// one that changes its meaning or goes makes a new version.
const HostReportSchema = 1

// Bounds of a report. A host that is broken or hostile must not fill the API.
const (
	MaxHostReportBytes   = 192 << 10
	MaxReportDevices     = 32
	MaxReportShares      = 512
	MaxReportProcesses   = 512
	MaxReportSignals     = 256
	MaxReportTextBytes   = 512
	MaxReportServers     = 64
	MaxReportClientPIDs  = 64
	MaxReportIDBytes     = 128
	MaxReportNameBytes   = 256
	MaxReportARNBytes    = 2048
	MaxReportVersionSize = 64
	MaxReportChecks      = 32
)

// HostReport is the body of POST /v1/hosts/{instanceId}/reports. Reports of one
// boot carry rising numbers and are sent in order: the receiver keeps the highest
// it accepted for a boot and answers a repeat with success, so a report that was
// sent twice counts once. The first number is not 1 where a host began a new spool;
// gaps say nothing, Drops counts what was lost.
type HostReport struct {
	Schema        int       `json:"schema"`
	InstanceID    string    `json:"instanceId"` // "i-0123…"
	BootID        string    `json:"bootId"`     // /proc/sys/kernel/random/boot_id
	Sequence      uint64    `json:"sequence"`   // rises within a boot
	AgentVersion  string    `json:"agentVersion"`
	ObservedAt    time.Time `json:"observedAt"`    // when the state was read
	SentAt        time.Time `json:"sentAt"`        // when this attempt left, for the skew guard
	UptimeSeconds float64   `json:"uptimeSeconds"` // monotonic since boot at ObservedAt: survives clock jumps
	Cause         string    `json:"cause"`         // "start", "lease", "change", "stop"
	LeaseSeconds  int       `json:"leaseSeconds"`  // silence longer than this is silence

	NVML      string          `json:"nvml"` // "ok", "unavailable", "no-driver", "mismatch", "hung", "error"
	Driver    string          `json:"driver,omitempty"`
	CUDA      int             `json:"cuda,omitempty"` // 13000 is 13.0
	Devices   []ReportDevice  `json:"devices"`        // absent when not read: see NVML
	MPS       ReportMPS       `json:"mps"`
	Shares    []ReportShare   `json:"shares,omitempty"`
	Processes []ReportProcess `json:"processes,omitempty"` // bypass and foreign only
	Signals   []ReportSignal  `json:"signals,omitempty"`   // since the last report, each once
	Drops     ReportDrops     `json:"drops"`
	Settings  string          `json:"settings,omitempty"` // version of the settings in force
	// Preflight is absent where the agent is older than it.
	Preflight *ReportPreflight `json:"preflight,omitempty"`
}

// The states of a preflight.
const (
	PreflightPending = "pending"
	PreflightPassed  = "passed"
	PreflightFailed  = "failed"
)

// ReportPreflight is what the agent's checks said of the host in this boot, before its
// first sharing task. Once passed it stays so until the next boot: what breaks later is
// a matter of health.
type ReportPreflight struct {
	State  string        `json:"state"` // "pending", "passed", "failed"
	Since  time.Time     `json:"since"`
	Failed []ReportCheck `json:"failed,omitempty"` // the checks that failed
}

// ReportCheck is one check that failed, in the words of "bulkhead-agent doctor".
type ReportCheck struct {
	Check string `json:"check"`
	Found string `json:"found"`
	Fix   string `json:"fix,omitempty"`
}

// ReportDevice is one card as NVML told it. Memory in MiB.
type ReportDevice struct {
	UUID      string `json:"uuid"`
	Index     int    `json:"index"`
	Name      string `json:"name,omitempty"`
	TotalMiB  int64  `json:"totalMiB"`            // usable: what ECS registers
	UsedMiB   *int64 `json:"usedMiB,omitempty"`   // absent: not readable
	Compute   *int32 `json:"compute,omitempty"`   // utilization, percent
	Clients   *int   `json:"clients,omitempty"`   // MPS clients on this card
	Lost      bool   `json:"lost,omitempty"`      // fell off the bus
	ResetWant bool   `json:"resetWant,omitempty"` // the driver wants a reset
}

// ReportMPS is the state of the host's MPS daemon.
type ReportMPS struct {
	State      string             `json:"state"` // absent, starting, ready, serving, fault, recovering, wedged, crash-looping, unknown
	Since      time.Time          `json:"since"`
	PipeDir    string             `json:"pipeDir,omitempty"`
	Protocol   int                `json:"protocol,omitempty"`      // 2 or 3
	Percentage *float64           `json:"percentage,omitempty"`    // default active-thread percentage
	Servers    []ReportMPSServer  `json:"servers,omitempty"`       //
	Holders    []ReportMPSHolder  `json:"holders,omitempty"`       // clients that keep a fault alive
	Culprit    *ReportMPSHolder   `json:"culprit,omitempty"`       // named by the server log for memory faults only
	Exits      int                `json:"exits,omitempty"`         // server exits in the crash-loop window
	Reason     string             `json:"reason,omitempty"`        // why this state
	Decision   *ReportMPSDecision `json:"lastDecision,omitempty"`  // last restart or termination decided upon
	Unmapped   int                `json:"unmappedPIDs,omitempty"`  // clients of no known task
	LogDropped uint64             `json:"logDropped,omitempty"`    // log bytes skipped by the tail bound
	Answer     string             `json:"controlAnswer,omitempty"` // ok, no-socket, no-answer, refused, not-running
}

// ReportMPSServer is one MPS server process and its clients (host PIDs).
type ReportMPSServer struct {
	PID     int   `json:"pid"`
	Clients []int `json:"clients,omitempty"`
}

// ReportMPSHolder is a client and the container behind it, where known.
type ReportMPSHolder struct {
	PID       int    `json:"pid"`
	TaskArn   string `json:"taskArn,omitempty"`
	Container string `json:"container,omitempty"`
}

// ReportMPSDecision is what was decided about the daemon and at what cost.
type ReportMPSDecision struct {
	At     time.Time `json:"at"`
	Action string    `json:"action"`
	Acted  bool      `json:"acted"`
	Hurt   int       `json:"hurt"` // healthy clients that it would end
	Reason string    `json:"reason"`
}

// ReportShare is what one container holds on one card, as seen on the host.
type ReportShare struct {
	TaskArn     string `json:"taskArn"`
	Container   string `json:"container"`
	Family      string `json:"family,omitempty"` // "family:revision"
	GPU         string `json:"gpu"`
	Image       string `json:"image,omitempty"` // the image's id on the host, "sha256:…"
	UsedMiB     *int64 `json:"usedMiB,omitempty"`
	PeakMiB     *int64 `json:"peakMiB,omitempty"` // in the sizing window
	LimitMiB    *int64 `json:"limitMiB,omitempty"`
	Percent     *int32 `json:"percent,omitempty"` // active-thread percentage in its environment
	Processes   int    `json:"processes"`         // 1 is single; more hold the limit each
	MPS         bool   `json:"mps"`               // every process is an MPS client
	OverCeiling bool   `json:"overCeiling,omitempty"`
}

// ReportProcess is a GPU process that is no MPS client of a known share.
type ReportProcess struct {
	PID       int    `json:"pid"`
	GPU       string `json:"gpu"`
	Kind      string `json:"kind"` // "bypass": of a known task; "foreign": of none
	TaskArn   string `json:"taskArn,omitempty"`
	Container string `json:"container,omitempty"`
	Command   string `json:"command,omitempty"`
	UsedMiB   *int64 `json:"usedMiB,omitempty"`
}

// ReportSignal is one thing that the host said about a card or itself; its kinds,
// witnesses and readings are those of the health catalogue.
type ReportSignal struct {
	Kind      string    `json:"kind"`
	GPU       string    `json:"gpu,omitempty"` // empty: the host
	Witness   string    `json:"witness"`       // kernel-log, nvml, agent
	Code      int       `json:"code,omitempty"`
	PID       int       `json:"pid,omitempty"`
	TaskArn   string    `json:"taskArn,omitempty"`
	Family    string    `json:"family,omitempty"`
	Unit      string    `json:"unit,omitempty"`
	Text      string    `json:"text,omitempty"`
	Reading   uint8     `json:"reading,omitempty"`
	Value     *float64  `json:"value,omitempty"`
	Expected  bool      `json:"expected,omitempty"`
	Count     int64     `json:"count"`
	FirstSeen time.Time `json:"firstSeen"`
	LastSeen  time.Time `json:"lastSeen"`
}

// ReportDrops counts what the host could not keep, per boot. A count above zero
// says that the picture has a hole and how large it is.
type ReportDrops struct {
	Reports   uint64 `json:"reports,omitempty"`   // dropped from a full or aged spool
	Corrupt   uint64 `json:"corrupt,omitempty"`   // spool bytes that could not be read back
	Signals   uint64 `json:"signals,omitempty"`   // beyond the rate bound
	KernelLog uint64 `json:"kernelLog,omitempty"` // records the kernel overwrote before they were read
	Shares    uint64 `json:"shares,omitempty"`    // beyond the bound of one report
}

// HostReportAnswer is what the API answers to a report. Accepted is the highest
// sequence held for that boot.
type HostReportAnswer struct {
	Schema   int           `json:"schema"`
	Accepted uint64        `json:"accepted"`
	Settings *HostSettings `json:"settings,omitempty"`
}

// HostSettings are what the control plane wants of an agent. All are applied or
// none; absent members keep what stands.
type HostSettings struct {
	Version          string   `json:"version"`
	ThreadPercentage *float64 `json:"threadPercentage,omitempty"` // 0 < p ≤ 100; for containers that declared none
	LeaseSeconds     *int     `json:"leaseSeconds,omitempty"`     // 30 … 3600
	SampleSeconds    *int     `json:"sampleSeconds,omitempty"`    // 1 … 300
	SafeStop         *bool    `json:"safeStop,omitempty"`
}

// ErrHostReport is what every refusal of a report or of settings wraps.
var ErrHostReport = errors.New("host report refused")

// Check returns nil when the settings may be applied, else an error that names
// the member at fault.
func (s HostSettings) Check() error {
	bad := func(format string, a ...any) error {
		return fmt.Errorf("%w: settings: %s", ErrHostReport, fmt.Sprintf(format, a...))
	}
	switch {
	case s.Version == "" || len(s.Version) > MaxReportVersionSize:
		return bad("version has %d bytes, want 1 to %d", len(s.Version), MaxReportVersionSize)
	case s.ThreadPercentage != nil && !(*s.ThreadPercentage > 0 && *s.ThreadPercentage <= 100):
		return bad("threadPercentage %v is not in (0, 100]", *s.ThreadPercentage)
	case s.LeaseSeconds != nil && (*s.LeaseSeconds < 30 || *s.LeaseSeconds > 3600):
		return bad("leaseSeconds %d is not in 30 to 3600", *s.LeaseSeconds)
	case s.SampleSeconds != nil && (*s.SampleSeconds < 1 || *s.SampleSeconds > 300):
		return bad("sampleSeconds %d is not in 1 to 300", *s.SampleSeconds)
	}
	return nil
}

// Check returns nil when r keeps the bounds, else an error that wraps
// ErrHostReport and names the member at fault. It judges shape, never truth: who
// may speak for the instance is the API's to say.
func (r *HostReport) Check() error {
	bad := func(format string, a ...any) error {
		return fmt.Errorf("%w: %s", ErrHostReport, fmt.Sprintf(format, a...))
	}
	switch {
	case r.Schema != HostReportSchema:
		return bad("schema %d, want %d", r.Schema, HostReportSchema)
	case r.InstanceID == "" || len(r.InstanceID) > MaxReportIDBytes:
		return bad("instanceId has %d bytes, want 1 to %d", len(r.InstanceID), MaxReportIDBytes)
	case r.BootID == "" || len(r.BootID) > MaxReportIDBytes:
		return bad("bootId has %d bytes, want 1 to %d", len(r.BootID), MaxReportIDBytes)
	case r.Sequence == 0:
		return bad("sequence is 0; it starts at 1")
	case len(r.AgentVersion) > MaxReportVersionSize:
		return bad("agentVersion has %d bytes, above %d", len(r.AgentVersion), MaxReportVersionSize)
	case r.ObservedAt.IsZero() || r.SentAt.IsZero():
		return bad("observedAt or sentAt is missing")
	case len(r.Devices) > MaxReportDevices:
		return bad("%d devices, above %d", len(r.Devices), MaxReportDevices)
	case len(r.Shares) > MaxReportShares:
		return bad("%d shares, above %d", len(r.Shares), MaxReportShares)
	case len(r.Processes) > MaxReportProcesses:
		return bad("%d processes, above %d", len(r.Processes), MaxReportProcesses)
	case len(r.Signals) > MaxReportSignals:
		return bad("%d signals, above %d", len(r.Signals), MaxReportSignals)
	case len(r.MPS.Servers) > MaxReportServers:
		return bad("%d MPS servers, above %d", len(r.MPS.Servers), MaxReportServers)
	}
	if err := r.Preflight.check(); err != nil {
		return bad("preflight: %v", err)
	}
	return r.checkLists(bad)
}

func (r *HostReport) checkLists(bad func(string, ...any) error) error {
	for i, d := range r.Devices {
		if d.UUID == "" && !d.Lost || len(d.UUID) > MaxReportIDBytes || d.TotalMiB < 0 {
			return bad("devices[%d]: uuid %.32q, totalMiB %d", i, d.UUID, d.TotalMiB)
		}
	}
	for i, s := range r.Shares {
		if len(s.TaskArn) > MaxReportARNBytes || len(s.Container) > MaxReportNameBytes || len(s.GPU) > MaxReportIDBytes || len(s.Image) > MaxReportIDBytes || s.Processes < 0 {
			return bad("shares[%d] is out of bounds", i)
		}
	}
	for i, s := range r.Signals {
		if s.Kind == "" || s.Witness == "" || len(s.Text) > MaxReportTextBytes || s.LastSeen.IsZero() {
			return bad("signals[%d]: kind, witness and lastSeen are required and text is at most %d bytes", i, MaxReportTextBytes)
		}
	}
	return nil
}

func (p *ReportPreflight) check() error {
	switch {
	case p == nil:
		return nil
	case p.State != PreflightPending && p.State != PreflightPassed && p.State != PreflightFailed:
		return fmt.Errorf("state %.32q, want pending, passed or failed", p.State)
	case len(p.Failed) > MaxReportChecks:
		return fmt.Errorf("%d checks, above %d", len(p.Failed), MaxReportChecks)
	}
	for i, c := range p.Failed {
		if c.Check == "" || len(c.Check) > MaxReportIDBytes || len(c.Found) > MaxReportTextBytes || len(c.Fix) > MaxReportTextBytes {
			return fmt.Errorf("failed[%d] is out of bounds", i)
		}
	}
	return nil
}

// ReadHostReport reads and checks a report's body. An unknown member is allowed:
// the agent may be newer than its reader.
func ReadHostReport(b []byte) (HostReport, error) {
	var r HostReport
	if len(b) > MaxHostReportBytes {
		return r, fmt.Errorf("%w: %d bytes, above %d", ErrHostReport, len(b), MaxHostReportBytes)
	}
	if err := json.Unmarshal(b, &r); err != nil {
		return r, fmt.Errorf("%w: %w", ErrHostReport, err)
	}
	return r, r.Check()
}
