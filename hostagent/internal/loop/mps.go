package loop

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/bulkhead-ecs/bulkhead/events"
	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/attribution"
	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/mps"
	"github.com/bulkhead-ecs/bulkhead/internal/health"
)

// Processes reads one process whole, or fails when it is gone.
type Processes interface {
	Read(pid int) (attribution.Process, error)
}

// MPS is the goroutine that watches the daemon and acts on it.
type MPS struct {
	Agent     *Agent
	Watcher   *mps.Watcher
	PipeDir   string
	Detect    func() (string, bool) // looks for the pipe directory again; nil: it is set
	Probe     time.Duration
	Proc      Processes
	Restarter mps.Restarter
	Auto      bool // restart a broken daemon that no healthy client uses
	Log       *slog.Logger

	Stops chan mps.Stop

	teller   mps.Teller
	waiting  []mps.Stop
	done     map[int]uint64 // clients that were terminated, with their start time
	decision *events.ReportMPSDecision
	tried    time.Time // last restart
}

// restartEvery spaces restarts: one that did not help is not repeated at once.
const restartEvery = 10 * time.Minute

// Run watches until ctx ends.
func (m *MPS) Run(ctx context.Context) {
	m.done = map[int]uint64{}
	t := time.NewTimer(0)
	defer t.Stop()
	look := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case s := <-m.Stops:
			if len(m.waiting) < 256 {
				m.waiting = append(m.waiting, s)
			}
		case <-t.C:
		}
		if !time.Now().Before(look) { // by its own hour: a stream of stops must not put it off
			m.look(ctx)
			look = time.Now().Add(m.Probe)
		}
		t.Reset(max(0, min(time.Until(look), m.stopClients(ctx))))
	}
}

func (m *MPS) look(ctx context.Context) {
	m.Watcher.Want = m.Agent.Settings.Get().Percent
	now := m.Agent.Now()
	before := m.Watcher.State().Phase
	if m.Detect != nil && m.Watcher.State().Answer != mps.AnswerOK {
		if dir, ok := m.Detect(); ok && dir != m.PipeDir { // an image that moved the directory, or a daemon that came late
			m.Log.Info("MPS pipe directory", "dir", dir, "was", m.PipeDir)
			m.PipeDir, m.Watcher.Control = dir, mps.Exec{PipeDir: dir}
		}
	}
	s, err := m.Watcher.Look(ctx, now)
	if ctx.Err() != nil {
		return // the daemon was not asked to the end
	}
	if err != nil {
		m.Log.Warn("MPS log not read", "error", err.Error())
	}
	if s.Phase != before {
		m.Log.Info("MPS state", "state", string(s.Phase), "was", string(before), "reason", s.Reason, "answer", string(s.Answer), "clients_holding", len(s.Sticky))
	}
	m.restart(ctx, s, now)
	m.tell(ctx, m.Watcher.State(), m.teller.Tell(s, m.Agent.Identity.Boot, now)...)
}

func (m *MPS) tell(ctx context.Context, s mps.State, sig ...health.Signal) {
	protocol, skipped, decision, dir := m.Watcher.Protocol(), m.Watcher.Skipped(), m.decision, m.PipeDir
	a := m.Agent
	a.feed(ctx, func() {
		a.pic.MPS, a.pic.PipeDir, a.pic.Protocol, a.pic.LogSkipped, a.pic.Decision = s, dir, protocol, skipped, decision
		a.add(sig...)
	})
}

// restart mends a broken daemon, if that is allowed and hurts nobody.
func (m *MPS) restart(ctx context.Context, s mps.State, now time.Time) {
	if s.Phase != mps.Wedged && s.Phase != mps.CrashLooping || !m.tried.IsZero() && now.Sub(m.tried) < restartEvery {
		return
	}
	p := mps.PlanRestart(s, mps.RestartOrder{})
	m.decision = &events.ReportMPSDecision{At: now.UTC(), Action: "restart", Acted: p.Allowed && m.Auto, Hurt: len(p.Hurt), Reason: p.Reason}
	m.Log.Info("MPS restart decision", "allowed", p.Allowed, "auto", m.Auto, "hurt", len(p.Hurt), "reason", p.Reason)
	if !p.Allowed || !m.Auto {
		return
	}
	m.tried = now
	if err := m.Restarter.Restart(ctx); err != nil {
		m.decision.Reason += "; failed: " + err.Error()
		m.Log.Error("MPS restart failed", "error", err.Error())
		return
	}
	m.Watcher.Restarted(m.Agent.Now())
	m.Log.Info("MPS restarted", "reason", p.Reason)
}

// stopClients takes out the clients of containers that are about to be killed,
// and returns when to look again.
func (m *MPS) stopClients(ctx context.Context) time.Duration {
	now := m.Agent.Now()
	m.waiting = stopsFor(m.waiting, now)
	if len(m.waiting) == 0 || !m.Agent.Settings.Get().SafeStop {
		return m.Probe
	}
	s := m.Watcher.State()
	owners := map[int]mps.Owner{}
	for _, v := range s.Servers {
		for _, c := range v.Clients {
			if p, err := m.Proc.Read(c); err == nil && p.Container != "" {
				owners[c] = mps.Owner{Container: p.Container, StartTime: p.Start}
			}
		}
	}
	due, wake, refused := mps.PlanStops(s, m.waiting, owners, mps.DefaultStopPolicy(), now)
	for _, r := range refused {
		m.Log.Warn("client left alone", "reason", r)
	}
	for _, d := range due {
		if m.done[d.Client] != d.StartTime {
			m.terminate(ctx, d)
		}
	}
	if wake.IsZero() {
		return m.Probe
	}
	return min(m.Probe, max(wake.Sub(now), 10*time.Millisecond))
}

// terminate asks the daemon to end one client, after a last look at whose it is.
func (m *MPS) terminate(ctx context.Context, d mps.Termination) {
	p, err := m.Proc.Read(d.Client)
	if err != nil || p.Start != d.StartTime || p.Container != d.Container {
		m.Log.Warn("client left alone", "reason", fmt.Sprintf("process %d is no longer that of container %.12s", d.Client, d.Container))
		return
	}
	m.Log.Info("terminating MPS client", "server", d.Server, "client", d.Client, "container", d.Container)
	answer := m.Watcher.Control.Ask(ctx, fmt.Sprintf("terminate_client %d %d", d.Server, d.Client))
	m.Log.Info("terminated MPS client", "client", d.Client, "ok", mps.Terminated(answer), "answer", answer.Text, "took_ms", answer.Took.Milliseconds())
	if len(m.done) > 1024 {
		m.done = map[int]uint64{}
	}
	m.done[d.Client] = d.StartTime
	m.decision = &events.ReportMPSDecision{At: m.Agent.Now().UTC(), Action: "terminate_client", Acted: mps.Terminated(answer), Reason: fmt.Sprintf("container %.12s is being stopped", d.Container)}
}
