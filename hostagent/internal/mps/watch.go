package mps

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// LogDir is where the daemon logs when its unit does not say otherwise.
const LogDir = "/var/log/nvidia-mps"

// Bounds of one look.
const (
	maxServers = 64
	maxClients = 64
)

// Watcher looks at the daemon. It is for one goroutine.
type Watcher struct {
	Control Control
	Logs    []*Tail
	Policy  Policy
	Zone    *time.Location // of the log's times
	Want    *float64       // default active-thread percentage to keep; nil leaves it alone

	state    State
	protocol int
	noStatus bool // this release has no get_server_status
}

// NewWatcher watches the daemon of pipeDir whose logs are in logDir.
func NewWatcher(c Control, logDir string, p Policy) *Watcher {
	return &Watcher{Control: c, Policy: p, Zone: time.Local, Logs: []*Tail{
		{Path: filepath.Join(logDir, "control.log")}, {Path: filepath.Join(logDir, "server.log")},
	}}
}

// State is the last one; Protocol is 2 or 3, 0 before the first answer.
func (w *Watcher) State() State { return w.state }

// Protocol is the control protocol in use: 2, 3, or 0 while not known.
func (w *Watcher) Protocol() int { return w.protocol }

// Skipped is how many log bytes were passed over.
func (w *Watcher) Skipped() (n uint64) {
	for _, t := range w.Logs {
		n += t.Skipped()
	}
	return n
}

// Restarted tells the watcher that the daemon was restarted on purpose.
func (w *Watcher) Restarted(now time.Time) { w.state = w.state.Restarted(w.Policy, now) }

// Look asks, reads the logs, keeps the percentage, and returns the state.
// A log that cannot be read is an error beside a state that stands without it.
func (w *Watcher) Look(ctx context.Context, now time.Time) (State, error) {
	var o Observation
	var failed error
	for _, t := range w.Logs {
		lines, err := t.Lines()
		if err != nil && failed == nil {
			failed = fmt.Errorf("read MPS log: %w", err)
		}
		for _, l := range lines {
			if e, ok := ParseLog(l, w.Zone); ok && e.Kind != LogOther {
				o.Log = append(o.Log, e)
			}
		}
	}
	slices.SortStableFunc(o.Log, func(a, b LogEvent) int { return a.At.Compare(b.At) })
	w.probe(ctx, &o)
	if o.Answer == AnswerOK {
		w.list(ctx, &o)
	}
	w.state = Next(w.state, o, w.Policy, now)
	return w.state, failed
}

// probe asks what the ECS agent asks, and by it learns the protocol.
func (w *Watcher) probe(ctx context.Context, o *Observation) {
	a := w.Control.Ask(ctx, "get_default_active_thread_percentage")
	if a.Kind == AnswerUnknown {
		// The tool of release 610 and newer follows a daemon of protocol 3, whose
		// commands are "module verb".
		if b := w.Control.Ask(ctx, "server list"); b.Kind == AnswerOK {
			w.protocol, o.Answer = 3, AnswerOK
			return
		}
	}
	o.Answer = a.Kind
	if a.Kind != AnswerOK {
		return
	}
	w.protocol = 2
	p, ok := a.Percentage()
	if !ok {
		return
	}
	if w.Want != nil && *w.Want != p {
		w.Control.Ask(ctx, "set_default_active_thread_percentage "+strconv.FormatFloat(*w.Want, 'f', 1, 64))
		if q, ok := w.Control.Ask(ctx, "get_default_active_thread_percentage").Percentage(); ok {
			p = q // what stands, not what was asked: a refused set exits 0 too
		}
	}
	o.Percentage = &p
}

func (w *Watcher) list(ctx context.Context, o *Observation) {
	if w.protocol == 3 {
		return // its tables are not known: servers are left unlisted, not guessed
	}
	a := w.Control.Ask(ctx, "get_server_list")
	if a.Kind != AnswerOK {
		return
	}
	pids, _ := a.PIDs(maxServers)
	o.Listed = true
	for _, pid := range pids {
		v := Server{PID: pid}
		if !w.noStatus {
			s := w.Control.Ask(ctx, "get_server_status "+strconv.Itoa(pid))
			w.noStatus = s.Kind == AnswerUnknown
			v.Status = s.ServerStatus()
		}
		c := w.Control.Ask(ctx, "get_client_list "+strconv.Itoa(pid))
		if c.Kind == AnswerNotFound {
			continue // it went between the two questions
		}
		v.Clients, _ = c.PIDs(maxClients)
		slices.Sort(v.Clients)
		o.Servers = append(o.Servers, v)
	}
}
