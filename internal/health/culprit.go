package health

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
)

// Tenant is one task that had processes on the faulted card.
type Tenant struct {
	Task   string `json:"task,omitzero"`   // ARN
	Family string `json:"family,omitzero"` // task definition "family:revision"
	PIDs   []int  `json:"pids,omitzero"`   // host process ids; empty when unknown
}

// Exit is the end of one tenant's task after the fault.
type Exit struct {
	Task     string
	At       time.Time
	ExitCode int
}

// XidAt is one Xid near the fault.
type XidAt struct {
	Code int
	PID  int
	At   time.Time
}

// SharedFault is what is known of one fault that several tenants shared.
type SharedFault struct {
	Device      gpu.UUID
	At          time.Time
	Tenants     []Tenant
	Xids        []XidAt
	MemoryFault bool // MPS names the triggering client for memory faults only
	MPSLogPID   int  // that client, 0 when the log named none
	Exits       []Exit
}

// Basis is what a culprit was named by, from strong to weak.
type Basis string

// Bases of an attribution.
const (
	BasisOnlyTenant Basis = "only-tenant"
	BasisMPSLog     Basis = "mps-log-pid"
	BasisFirstXid   Basis = "first-xid-pid"
	BasisFirstExit  Basis = "first-exit"
	BasisNone       Basis = "none"
)

// Attribution names who did it and who was hit.
type Attribution struct {
	Culprit  Tenant   `json:"culprit,omitzero"` // zero when nobody could be named
	Basis    Basis    `json:"basis,omitzero"`
	Certain  bool     `json:"certain,omitzero"`  // false: likely only; nothing may be done to the culprit for it
	Victims  []Tenant `json:"victims,omitzero"`  // sorted by task; everybody on the card but the culprit
	Conflict string   `json:"conflict,omitzero"` // two sources named different tenants
	Why      string   `json:"why,omitzero"`
}

// exitLead is how much earlier than everybody else the first exit must be to say
// anything: the driver tells all clients at once.
const exitLead = 2 * time.Second

// Attribute names the culprit of a shared fault. For memory faults the PID in the
// MPS log goes first (it is the source that NVIDIA documents), then the process of
// the first Xid; where both speak and differ the culprit is likely, not certain.
// The order of exits is a hint only. A PID that belongs to no tenant, such as the
// MPS server's own, names nobody.
func Attribute(f SharedFault) Attribution {
	tenants := slices.Clone(f.Tenants)
	slices.SortFunc(tenants, func(a, b Tenant) int { return cmp.Compare(a.Task, b.Task) })
	tenants = slices.CompactFunc(tenants, func(a, b Tenant) bool { return a.Task == b.Task })
	if len(tenants) == 1 {
		return Attribution{Culprit: tenants[0], Basis: BasisOnlyTenant, Certain: true, Why: "no other task was on the card"}
	}
	byPID := func(pid int) (Tenant, bool) { return ownerOf(tenants, pid) }
	log, logOK := Tenant{}, false
	if f.MemoryFault {
		log, logOK = byPID(f.MPSLogPID)
	}
	xid, code, xidOK := firstXid(f.Xids, byPID)
	switch {
	case logOK && xidOK && log.Task != xid.Task:
		a := blame(tenants, log, BasisMPSLog, false)
		a.Conflict = fmt.Sprintf("the MPS log names pid %d (%s), the first Xid %d names %s", f.MPSLogPID, log.Family, code, xid.Family)
		a.Why = "two sources differ"
		return a
	case logOK:
		a := blame(tenants, log, BasisMPSLog, true)
		a.Why = fmt.Sprintf("the MPS log names pid %d for the memory fault", f.MPSLogPID)
		return a
	case xidOK:
		a := blame(tenants, xid, BasisFirstXid, true)
		a.Why = fmt.Sprintf("the first Xid %d carries its process", code)
		return a
	}
	if first, lead, ok := firstExit(f, tenants); ok {
		a := blame(tenants, first, BasisFirstExit, false)
		a.Why = fmt.Sprintf("it ended %s before all others", lead.Round(time.Millisecond))
		return a
	}
	return Attribution{Basis: BasisNone, Victims: tenants, Why: "no source names a process of a task on this card"}
}

// blame splits the tenants into the culprit and the victims.
func blame(tenants []Tenant, culprit Tenant, basis Basis, certain bool) Attribution {
	a := Attribution{Culprit: culprit, Basis: basis, Certain: certain}
	for _, t := range tenants {
		if t.Task != culprit.Task {
			a.Victims = append(a.Victims, t)
		}
	}
	return a
}

// ownerOf finds the one tenant with the process; a PID claimed by two names nobody.
func ownerOf(tenants []Tenant, pid int) (Tenant, bool) {
	if pid <= 0 {
		return Tenant{}, false
	}
	var owner Tenant
	n := 0
	for _, t := range tenants {
		if slices.Contains(t.PIDs, pid) {
			owner = t
			n++
		}
	}
	return owner, n == 1
}

// firstXid is the earliest Xid whose process is a tenant's. Clean-up codes follow
// other faults and name nobody.
func firstXid(xids []XidAt, byPID func(int) (Tenant, bool)) (Tenant, int, bool) {
	sorted := slices.Clone(xids)
	slices.SortFunc(sorted, func(a, b XidAt) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Code, b.Code), cmp.Compare(a.PID, b.PID))
	})
	for _, x := range sorted {
		if x.Code == 45 || x.PID == 0 {
			continue
		}
		t, ok := byPID(x.PID)
		return t, x.Code, ok // the first that carries a process decides, or nobody
	}
	return Tenant{}, 0, false
}

// firstExit is the tenant that failed clearly before all others.
func firstExit(f SharedFault, tenants []Tenant) (Tenant, time.Duration, bool) {
	var exits []Exit
	for _, e := range f.Exits {
		known := slices.ContainsFunc(tenants, func(t Tenant) bool { return t.Task == e.Task })
		if known && e.ExitCode != 0 && !e.At.Before(f.At) {
			exits = append(exits, e)
		}
	}
	slices.SortFunc(exits, func(a, b Exit) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Task, b.Task)) })
	if len(exits) < 2 {
		return Tenant{}, 0, false
	}
	lead := exits[1].At.Sub(exits[0].At)
	if lead < exitLead {
		return Tenant{}, 0, false
	}
	i := slices.IndexFunc(tenants, func(t Tenant) bool { return t.Task == exits[0].Task })
	return tenants[i], lead, true
}
