package local

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bulkhead-ecs/bulkhead/events"
	"github.com/bulkhead-ecs/bulkhead/internal/fleet"
	"github.com/bulkhead-ecs/bulkhead/internal/health"
	"github.com/bulkhead-ecs/bulkhead/internal/sim"
)

const (
	lease       = 300 * time.Second
	agentRole   = "ecsInstanceRole"
	agentDriver = "580.95.05"
	clearings   = 3 // readings that take something back
)

// agent is what one host's agent remembers. It stands in for the real one, sees
// the simulated host instead of NVML, and sends the real reports.
type agent struct {
	boot     string
	sequence uint64
	last     time.Time
	look     string // what the last report said, as far as a change is told at once
	xids     map[string]int
	bad      map[health.Kind]int // readings left to tell
	booted   time.Time
}

// agents are those of all hosts, by EC2 id.
type agents map[string]*agent

// sight is a host with what its containers hold, read at one moment.
type sight struct {
	host  sim.Host
	cards []sim.Card
	holds []sim.Holding
	defs  map[string]*sim.Definition // by task ARN
}

// see reads all hosts whose agents can speak.
func (w *world) see() (out []sight, now time.Time) {
	w.face.Do(func(f *sim.Fleet) {
		now = f.Now()
		byHost := map[string][]sim.Holding{}
		for _, h := range f.Truth() {
			if !h.Waiting {
				byHost[h.Host] = append(byHost[h.Host], h)
			}
		}
		for _, h := range f.Hosts() {
			if h.EC2State != "running" || h.Silent || h.Status == "REGISTERING" {
				continue
			}
			s := sight{host: *h, holds: byHost[h.ARN], defs: map[string]*sim.Definition{}}
			for _, c := range h.Cards {
				s.cards = append(s.cards, *c)
			}
			for _, x := range s.holds {
				if t, ok := f.Task(x.Task); ok {
					s.defs[x.Task] = t.Definition
				}
			}
			out = append(out, s)
		}
	})
	return out, now
}

// report lets every agent that has something to say, or whose lease is due, say it.
func (as agents) report(ctx context.Context, w *world, to *fleet.Reports) error {
	seen, now := w.see()
	for _, s := range seen {
		a := as[s.host.EC2]
		if a == nil {
			a = &agent{xids: map[string]int{}, bad: map[health.Kind]int{}}
			as[s.host.EC2] = a
		}
		if a.boot != s.host.Boot {
			fresh := agent{boot: s.host.Boot, booted: now.Add(-time.Minute), xids: map[string]int{}, bad: map[health.Kind]int{}}
			for _, c := range s.cards {
				if a.boot != "" { // a kernel log begins anew with the boot
					fresh.xids[string(c.UUID)] = len(c.Xids)
				}
			}
			*a = fresh
		}
		rep := a.compose(s, now)
		if rep == nil {
			continue
		}
		body, err := json.Marshal(rep)
		if err != nil {
			return err
		}
		_, err = to.Accept(ctx, fleet.Signer{Account: worldAccount, Role: agentRole, Session: s.host.EC2}, s.host.EC2, body)
		switch {
		case errors.Is(err, fleet.ErrReportUnknown):
			a.sequence, a.look = a.sequence-1, "" // ECS's word of the host is on its way: said again
		case err != nil:
			return err
		default:
			a.last = now
		}
	}
	return nil
}

// compose makes a report, or nil when there is nothing to tell.
func (a *agent) compose(s sight, now time.Time) *events.HostReport {
	signals := a.signals(s, now)
	mps := mpsState(s)
	look := fmt.Sprint(mps, s.host.NVMLHang, len(s.holds))
	cause := "change"
	switch {
	case a.sequence == 0:
		cause = "start"
	case now.Sub(a.last) >= lease:
		cause = "lease"
	case look == a.look && len(signals) == 0:
		return nil
	}
	a.sequence++
	a.look = look
	rep := &events.HostReport{Schema: events.HostReportSchema, InstanceID: s.host.EC2, BootID: a.boot, Sequence: a.sequence, AgentVersion: "local", ObservedAt: now, SentAt: now,
		UptimeSeconds: now.Sub(a.booted).Seconds(), Cause: cause, LeaseSeconds: int(lease.Seconds()), NVML: "ok", Driver: agentDriver, CUDA: 13000,
		MPS: events.ReportMPS{State: mps, Since: now, PipeDir: "/run/mps-ecs", Protocol: 2}, Signals: signals}
	if s.host.NVMLHang {
		rep.NVML = "hung"
		return rep
	}
	rep.Shares = shares(s)
	for i, c := range s.cards {
		d := events.ReportDevice{UUID: string(c.UUID), Index: i, Name: s.host.Shape.Name, TotalMiB: int64(c.Total), Lost: slices.Contains(c.Xids, 79)}
		var sum int64
		clients := 0
		for _, x := range rep.Shares {
			if x.GPU == d.UUID {
				sum, clients = sum+*x.UsedMiB, clients+1
			}
		}
		d.UsedMiB, d.Clients = &sum, &clients
		rep.Devices = append(rep.Devices, d)
	}
	return rep
}

func mpsState(s sight) string {
	switch {
	case s.host.MPS == sim.DaemonDead:
		return "absent"
	case s.host.MPS == sim.DaemonWedged:
		return "wedged"
	case slices.ContainsFunc(s.cards, func(c sim.Card) bool { return c.Fault }):
		return "fault"
	case len(s.holds) == 0:
		return "ready"
	}
	return "serving"
}

// shares are what the containers hold, with the limits that ECS put in force.
func shares(s sight) []events.ReportShare {
	var out []events.ReportShare
	for _, h := range s.holds {
		def := s.defs[h.Task]
		if def == nil {
			continue
		}
		x := events.ReportShare{TaskArn: h.Task, Container: h.Container, GPU: string(h.Card), Family: fmt.Sprintf("%s:%d", def.Family, def.Revision), Processes: 1, MPS: h.Memory > 0}
		held := used(h)
		if h.Memory == 0 { // a whole card
			held = s.cards[0].Total * 7 / 10
		} else {
			limit := int64(h.Memory)
			x.LimitMiB = &limit
			if i := slices.IndexFunc(def.Containers, func(c sim.Container) bool { return c.Name == h.Container }); i >= 0 && def.Containers[i].Compute > 0 {
				percent := int32(def.Containers[i].Compute)
				x.Percent = &percent
			}
		}
		mib, peak := int64(held), int64(held*105/100)
		x.UsedMiB, x.PeakMiB, x.OverCeiling = &mib, &peak, h.Memory > 0 && held > h.Memory
		out = append(out, x)
	}
	slices.SortFunc(out, func(a, b events.ReportShare) int {
		return cmp.Or(cmp.Compare(a.GPU, b.GPU), cmp.Compare(a.TaskArn, b.TaskArn), cmp.Compare(a.Container, b.Container))
	})
	return out
}

// signals are what turned bad or well since the last look: each state is told a
// few times, so that health can count, and each Xid once.
func (a *agent) signals(s sight, now time.Time) []events.ReportSignal {
	var out []events.ReportSignal
	state := func(k health.Kind, bad bool, text string) {
		reading := health.Clear
		switch {
		case bad:
			reading, a.bad[k] = health.Seen, clearings
		case a.bad[k] == 0:
			return
		default:
			a.bad[k]--
		}
		out = append(out, events.ReportSignal{Kind: string(k), Witness: string(health.WitnessAgent), Reading: uint8(reading), Text: text, Count: 1, FirstSeen: now, LastSeen: now})
	}
	state(health.KindMPSControlDead, s.host.MPS != sim.DaemonServing, "the MPS control daemon is "+string(s.host.MPS))
	state(health.KindMPSFault, mpsState(s) == "fault", "an MPS server holds a fault until its clients are gone")
	state(health.KindNVMLUnresponsive, s.host.NVMLHang, "no answer in 10s in nvmlDeviceGetMemoryInfo_v2")
	for _, c := range s.cards {
		for _, code := range c.Xids[min(a.xids[string(c.UUID)], len(c.Xids)):] {
			x := events.ReportSignal{Kind: string(health.KindXid), GPU: string(c.UUID), Witness: string(health.WitnessKernelLog), Code: code, Count: 1, FirstSeen: now, LastSeen: now}
			for _, h := range s.holds {
				if h.Card == c.UUID && s.defs[h.Task] != nil {
					x.TaskArn, x.Family, x.PID = h.Task, s.defs[h.Task].Family, 1000+len(c.Xids)
				}
			}
			out = append(out, x)
		}
		a.xids[string(c.UUID)] = len(c.Xids)
	}
	return out
}
