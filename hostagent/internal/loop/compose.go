package loop

import (
	"errors"
	"slices"
	"time"

	"github.com/bulkhead-ecs/bulkhead/events"
	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/attribution"
	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/kmsg"
	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/mps"
	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/nvml"
	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/nvmlchild"
	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/health"
)

// Picture is what is known of the host.
type Picture struct {
	NVML  nvmlchild.Update
	View  attribution.View
	Peaks map[attribution.Share]gpu.MiB

	MPS        mps.State
	PipeDir    string
	Protocol   int
	LogSkipped uint64
	Decision   *events.ReportMPSDecision

	Signals   []events.ReportSignal
	Drops     events.ReportDrops
	Settings  string
	Preflight *events.ReportPreflight
}

// compose writes the picture as a report, within the bounds of one. Times, number
// and cause are the caller's.
func compose(p Picture) events.HostReport {
	r := events.HostReport{
		Schema: events.HostReportSchema, NVML: nvmlWord(p.NVML), Driver: p.NVML.Sample.Driver, CUDA: max(p.NVML.Sample.CUDA, 0),
		Signals: p.Signals[:min(len(p.Signals), events.MaxReportSignals)], Drops: p.Drops, Settings: p.Settings, Preflight: p.Preflight,
	}
	clients := map[gpu.UUID]int{}
	for _, u := range p.View.Usages {
		if u.Client == attribution.ClientMPS || u.Client == attribution.ClientMixed {
			clients[u.Device] += len(u.PIDs)
		}
	}
	for _, d := range p.NVML.Sample.Devices[:min(len(p.NVML.Sample.Devices), events.MaxReportDevices)] {
		r.Devices = append(r.Devices, device(d, clients[d.UUID]))
	}
	owners := map[int]attribution.Container{}
	for _, u := range p.View.Usages {
		for _, pid := range u.PIDs {
			owners[pid] = u.Container
		}
	}
	r.MPS = mpsReport(p, owners)
	for _, u := range p.View.Usages {
		if len(r.Shares) == events.MaxReportShares {
			r.Drops.Shares++
			continue
		}
		r.Shares = append(r.Shares, share(u, p.Peaks))
		if u.Client == attribution.ClientBypass || u.Client == attribution.ClientMixed {
			r.Processes = append(r.Processes, bypass(u)...)
		}
	}
	for _, f := range p.View.Foreign {
		q := events.ReportProcess{PID: f.PID, GPU: string(f.Device), Kind: "foreign", Container: text(f.Container), Command: text(f.Name)}
		if f.Known {
			q.UsedMiB = number(f.Memory)
		}
		r.Processes = append(r.Processes, q)
	}
	r.Processes = r.Processes[:min(len(r.Processes), events.MaxReportProcesses)]
	return r
}

func nvmlWord(u nvmlchild.Update) string {
	switch u.Condition {
	case nvmlchild.OK:
		return "ok"
	case nvmlchild.Hung, nvmlchild.Stuck:
		return "hung"
	}
	switch {
	case errors.Is(u.Err, nvml.ErrNoDriver):
		return "no-driver"
	case errors.Is(u.Err, nvml.ErrMismatch):
		return "mismatch"
	case errors.Is(u.Err, nvml.ErrUnavailable), u.Err == nil:
		return "unavailable"
	}
	return "error"
}

func device(d nvml.Device, clients int) events.ReportDevice {
	r := events.ReportDevice{UUID: string(d.UUID), Index: d.Index, Name: text(d.Name), Lost: d.Lost, ResetWant: d.ResetRequired}
	if d.Memory != nil {
		r.TotalMiB, r.UsedMiB = int64(d.Memory.Usable), number(d.Memory.Used)
	}
	if d.Utilization != nil {
		v := int32(*d.Utilization)
		r.Compute = &v
	}
	if d.HasMPS {
		r.Clients = &clients
	}
	if r.UUID == "" {
		r.Lost = true // a card that does not say who it is cannot be used
	}
	return r
}

func share(u attribution.Usage, peaks map[attribution.Share]gpu.MiB) events.ReportShare {
	s := events.ReportShare{
		TaskArn: u.Container.Task, Container: text(u.Container.Name), Family: text(u.Container.Family), GPU: string(u.Device), Image: u.Container.Image,
		Processes: len(u.PIDs), MPS: u.Client == attribution.ClientMPS, OverCeiling: u.OverBy > 0,
	}
	if u.Unknown == 0 {
		s.UsedMiB = number(u.Memory)
	}
	if p, ok := peaks[attribution.Share{Container: u.Container.ID, Device: u.Device}]; ok {
		s.PeakMiB = number(p)
	}
	if u.InForce.Memory > 0 {
		s.LimitMiB = number(u.InForce.Memory)
	}
	if u.InForce.Compute > 0 {
		v := int32(u.InForce.Compute)
		s.Percent = &v
	}
	return s
}

func bypass(u attribution.Usage) (out []events.ReportProcess) {
	for _, pid := range u.PIDs {
		out = append(out, events.ReportProcess{PID: pid, GPU: string(u.Device), Kind: "bypass", TaskArn: u.Container.Task, Container: text(u.Container.Name)})
	}
	return out
}

func mpsReport(p Picture, owners map[int]attribution.Container) events.ReportMPS {
	s := p.MPS
	m := events.ReportMPS{
		State: string(s.Phase), Since: s.Since.UTC(), PipeDir: p.PipeDir, Protocol: p.Protocol, Percentage: s.Percentage, Exits: len(s.Exits),
		Reason: text(s.Reason), Decision: p.Decision, LogDropped: p.LogSkipped, Answer: answerWord(s.Answer),
	}
	if m.State == "" {
		m.State = string(mps.Unknown)
	}
	holder := func(pid int) events.ReportMPSHolder {
		c := owners[pid]
		return events.ReportMPSHolder{PID: pid, TaskArn: c.Task, Container: text(c.Name)}
	}
	for _, v := range s.Servers[:min(len(s.Servers), events.MaxReportServers)] {
		m.Servers = append(m.Servers, events.ReportMPSServer{PID: v.PID, Clients: slices.Clone(v.Clients[:min(len(v.Clients), events.MaxReportClientPIDs)])})
		for _, c := range v.Clients {
			if _, known := owners[c]; !known {
				m.Unmapped++
			}
		}
	}
	for _, pid := range s.Sticky {
		m.Holders = append(m.Holders, holder(pid))
	}
	if s.Culprit != 0 {
		h := holder(s.Culprit)
		m.Culprit = &h
	}
	return m
}

func answerWord(k mps.AnswerKind) string {
	switch k {
	case mps.AnswerOK, mps.AnswerNoSocket, mps.AnswerNone, mps.AnswerNotRunning, "":
		return string(k)
	case mps.AnswerNoTool:
		return string(mps.AnswerNoSocket)
	}
	return string(mps.AnswerRefused)
}

// wire writes a health signal for a report.
func wire(s health.Signal) events.ReportSignal {
	w := events.ReportSignal{
		Kind: string(s.Kind), GPU: string(s.Device), Witness: string(s.Witness), Code: s.Code, PID: s.PID, TaskArn: s.Task, Family: s.Family, Unit: s.Unit,
		Text: kmsg.Printable(s.Text, events.MaxReportTextBytes), Reading: uint8(s.Reading), Expected: s.Expected, Count: max(s.Count, 1),
		FirstSeen: s.FirstSeen.UTC(), LastSeen: s.LastSeen.UTC(),
	}
	if s.HasValue {
		v := s.Value
		w.Value = &v
	}
	return w
}

func number(m gpu.MiB) *int64 { v := int64(max(m, 0)); return &v }

func text(s string) string { return kmsg.Printable(s, 200) }

// stopsFor keeps the stops that can still matter.
func stopsFor(stops []mps.Stop, now time.Time) []mps.Stop {
	return slices.DeleteFunc(stops, func(s mps.Stop) bool { return now.After(s.Signalled.Add(s.Timeout + time.Minute)) })
}
