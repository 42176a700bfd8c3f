package health

import (
	"cmp"
	"slices"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
)

const day = 24 * time.Hour

// Bounds of what is kept for one host, so that its item stays well under the
// table's 400 KB under any storm.
const (
	MaxConditions  = 64
	MaxEvents      = 24  // kept occurrences of one condition
	MaxStateEvents = 192 // and of all conditions
	maxBoots       = 4
)

// Facts are what the caller knows of a host besides signals; it refreshes them in
// the State before each assessment.
type Facts struct {
	Host          string        `json:"host,omitzero"`          // container instance ARN
	AMI           string        `json:"ami,omitzero"`           // AMI id or release
	DriverRelease string        `json:"driverRelease,omitzero"` // NVIDIA driver
	Devices       int           `json:"devices,omitzero"`       // cards the instance type has
	MultiGPUTasks bool          `json:"multiGpuTasks,omitzero"` // a task on it uses several cards
	HGX           bool          `json:"hgx,omitzero"`           // NVSwitch board
	Grace         bool          `json:"grace,omitzero"`         // Grace CPU
	BootAt        time.Time     `json:"bootAt,omitzero"`        // start of the current boot, for start grace
	AgentExpected bool          `json:"agentExpected,omitzero"` // our agent is meant to run here
	AgentLease    time.Duration `json:"agentLease,omitzero"`    // how often it promised to report; 0: the policy's
}

// State is what is remembered of one host between two assessments. It is a plain
// value, safe to store as it is.
type State struct {
	Facts      Facts       `json:"facts,omitzero"`
	BootID     string      `json:"bootId,omitzero"`
	Boots      []Boot      `json:"boots,omitzero"` // newest last, bounded
	HeardAgent time.Time   `json:"heardAgent,omitzero"`
	Conditions []Condition `json:"conditions,omitzero"` // sorted by key
	Dropped    int64       `json:"dropped,omitzero"`    // conditions let go because there were too many
	Stale      int64       `json:"stale,omitzero"`      // signals of an older boot or out of order
}

// Boot is a boot of the host and when it was first heard of.
type Boot struct {
	ID    string    `json:"id,omitzero"`
	Since time.Time `json:"since,omitzero"`
}

// Condition is one kind (or Xid code) on one subject. Events of several witnesses
// are one condition; states are kept by witness, so that one witness cannot clear
// what another still sees.
type Condition struct {
	Kind    Kind     `json:"kind,omitzero"`
	Code    int      `json:"code,omitzero"`
	Device  gpu.UUID `json:"device,omitzero"`
	Witness Witness  `json:"witness,omitzero"` // states only
	BootID  string   `json:"bootId,omitzero"`

	FirstSeen time.Time `json:"firstSeen,omitzero"` // of this episode; never moves while it stands
	LastSeen  time.Time `json:"lastSeen,omitzero"`  // last bad reading or event
	Stood     time.Time `json:"stood,omitzero"`     // when it began to stand; zero while debounced
	Cleared   time.Time `json:"cleared,omitzero"`   // zero while it stands or may stand
	ClearedBy string    `json:"clearedBy,omitzero"`
	Count     int64     `json:"count,omitzero"`
	Text      string    `json:"text,omitzero"`
	Bad       Streak    `json:"bad,omitzero"`
	Good      Streak    `json:"good,omitzero"`
	LastRead  time.Time `json:"lastRead,omitzero"` // last reading of any sort
	Events    []Event   `json:"events,omitzero"`   // events only, by time, bounded

	Latched   []Action `json:"latched,omitzero"` // what a counting rule reached; kept until boot or a person
	LatchedBy string   `json:"latchedBy,omitzero"`
}

// Streak is a run of equal readings.
type Streak struct {
	N     int       `json:"n,omitzero"`
	First time.Time `json:"first,omitzero"`
	Last  time.Time `json:"last,omitzero"`
}

// Event is one occurrence of an event kind.
type Event struct {
	At       time.Time `json:"at,omitzero"`
	PID      int       `json:"pid,omitzero"`
	Task     string    `json:"task,omitzero"`
	Family   string    `json:"family,omitzero"`
	Unit     string    `json:"unit,omitzero"`
	Witness  Witness   `json:"witness,omitzero"`
	Expected bool      `json:"expected,omitzero"`
}

type conditionKey struct {
	Device  gpu.UUID
	Kind    Kind
	Code    int
	Witness Witness
}

func (c *Condition) key() conditionKey { return conditionKey{c.Device, c.Kind, c.Code, c.Witness} }

func compareKeys(a, b conditionKey) int {
	return cmp.Or(cmp.Compare(a.Device, b.Device), cmp.Compare(a.Kind, b.Kind),
		cmp.Compare(a.Code, b.Code), cmp.Compare(a.Witness, b.Witness))
}

// find returns the condition of k, made when absent.
func (st *State) find(k conditionKey) *Condition {
	i, ok := slices.BinarySearchFunc(st.Conditions, k, func(c Condition, k conditionKey) int { return compareKeys(c.key(), k) })
	if !ok {
		st.Conditions = slices.Insert(st.Conditions, i, Condition{Device: k.Device, Kind: k.Kind, Code: k.Code, Witness: k.Witness})
	}
	return &st.Conditions[i]
}

// clone copies what ingestion changes, so that the caller's state stays as it was.
func (st State) clone() State {
	st.Boots = slices.Clone(st.Boots)
	st.Conditions = slices.Clone(st.Conditions)
	for i := range st.Conditions {
		st.Conditions[i].Events = slices.Clone(st.Conditions[i].Events)
		st.Conditions[i].Latched = slices.Clone(st.Conditions[i].Latched)
	}
	return st
}

// clear ends the episode and says by what.
func (c *Condition) clear(at time.Time, by string) {
	if !c.Cleared.IsZero() {
		return
	}
	c.Cleared, c.ClearedBy = at, by
	c.Stood, c.Bad, c.Latched, c.LatchedBy = time.Time{}, Streak{}, nil, ""
}

// addEvent records one occurrence once, whoever saw it: the same code and process
// seen by two witnesses within the union window is one.
func (c *Condition) addEvent(e Event, window time.Duration) bool {
	for i, old := range c.Events {
		gap := max(old.At.Sub(e.At), e.At.Sub(old.At))
		if old.Witness == e.Witness && old.PID == e.PID && old.Task == e.Task && gap == 0 {
			return false // delivered again
		}
		samePID := old.PID == e.PID || old.PID == 0 || e.PID == 0
		if old.Witness != e.Witness && samePID && old.Task == e.Task && gap <= window {
			c.Events[i] = mergeEvents(old, e)
			return false
		}
	}
	i, _ := slices.BinarySearchFunc(c.Events, e, compareEvents)
	c.Events = slices.Insert(c.Events, i, e)
	return true
}

// mergeEvents keeps what either witness knew; the kernel log's word goes first.
func mergeEvents(a, b Event) Event {
	if b.Witness == WitnessKernelLog {
		a, b = b, a
	}
	a.PID = cmp.Or(a.PID, b.PID)
	a.Family = cmp.Or(a.Family, b.Family)
	a.Unit = cmp.Or(a.Unit, b.Unit)
	a.Expected = a.Expected || b.Expected
	return a
}

func compareEvents(a, b Event) int {
	return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.PID, b.PID), cmp.Compare(a.Task, b.Task), cmp.Compare(a.Witness, b.Witness))
}

// thin keeps at most MaxEvents: inside one incident the middle goes first (its
// ends carry all that rules read), then the oldest incidents.
func (c *Condition) thin(quiet time.Duration) {
	for i := 1; len(c.Events) > MaxEvents && i+1 < len(c.Events); {
		if c.Events[i+1].At.Sub(c.Events[i-1].At) <= quiet && c.Events[i].Task == c.Events[i-1].Task {
			c.Events = slices.Delete(c.Events, i, i+1)
			continue
		}
		i++
	}
	if n := len(c.Events) - MaxEvents; n > 0 {
		c.Events = slices.Delete(c.Events, 0, n)
	}
}

// thin keeps the whole state under MaxStateEvents: the condition with the most
// gives up its oldest.
func (st *State) thin(quiet time.Duration) {
	total := 0
	for i := range st.Conditions {
		st.Conditions[i].thin(quiet)
		total += len(st.Conditions[i].Events)
	}
	for ; total > MaxStateEvents; total-- {
		most := 0
		for i := range st.Conditions {
			if len(st.Conditions[i].Events) > len(st.Conditions[most].Events) {
				most = i
			}
		}
		st.Conditions[most].Events = slices.Delete(st.Conditions[most].Events, 0, 1)
	}
}

// incident is a run of events with no quiet gap in it. One incident names at most
// one family: that of the first event with a known process, for under MPS those
// that follow are its victims.
type incident struct {
	start, end time.Time
	family     string
	unit       string
}

// incidents splits the events at or after since.
func (c *Condition) incidents(since time.Time, quiet time.Duration) []incident {
	var out []incident
	for _, e := range c.Events {
		if e.At.Before(since) {
			continue
		}
		if n := len(out); n == 0 || e.At.Sub(out[n-1].end) > quiet {
			out = append(out, incident{start: e.At, end: e.At, family: e.Family, unit: e.Unit})
			continue
		}
		last := &out[len(out)-1]
		last.end = e.At
		last.family = cmp.Or(last.family, e.Family)
		last.unit = cmp.Or(last.unit, e.Unit)
	}
	return out
}
