package mps

import (
	"fmt"
	"slices"
	"time"
)

// Phase is the state of the host's MPS.
type Phase string

// The phases. Unknown is only before the first answer, or when the daemon
// answers but refuses this program.
const (
	Unknown      Phase = "unknown"
	Absent       Phase = "absent"
	Starting     Phase = "starting"
	Ready        Phase = "ready"   // answers, no server yet: the first client starts one
	Serving      Phase = "serving" // at least one server
	Fault        Phase = "fault"   // a fatal GPU error: new clients are refused until the holders go
	Recovering   Phase = "recovering"
	Wedged       Phase = "wedged" // accepts, never answers
	CrashLooping Phase = "crash-looping"
)

// Policy holds the limits of the state machine.
type Policy struct {
	Grace     time.Duration // after boot or a restart: silence is starting
	Strikes   int           // failures in a row before a phase is left
	Exits     int           // failed server exits within Window: a crash loop
	Window    time.Duration
	FaultSlow time.Duration // a fault that nobody holds and that stands longer is told as stuck
}

// DefaultPolicy is what the design names: 120 s of grace and three strikes.
func DefaultPolicy() Policy {
	return Policy{Grace: 120 * time.Second, Strikes: 3, Exits: 3, Window: 5 * time.Minute, FaultSlow: 30 * time.Second}
}

// Server is one MPS server process; Status is "" where the daemon cannot say it.
type Server struct {
	PID     int
	Status  ServerStatus
	Clients []int // host process ids, sorted
}

// Observation is what one look found.
type Observation struct {
	Answer     AnswerKind // to get_default_active_thread_percentage
	Percentage *float64
	Servers    []Server   // nil when not asked
	Listed     bool       // the server list was answered, so an empty one is empty
	Log        []LogEvent // new since the last look, oldest first
}

// State is what is known of the daemon. The zero value is a host not yet looked at.
type State struct {
	Phase      Phase
	Since      time.Time
	Reason     string
	Answer     AnswerKind
	Strikes    int // failed answers in a row
	Percentage *float64
	Servers    []Server

	GraceUntil time.Time
	Faulted    time.Time // zero: no fault stands
	Sticky     []int     // clients that the log says hold the error, still alive
	Culprit    int       // named by the log, 0 not
	Devices    []int     // ordinals the log says are hit
	Exits      []time.Time
	Restarts   int       // daemon starts seen in the log, since the program started
	list       LogKind   // which list the bare numbers of the log belong to
	recreated  time.Time // a context was made again after the fault
}

// maxMemory bounds the lists that hostile or broken logs could grow.
const maxMemory = 64

// Next is the state after a look. It never changes prev.
func Next(prev State, o Observation, p Policy, now time.Time) State {
	s := prev.clone()
	if s.Phase == "" {
		s.Phase, s.Since, s.GraceUntil = Unknown, now, now.Add(p.Grace)
	}
	for _, e := range o.Log {
		s.note(e, p)
	}
	s.Exits = slices.DeleteFunc(s.Exits, func(t time.Time) bool { return now.Sub(t) > p.Window })
	s.Answer = o.Answer
	if o.Answer == AnswerOK {
		s.Strikes, s.Percentage = 0, o.Percentage
		if o.Listed {
			s.Servers = slices.Clone(o.Servers)
		}
	} else {
		s.Strikes++
	}
	s.settleFault(o, now)
	phase, reason := s.judge(p, now)
	if phase != s.Phase {
		s.Since = now
	}
	s.Phase, s.Reason = phase, reason
	return s
}

// Restarted says that the daemon was told to start again: grace begins anew and
// what stood in the old one is forgotten.
func (s State) Restarted(p Policy, now time.Time) State {
	n := s.clone()
	n.GraceUntil, n.Strikes = now.Add(p.Grace), 0
	n.forgetFault()
	n.Servers = nil
	if n.Phase != Starting {
		n.Phase, n.Since, n.Reason = Starting, now, "the daemon was restarted"
	}
	return n
}

func (s State) clone() State {
	s.Servers, s.Sticky, s.Devices, s.Exits = slices.Clone(s.Servers), slices.Clone(s.Sticky), slices.Clone(s.Devices), slices.Clone(s.Exits)
	return s
}

func (s *State) forgetFault() {
	s.Faulted, s.Sticky, s.Culprit, s.Devices, s.recreated, s.list = time.Time{}, nil, 0, nil, time.Time{}, LogOther
}

// note folds one log line in.
func (s *State) note(e LogEvent, p Policy) {
	if e.Kind != LogNumber && e.Kind != LogOther {
		defer func() { s.list = e.Kind }()
	}
	switch e.Kind {
	case LogDaemonStart:
		s.forgetFault()
		s.Servers, s.GraceUntil = nil, e.At.Add(p.Grace)
		s.Restarts++
	case LogServerExit:
		if e.Status != 0 {
			s.Exits = bound(append(s.Exits, e.At))
		}
		s.Servers = slices.DeleteFunc(s.Servers, func(v Server) bool { return v.PID == e.PID })
		s.forgetFault() // its contexts went with it
	case LogFault:
		if s.Faulted.IsZero() || !s.recreated.IsZero() {
			s.forgetFault()
			s.Faulted = e.At
		}
	case LogClientInactive:
		if !s.Faulted.IsZero() {
			s.hold(e.PID)
		}
	case LogCulprit:
		if !s.Faulted.IsZero() && s.Culprit == 0 {
			s.Culprit = e.PID
		}
	case LogNumber:
		switch s.list {
		case LogStickyHead:
			s.hold(e.PID)
		case LogDevicesHead:
			s.Devices = bound(append(s.Devices, e.PID))
		}
	case LogClientExit:
		s.Sticky = slices.DeleteFunc(s.Sticky, func(pid int) bool { return pid == e.PID })
	case LogContextCreate, LogClientActive:
		if !s.Faulted.IsZero() && len(s.Sticky) == 0 {
			s.recreated = e.At
		}
	}
}

func (s *State) hold(pid int) {
	if !slices.Contains(s.Sticky, pid) {
		s.Sticky = bound(append(s.Sticky, pid))
		slices.Sort(s.Sticky)
	}
}

func bound[T any](xs []T) []T {
	if len(xs) > maxMemory {
		return xs[len(xs)-maxMemory:]
	}
	return xs
}

// settleFault lets a fault begin or end by what the daemon says of its servers,
// which outranks the log: a log can be cut or lost.
func (s *State) settleFault(o Observation, now time.Time) {
	if o.Answer != AnswerOK || !o.Listed {
		return
	}
	faulty, active, alive := false, len(o.Servers) > 0, map[int]bool{}
	var suspects []int
	for _, v := range o.Servers {
		faulty = faulty || v.Status == StatusFault
		active = active && v.Status == StatusActive
		for _, c := range v.Clients {
			alive[c] = true
			if v.Status == StatusFault {
				suspects = append(suspects, c)
			}
		}
	}
	s.Sticky = slices.DeleteFunc(s.Sticky, func(pid int) bool { return !alive[pid] })
	switch {
	case faulty && s.Faulted.IsZero():
		s.Faulted = now
		for _, c := range suspects { // the log said nothing: any client of that server may hold it
			s.hold(c)
		}
	case !faulty && !s.Faulted.IsZero() && (active || !s.recreated.IsZero() || len(o.Servers) == 0) && len(s.Sticky) == 0:
		s.forgetFault()
	}
}

// judge names the phase. Order matters: what makes the daemon unusable is told
// before what it is doing.
func (s *State) judge(p Policy, now time.Time) (Phase, string) {
	young := now.Before(s.GraceUntil)
	if len(s.Exits) >= p.Exits {
		return CrashLooping, fmt.Sprintf("%d servers failed within %s", len(s.Exits), p.Window)
	}
	if s.Answer != AnswerOK {
		tired := s.Strikes >= p.Strikes
		settled := s.Phase != Unknown && s.Phase != Starting
		switch {
		case !tired && settled:
			return s.Phase, fmt.Sprintf("%s, strike %d of %d", s.Answer, s.Strikes, p.Strikes)
		case young && !settled:
			return Starting, fmt.Sprintf("%s, in grace until %s", s.Answer, s.GraceUntil.UTC().Format(time.RFC3339))
		case !tired:
			return s.Phase, fmt.Sprintf("%s, strike %d of %d", s.Answer, s.Strikes, p.Strikes)
		case young && s.Phase == Absent && s.Answer != AnswerNone:
			return Starting, "the daemon starts again"
		case s.Answer == AnswerNone:
			return Wedged, fmt.Sprintf("no answer %d times", s.Strikes)
		case s.Answer == AnswerNoSocket, s.Answer == AnswerNotRunning, s.Answer == AnswerNoTool:
			return Absent, fmt.Sprintf("%s %d times", s.Answer, s.Strikes)
		default:
			return Unknown, fmt.Sprintf("%s %d times", s.Answer, s.Strikes)
		}
	}
	switch {
	case !s.Faulted.IsZero() && len(s.Sticky) > 0:
		return Fault, fmt.Sprintf("a fatal GPU error is held by %d clients", len(s.Sticky))
	case !s.Faulted.IsZero():
		if now.Sub(s.Faulted) > p.FaultSlow && len(s.Servers) > 0 && s.recreated.IsZero() {
			return Fault, fmt.Sprintf("a fatal GPU error stands for %s and nobody is known to hold it", now.Sub(s.Faulted).Round(time.Second))
		}
		return Recovering, "the clients of the fault are gone"
	case len(s.Servers) > 0:
		return Serving, fmt.Sprintf("%d servers", len(s.Servers))
	default:
		return Ready, "the daemon answers"
	}
}
