package remedy

import (
	"fmt"
	"slices"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/health"
)

var start = time.Date(2026, 12, 1, 3, 0, 0, 0, time.UTC)

// fleet is a small model of a cluster: hosts with one or more cards, tasks that
// leave when their host drains, an Auto Scaling group that launches, and the loop
// that stores cases, confirms steps, acts and records.
type fleet struct {
	now      time.Time
	policy   Policy
	judge    health.Policy
	hosts    []*host
	group    group
	cases    []Case
	breakers []Breaker
	paused   Word
	made     int
	trace    []string
	quiet    bool

	// Faults of the loop, by step: set by scripts and by the random world.
	crash   func(s Step, afterEffect bool) bool // the caller dies before the act, or after it and before Record
	outcome func(s Step) Result                 // Transient or Refused instead of the effect; "" acts
	lost    func(s Step) bool                   // the effect happens, the answer is a time-out
	between func(s Step)                        // runs between Next and Confirm
	onAct   func(s Step, h *host, w World)      // observes each act
}

type group struct {
	exists, launchSuspended, hook bool
	desired                       int
	badAMI                        bool // newcomers fail preflight
	noCapacity                    bool // launches nothing
}

type host struct {
	id        string
	scope     Scope
	cards     int
	seen      int // cards that NVML finds; -1: all
	boot      int
	status    string
	cordonBy  string // who set DRAINING: "bulkhead", "person", ""
	mark      string
	lifecycle string
	hookSince time.Time
	beat      time.Time
	gone      bool
	goneAt    time.Time // terminating until then
	reg       bool
	managed   bool
	optOut    bool
	protect   bool
	clients   int
	evidence  bool
	noSSM     bool
	preflight Preflight
	born      time.Time
	newcomer  bool
	tasks     []*task
	state     health.State
	verdict   health.Verdict
	healsBy   StepKind // this step cures the MPS fault
	sick      []health.Signal
	fixes     int
}

// GoString keeps the reports of failed laws short.
func (h *host) GoString() string { return h.id }

type task struct {
	arn, service string
	daemon       bool
	protected    bool
	onCard       bool
	stuck        bool // its service cannot move it
	pids         []int
	stopAt       time.Time // stopping until then
	leaveAt      time.Time // draining moves it then
}

func newFleet(n, cards int, p Policy, judge health.Policy) *fleet {
	f := &fleet{now: start, policy: p, judge: judge, group: group{exists: true, desired: n}}
	for range n {
		f.launch().settle()
	}
	for _, h := range f.hosts {
		h.cards = cards
		h.state.Facts.Devices = cards
	}
	return f
}

func (f *fleet) launch() *host {
	f.made++
	id := fmt.Sprintf("i-%02d", f.made)
	h := &host{id: id, cards: 1, seen: -1, boot: 1, status: StatusActive, lifecycle: LifecycleInService, born: f.now, newcomer: true,
		scope: Scope{Cluster: "gpu", CapacityProvider: "cp-1", Zone: []string{"a", "b", "c"}[f.made%3], InstanceType: "g5.xlarge", AMI: "ami-1", Driver: "580"}}
	h.state.Facts = health.Facts{Host: id, Devices: 1, BootAt: f.now}
	f.hosts = append(f.hosts, h)
	return h
}

// found is how many cards the host finds.
func (h *host) found() int {
	if h.seen >= 0 {
		return h.seen
	}
	return h.cards
}

// settle makes a host look as if it had served for long.
func (h *host) settle() {
	h.reg, h.newcomer, h.preflight = true, false, PreflightPassed
	h.state.Facts.BootAt = start.Add(-time.Hour)
}

func (f *fleet) host(id string) *host {
	i := slices.IndexFunc(f.hosts, func(h *host) bool { return h.id == id })
	if i < 0 {
		return nil
	}
	return f.hosts[i]
}

func (h *host) bootID() string { return fmt.Sprintf("%s.boot%d", h.id, h.boot) }

func (f *fleet) say(format string, a ...any) {
	if !f.quiet {
		f.trace = append(f.trace, fmt.Sprintf("+%s ", f.now.Sub(start))+fmt.Sprintf(format, a...))
	}
}

// assess gives the signals to a host's state.
func (f *fleet) assess(h *host, signals ...health.Signal) {
	for i := range signals {
		signals[i].LastSeen = f.now
		if signals[i].Witness.OnHost() {
			signals[i].BootID = h.bootID()
		}
		signals[i].Count = max(signals[i].Count, 1)
	}
	st, v, errs := health.Assess(h.state, signals, f.judge, f.now)
	for _, err := range errs {
		f.say("%s %v", h.id, err)
	}
	h.state, h.verdict = st, v
}

// nature moves the world by itself.
func (f *fleet) nature() {
	members := 0
	for _, h := range f.hosts {
		f.leave(h)
		if !h.goneAt.IsZero() && !f.now.Before(h.goneAt) && !h.gone {
			h.gone, h.reg, h.status, h.lifecycle = true, false, StatusInactive, ""
			h.tasks = nil
			f.say("%s terminated", h.id)
		}
		if h.lifecycle != "" && h.lifecycle != LifecycleTerminatingWait && h.goneAt.IsZero() && !h.gone {
			members++
		}
		if h.newcomer && f.now.Sub(h.born) >= time.Minute && !h.gone {
			h.reg = true
		}
		if h.newcomer && f.now.Sub(h.born) >= 2*time.Minute && h.preflight == PreflightPending {
			h.preflight = PreflightPassed
			if f.group.badAMI {
				h.preflight = PreflightFailed
			}
		}
	}
	for ; f.group.exists && !f.group.launchSuspended && !f.group.noCapacity && members < f.group.desired; members++ {
		h := f.launch()
		f.say("%s launched", h.id)
	}
}

// leave moves the tasks of a draining host away.
func (f *fleet) leave(h *host) {
	for _, t := range h.tasks {
		if h.status == StatusDraining && t.service != "" && !t.daemon && !t.protected && !t.stuck && t.stopAt.IsZero() {
			if t.leaveAt.IsZero() {
				t.leaveAt = f.now.Add(20 * time.Second)
			} else if !f.now.Before(t.leaveAt) {
				t.stopAt = f.now.Add(10 * time.Second)
			}
		}
	}
	h.tasks = slices.DeleteFunc(h.tasks, func(t *task) bool { return !t.stopAt.IsZero() && !f.now.Before(t.stopAt) })
}

// view is the world of one case.
func (f *fleet) view(c Case) World {
	w := World{Case: CaseMark{c.ID, c.State, c.Decision, c.Held.By != ""}, Paused: f.paused, Breakers: f.breakers,
		Group: GroupView{Name: "asg-1", Exists: f.group.exists, LaunchSuspended: f.group.launchSuspended}}
	if h := f.host(c.Instance); h != nil {
		w.Host = f.look(h)
		w.Fixes = h.fixes + Fixes(h.id, f.cases, dur(f.policy.Repeat.Within), f.now)
	}
	var launched []Candidate
	for _, h := range f.hosts {
		if h.newcomer && !h.gone && h.goneAt.IsZero() && h.lifecycle == LifecycleInService {
			launched = append(launched, Candidate{h.id, h.born})
		}
	}
	if id, ok := Newcomer(c, launched, f.cases); ok {
		if h := f.host(id); h != nil {
			w.Newcomer = &NewcomerView{Instance: h.id, Registered: h.reg, Capability: h.reg, GPUs: h.found(), ExpectedGPUs: h.cards, Preflight: h.preflight}
		}
	}
	w.Fleet = f.count(c)
	return w
}

func (f *fleet) count(c Case) Fleet {
	var hosts []FleetHost
	for _, h := range f.hosts {
		if !h.gone && (h.lifecycle == LifecycleInService || h.reg) {
			hosts = append(hosts, FleetHost{h.id, h.scope, f.look(h).serves() && h.reg})
		}
	}
	return Count(c, hosts, f.cases, f.now)
}

func (f *fleet) look(h *host) HostView {
	v := HostView{ARN: "ci/" + h.id, Instance: h.id, BootID: h.bootID(), Gone: h.gone, Registered: h.reg, Status: h.status,
		CordonMark: h.mark, Managed: h.managed, OptOut: h.optOut, TermProtect: h.protect, Lifecycle: h.lifecycle,
		HookOurs: f.group.hook, HookSince: h.hookSince, Verdict: h.verdict, Scope: h.scope, MPSClients: h.clients, Evidence: h.evidence}
	for _, t := range h.tasks {
		v.Tasks = append(v.Tasks, Task{ARN: t.arn, Family: "f-" + t.arn, Service: t.service, Daemon: t.daemon, Protected: t.protected,
			Stopping: !t.stopAt.IsZero(), OnFaultedCard: t.onCard, PIDs: t.pids})
		if !t.daemon {
			v.LedgerShares++
		}
	}
	return v
}

// act does to the model what the step does to the world.
func (f *fleet) act(s Step, h *host) Result {
	cure := func() {
		if h.healsBy == s.Kind {
			f.heal(h)
		}
	}
	switch s.Kind {
	case StepDrain:
		h.status, h.cordonBy = StatusDraining, "bulkhead"
	case StepUndrain:
		h.status, h.cordonBy = StatusActive, ""
	case StepMark:
		h.mark = s.Case
	case StepUnmark:
		h.mark = ""
	case StepRestartMPS:
		cure()
	case StepTerminateClients, StepStopTask:
		for _, t := range h.tasks {
			if t.arn == s.Target && t.stopAt.IsZero() {
				t.stopAt = f.now.Add(10 * time.Second)
			}
		}
		cure()
	case StepEvidence:
		if h.noSSM {
			return Transient
		}
		h.evidence = true
	case StepReboot:
		h.boot++
		if h.healsBy == StepReboot {
			h.sick = nil
			f.assess(h, health.Signal{Kind: health.KindReport, Witness: health.WitnessAgent})
		}
	case StepDetach:
		h.lifecycle = ""
	case StepTerminate:
		h.goneAt = f.now.Add(10 * time.Second)
	case StepTerminateInGroup:
		if f.group.hook {
			h.lifecycle, h.hookSince = LifecycleTerminatingWait, f.now
		} else {
			h.lifecycle, h.goneAt = "Terminating", f.now.Add(10*time.Second)
		}
	case StepHeartbeat:
		h.beat = f.now
	case StepCompleteHook:
		h.lifecycle, h.goneAt = "Terminating:Proceed", f.now.Add(10*time.Second)
	}
	return Done
}

// heal gives the good readings that end what was signalled.
func (f *fleet) heal(h *host) {
	for _, s := range h.sick {
		s.Reading, s.Count = health.Clear, 1
		f.assess(h, s)
	}
	h.sick = nil
}

const card = gpu.UUID("GPU-aaaaaaaa-0000-0000-0000-000000000001")
