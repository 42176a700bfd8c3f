package sim

import (
	"slices"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
)

// Server is the state of a host's MPS server, of which there is one for all cards.
type Server string

// The states. ServerNone is before the first client and while the daemon is dead.
const (
	ServerNone       Server = "none"
	ServerActive     Server = "ACTIVE"
	ServerFault      Server = "FAULT"
	ServerRecovering Server = "recovering"
)

// MaxClients is how many client contexts a card has room for before CUDA 13.1.
const MaxClients = 48

// firstContext is what a process takes of a card before it allocates anything.
const firstContext gpu.MiB = 256

// Process is a CUDA process on a card. Callers only read it.
type Process struct {
	PID       int
	Container string
	Card      *Card
	Now, Peak gpu.MiB
	Limit     gpu.MiB // zero: none in force
	Client    bool    // of MPS; else it is beside it, time-sliced and uncapped
}

// Used is what the processes of a card take of it, whatever is booked.
func (c *Card) Used() gpu.MiB { return c.used }

// Processes are those on a host's cards, by task in order of start.
func (h *Host) Processes() []*Process {
	var out []*Process
	for _, t := range h.tasks {
		out = append(out, t.Processes...)
	}
	return out
}

// served reports whether the daemon takes clients. Past the gate, a process that finds
// none runs beside MPS, without its limit.
func (h *Host) served() bool { return h.MPS == DaemonServing || h.MPS == DaemonSlow }

// spawn starts the processes of a task. It fails with the words of the container's
// exit: the server refuses, the card is lost, its contexts are used up.
func (f *Fleet) spawn(t *Task) string {
	h := t.Host
	for _, c := range t.Cards {
		if c.Lost {
			return "CUDA_ERROR_NO_DEVICE"
		}
	}
	if t.Definition.need.share > 0 && h.served() && (h.Server == ServerFault || h.Server == ServerRecovering) {
		return "CUDA_ERROR_MPS_SERVER_NOT_READY"
	}
	for _, k := range t.Definition.Containers {
		for _, c := range t.cardsOf(k.Name) {
			if why := f.processes(t, k, c); why != "" {
				return why
			}
		}
	}
	f.grow(t)
	return ""
}

func (f *Fleet) processes(t *Task, k Container, c *Card) string {
	h := t.Host
	for range max(k.Processes, 1) {
		f.pids++
		p := &Process{PID: 1000 + f.pids, Container: k.Name, Card: c, Now: firstContext, Peak: k.Peak, Client: k.Memory > 0 && !k.Bypass && h.served()}
		if p.Peak == 0 {
			p.Peak = k.Memory * 7 / 10
			if k.Whole != 0 {
				p.Peak = c.Total * 7 / 10
			}
		}
		p.Peak = max(p.Peak, firstContext)
		if p.Client {
			p.Limit = k.Memory
			if c.clients >= MaxClients {
				return "CUDA_ERROR_MPS_MAX_CLIENTS_REACHED"
			}
			c.clients++
			h.Server = ServerActive
		}
		c.used = c.used.Add(p.Now)
		t.Processes = append(t.Processes, p)
	}
	return ""
}

// grow takes a task to its real peak some minutes after its start. A process over its
// own limit, or on a card that is full, runs out of memory alone.
func (f *Fleet) grow(t *Task) {
	if len(t.Processes) == 0 {
		return
	}
	f.after(f.between(30*time.Second, 5*time.Minute), func() {
		for _, p := range t.Processes {
			if p.Limit > 0 && p.Peak > p.Limit || p.Card.used.Sub(p.Now).Add(p.Peak) > p.Card.Total {
				f.exit(t, "CUDA_ERROR_OUT_OF_MEMORY")
				return
			}
			p.Card.used = p.Card.used.Sub(p.Now).Add(p.Peak)
			p.Now = p.Peak
		}
	})
}

// reap ends the processes of a task.
func (f *Fleet) reap(t *Task) {
	for _, p := range t.Processes {
		p.Card.used = p.Card.used.Sub(p.Now)
		if p.Client {
			p.Card.clients--
		}
	}
	t.Processes = nil
}

// exit is an essential container that ends by itself.
func (f *Fleet) exit(t *Task, log string) {
	if t.Desired == "STOPPED" {
		return
	}
	t.ExitCode, t.ExitLog = 1, log
	f.stop(t, "EssentialContainerExited", "Essential container in task exited")
}

// fault is a fatal error of a client: every client of its card gets it, and new ones
// of the whole host are refused until the last of them is gone. A container that
// Survives does not go by itself.
func (f *Fleet) fault(h *Host, c *Card) {
	for _, t := range h.tasks {
		if t.Desired != "STOPPED" && slices.ContainsFunc(t.Processes, func(p *Process) bool { return p.Client && p.Card == c }) && !slices.Contains(c.affected, t) {
			c.affected = append(c.affected, t)
		}
	}
	if len(c.affected) == 0 {
		return
	}
	c.Fault, h.Server = true, ServerFault
	for _, t := range slices.Clone(c.affected) {
		if !t.survives() {
			f.after(f.between(time.Second, 30*time.Second), func() { f.exit(t, "CUDA_ERROR_ILLEGAL_ADDRESS") })
		}
	}
}

func (t *Task) survives() bool {
	return slices.ContainsFunc(t.Definition.Containers, func(c Container) bool { return c.Survives })
}

// contained notes that a task is gone from its cards' faults; the last one lets the
// server build its contexts again.
func (f *Fleet) contained(t *Task) {
	h := t.Host
	for _, c := range t.Cards {
		c.affected = slices.DeleteFunc(c.affected, func(x *Task) bool { return x == t })
		c.Fault = len(c.affected) > 0
	}
	if h.Server != ServerFault || slices.ContainsFunc(h.Cards, func(c *Card) bool { return c.Fault }) {
		return
	}
	h.Server = ServerRecovering
	f.after(time.Second, func() {
		if h.Server == ServerRecovering {
			h.Server = ServerActive
		}
	})
}

// RestartMPS restarts the daemon of a host, as its unit's restart does: every client
// loses its server and exits.
func (f *Fleet) RestartMPS(h *Host) {
	for _, t := range slices.Clone(h.tasks) {
		if slices.ContainsFunc(t.Processes, func(p *Process) bool { return p.Client }) {
			f.exit(t, "CUDA_ERROR_MPS_CONNECTION_FAILED")
		}
	}
	h.Server = ServerNone
	for _, c := range h.Cards {
		c.Fault, c.affected = false, nil
	}
	f.daemon(h, DaemonServing)
}

// TerminateClients ends clients by host PID as terminate_client does, and returns how
// many it found. Their tasks then exit.
func (f *Fleet) TerminateClients(h *Host, pids ...int) int {
	n := 0
	for _, t := range slices.Clone(h.tasks) {
		if slices.ContainsFunc(t.Processes, func(p *Process) bool { return p.Client && slices.Contains(pids, p.PID) }) {
			n++
			f.exit(t, "CUDA_ERROR_MPS_CLIENT_TERMINATED")
		}
	}
	return n
}
