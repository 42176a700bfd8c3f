// Package metrics serves what the agent knows in the Prometheus text format, on
// loopback. Each answer is written from one snapshot, so a series is gone when its
// task or card is. The format is written here rather than with a client library: that
// costs 2.7 MiB at rest (docs/performance/agent.md), and the format is small; a test reads it back with the format's own parser.
package metrics

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/bulkhead-ecs/bulkhead/events"
)

// Snapshot is what one answer tells.
type Snapshot struct {
	Report  events.HostReport
	Version string
	Xids    map[int]uint64 // by code, since the start
	LastXid time.Time

	Sent, Refused, Failed uint64
	Waiting               int
	Collected             time.Time // last good sample
	CollectOK             bool
	MPSRestarts           int
}

const mib = 1 << 20

var phases = []string{"absent", "starting", "ready", "serving", "fault", "recovering", "wedged", "crash-looping", "unknown"}

// Write writes s.
func Write(w io.Writer, s Snapshot) {
	p := &page{w: w}
	r := s.Report
	p.head("ecsgpu_build_info", "gauge", "Version of the host agent.")
	p.row("ecsgpu_build_info", 1, "version", s.Version)
	p.head("ecsgpu_gpu_memory_bytes", "gauge", "Memory of a card by state.")
	for _, d := range r.Devices {
		p.row("ecsgpu_gpu_memory_bytes", float64(d.TotalMiB)*mib, "gpu", d.UUID, "state", "total")
		if d.UsedMiB != nil {
			p.row("ecsgpu_gpu_memory_bytes", float64(*d.UsedMiB)*mib, "gpu", d.UUID, "state", "used")
		}
	}
	p.head("ecsgpu_gpu_compute_ratio", "gauge", "Use of a card's compute, 0 to 1.")
	for _, d := range r.Devices {
		if d.Compute != nil {
			p.row("ecsgpu_gpu_compute_ratio", float64(*d.Compute)/100, "gpu", d.UUID, "state", "used")
		}
	}
	p.head("ecsgpu_gpu_mps_clients", "gauge", "MPS clients on a card.")
	for _, d := range r.Devices {
		if d.Clients != nil {
			p.row("ecsgpu_gpu_mps_clients", float64(*d.Clients), "gpu", d.UUID)
		}
	}
	p.tasks(r.Shares)
	p.mps(s)
	p.agent(s)
}

func (p *page) tasks(shares []events.ReportShare) {
	p.head("ecsgpu_task_memory_bytes", "gauge", "Device memory of one container on one card: limit, used, peak.")
	for _, h := range shares {
		for kind, v := range map[string]*int64{"limit": h.LimitMiB, "peak": h.PeakMiB, "used": h.UsedMiB} {
			if v != nil {
				p.row("ecsgpu_task_memory_bytes", float64(*v)*mib, "task", h.TaskArn, "container", h.Container, "gpu", h.GPU, "kind", kind)
			}
		}
	}
	p.head("ecsgpu_task_processes", "gauge", "GPU processes of one container on one card.")
	for _, h := range shares {
		p.row("ecsgpu_task_processes", float64(h.Processes), "task", h.TaskArn, "container", h.Container, "gpu", h.GPU)
	}
}

func (p *page) mps(s Snapshot) {
	p.head("ecsgpu_mps_server_state", "gauge", "State of MPS, one-hot.")
	for _, state := range phases {
		v := 0.0
		if state == s.Report.MPS.State {
			v = 1
		}
		p.row("ecsgpu_mps_server_state", v, "state", state)
	}
	bypass := 0
	for _, q := range s.Report.Processes {
		if q.Kind == "bypass" {
			bypass++
		}
	}
	p.head("ecsgpu_mps_bypass_processes", "gauge", "Processes of tasks that use a card beside MPS.")
	p.row("ecsgpu_mps_bypass_processes", float64(bypass))
	p.head("ecsgpu_mps_restarts_total", "counter", "Starts of the MPS daemon seen.")
	p.row("ecsgpu_mps_restarts_total", float64(s.MPSRestarts))
}

func (p *page) agent(s Snapshot) {
	p.head("ecsgpu_xid_total", "counter", "Xid errors by code.")
	for code, n := range s.Xids {
		p.row("ecsgpu_xid_total", float64(n), "xid", strconv.Itoa(code))
	}
	if !s.LastXid.IsZero() {
		p.head("ecsgpu_xid_last_seen_timestamp_seconds", "gauge", "When the last Xid was seen.")
		p.row("ecsgpu_xid_last_seen_timestamp_seconds", float64(s.LastXid.Unix()))
	}
	ok := 0.0
	if s.CollectOK {
		ok = 1
	}
	p.head("ecsgpu_agent_collect_success", "gauge", "1 when the last sample of the cards was good.")
	p.row("ecsgpu_agent_collect_success", ok)
	if !s.Collected.IsZero() {
		p.head("ecsgpu_agent_last_collect_timestamp_seconds", "gauge", "When the cards were last sampled.")
		p.row("ecsgpu_agent_last_collect_timestamp_seconds", float64(s.Collected.Unix()))
	}
	p.head("ecsgpu_agent_reports_total", "counter", "Reports by what became of them; failed counts attempts.")
	p.row("ecsgpu_agent_reports_total", float64(s.Sent), "result", "sent")
	p.row("ecsgpu_agent_reports_total", float64(s.Refused), "result", "refused")
	p.row("ecsgpu_agent_reports_total", float64(s.Failed), "result", "failed")
	p.row("ecsgpu_agent_reports_total", float64(s.Report.Drops.Reports), "result", "dropped")
	p.head("ecsgpu_agent_spool_reports", "gauge", "Reports that wait on disk.")
	p.row("ecsgpu_agent_spool_reports", float64(s.Waiting))
}

type page struct{ w io.Writer }

func (p *page) head(name, kind, help string) {
	fmt.Fprintf(p.w, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

var escape = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

func (p *page) row(name string, v float64, labels ...string) {
	var b strings.Builder
	b.WriteString(name)
	for i := 0; i+1 < len(labels); i += 2 {
		sep := ","
		if i == 0 {
			sep = "{"
		}
		fmt.Fprintf(&b, "%s%s=\"%s\"", sep, labels[i], escape.Replace(strings.ToValidUTF8(labels[i+1], "?")))
	}
	if len(labels) > 1 {
		b.WriteByte('}')
	}
	fmt.Fprintf(p.w, "%s %s\n", b.String(), strconv.FormatFloat(v, 'g', -1, 64))
}

// Serve answers /metrics and /healthz on addr, which must be of loopback, until
// the listener is closed.
func Serve(addr string, snapshot func() Snapshot) (*http.Server, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		Write(w, snapshot())
	})
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 10 * time.Second, MaxHeaderBytes: 8 << 10}
	go func() { _ = srv.Serve(l) }() // ends with the listener
	return srv, nil
}
