package mps

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// RestartPlan is whether the daemon may be restarted and who would be hurt.
type RestartPlan struct {
	Allowed bool
	Hurt    []int // healthy clients that it would end, sorted
	Lost    []int // clients that are lost already
	Reason  string
}

// RestartOrder is a person's or document's order. AcceptHurt is the cost that it
// states: the highest number of healthy clients that may be ended.
type RestartOrder struct {
	Given      bool
	AcceptHurt int
}

// PlanRestart decides on a restart. By itself it is allowed only where the
// daemon is beyond use and no healthy client is left; an order may accept a
// stated number of hurt clients. A wedged daemon's clients cannot be counted by
// asking it: the last list counts as healthy.
func PlanRestart(s State, order RestartOrder) RestartPlan {
	var p RestartPlan
	for _, v := range s.Servers {
		for _, c := range v.Clients {
			if slices.Contains(s.Sticky, c) {
				p.Lost = append(p.Lost, c)
			} else {
				p.Hurt = append(p.Hurt, c)
			}
		}
	}
	slices.Sort(p.Hurt)
	slices.Sort(p.Lost)
	broken := s.Phase == Wedged || s.Phase == CrashLooping || s.Phase == Absent || s.Phase == Fault && len(p.Hurt) == 0
	switch {
	case order.Given && len(p.Hurt) <= order.AcceptHurt:
		p.Allowed, p.Reason = true, fmt.Sprintf("ordered: %d healthy clients end, %d accepted", len(p.Hurt), order.AcceptHurt)
	case order.Given:
		p.Reason = fmt.Sprintf("%d healthy clients would end and only %d are accepted", len(p.Hurt), order.AcceptHurt)
	case !broken:
		p.Reason = fmt.Sprintf("the daemon is %s: nothing to mend", s.Phase)
	case len(p.Hurt) > 0:
		p.Reason = fmt.Sprintf("%d healthy clients would end", len(p.Hurt))
	default:
		p.Allowed, p.Reason = true, fmt.Sprintf("the daemon is %s and no healthy client is left", s.Phase)
	}
	return p
}

// Stop is a container on its way out: Docker sent its stop signal at Signalled
// and sends SIGKILL Timeout later.
type Stop struct {
	Container string // id
	Signalled time.Time
	Timeout   time.Duration
}

// Owner proves who stands behind a process: it must have been read from the
// process itself, whose start time guards against a reused id.
type Owner struct {
	Container string
	StartTime uint64 // clock ticks since boot; 0 is not known
}

// Termination is one terminate_client to be sent.
type Termination struct {
	Server, Client int
	StartTime      uint64 // the sender reads it again right before
	Container      string
	Due            time.Time // not before
}

// StopPolicy is when a client is taken out before its container's SIGKILL.
type StopPolicy struct {
	Lead time.Duration // this long before SIGKILL
	Late time.Duration // after SIGKILL is due by this much, it is over
}

// DefaultStopPolicy leaves the task as long as it can and the daemon time to act.
func DefaultStopPolicy() StopPolicy {
	return StopPolicy{Lead: 1500 * time.Millisecond, Late: 500 * time.Millisecond}
}

// PlanStops says which clients must be terminated now and when to look again
// (zero: never). A client is touched only while the daemon serves and only when
// owners proves that it belongs to the stopping container and to no other; refused
// names those that were left alone, and why.
func PlanStops(s State, stops []Stop, owners map[int]Owner, p StopPolicy, now time.Time) (due []Termination, wake time.Time, refused []string) {
	if s.Phase != Serving && s.Phase != Fault && s.Phase != Recovering {
		return nil, time.Time{}, nil
	}
	for _, st := range stops {
		lead := min(p.Lead, st.Timeout/2) // a short timeout still belongs to the task first
		kill := st.Signalled.Add(st.Timeout)
		at := kill.Add(-lead)
		if st.Container == "" || now.After(kill.Add(p.Late)) {
			continue
		}
		if now.Before(at) {
			if wake.IsZero() || at.Before(wake) {
				wake = at
			}
			continue
		}
		for _, v := range s.Servers {
			for _, c := range v.Clients {
				o, known := owners[c]
				switch {
				case !known:
					refused = append(refused, fmt.Sprintf("client %d: its container is not known", c))
				case o.Container != st.Container:
				case o.StartTime == 0:
					refused = append(refused, fmt.Sprintf("client %d: its start time is not known", c))
				default:
					due = append(due, Termination{Server: v.PID, Client: c, StartTime: o.StartTime, Container: st.Container, Due: at})
				}
			}
		}
	}
	slices.SortFunc(due, func(a, b Termination) int { return a.Client - b.Client })
	slices.Sort(refused)
	return due, wake, slices.Compact(refused)
}

// Terminated tells whether terminate_client worked: its last line is "0", or the
// name that CUDA gives to it.
func Terminated(a Answer) bool {
	lines := strings.Fields(a.Text)
	if a.Kind != AnswerOK || len(lines) == 0 {
		return false
	}
	last := lines[len(lines)-1]
	return last == "0" || last == "CUDA_SUCCESS"
}
