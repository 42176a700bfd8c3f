package loop

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"github.com/bulkhead-ecs/bulkhead/events"
	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/attribution"
	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/kmsg"
	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/metrics"
	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/nvml"
	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/nvmlchild"
	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/report"
	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/signals"
	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/spool"
	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/health"
)

// maxPending bounds the signals that wait for a report while the spool takes none.
const maxPending = events.MaxReportSignals

// Identity is what every report carries.
type Identity struct{ Instance, Boot, Version string }

// Agent holds the picture of the host and says when to speak. Its fields are set
// before Run; the methods that feed it may be called from any goroutine.
type Agent struct {
	Identity Identity
	Spool    *spool.Spool
	Wake     func() // the pump
	Settings *Live
	Log      *slog.Logger
	Now      func() time.Time
	Uptime   func() time.Duration
	Chance   func() float64
	Marked   func(seq uint64) // kernel records up to seq are in the spool
	Expected int              // GPUs that the host should have, 0 unknown

	in chan func()

	pic    Picture
	union  kmsg.Union
	gate   kmsg.Gate
	held   bool // the gate holds lines back
	taken  time.Time
	sig    signals.State
	input  signals.Input
	device map[string]gpu.UUID // by PCI address
	peaks  attribution.Peaks
	// ended are the highest peaks of windows that ended since the last report was kept:
	// without them a peak late in a window would be told to nobody.
	ended  map[attribution.Share]gpu.MiB
	last   *events.HostReport
	kernel uint64 // newest kernel record taken in
	marked uint64
	pace   report.Pace
	xids   map[int]uint64
	xidAt  time.Time

	mu   sync.Mutex
	snap metrics.Snapshot
}

// New returns an agent that is ready to be fed.
func New(id Identity, sp *spool.Spool, live *Live, log *slog.Logger) *Agent {
	return &Agent{Identity: id, Spool: sp, Settings: live, Log: log, Now: time.Now, Wake: func() {}, Chance: func() float64 { return 0 }, Uptime: func() time.Duration { return 0 },
		in: make(chan func(), 256), device: map[string]gpu.UUID{}, xids: map[int]uint64{}}
}

// feed hands f to the deciding goroutine; false when ctx ended first.
func (a *Agent) feed(ctx context.Context, f func()) bool {
	select {
	case a.in <- f:
		return true
	case <-ctx.Done():
		return false
	}
}

// Run decides until ctx ends; then it says goodbye, which the spool keeps.
func (a *Agent) Run(ctx context.Context) {
	t := time.NewTimer(0)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			a.say(report.CauseStop)
			return
		case f := <-a.in:
			f()
			for n := len(a.in); n > 0; n-- { // what came at once is told at once
				(<-a.in)()
			}
		case <-t.C:
		}
		a.settle()
		t.Reset(a.next())
	}
}

// next is when to look again though nothing came.
func (a *Agent) next() time.Duration {
	d := time.Until(a.pace.Next)
	if u := a.union.Next(); !u.IsZero() {
		d = min(d, time.Until(u))
	}
	if len(a.pic.Signals) > 0 || a.held {
		d = min(d, time.Second)
	}
	return max(d, 10*time.Millisecond)
}

// settle says what is due.
func (a *Agent) settle() {
	now := a.Now()
	for _, e := range a.union.Due(now) {
		a.xid(e)
	}
	if a.held && now.Sub(a.taken).Abs() >= time.Second {
		a.unfold(now)
	}
	a.pic.Settings = a.Settings.Get().Version
	d := a.Spool.Drops()
	a.pic.Drops.Reports, a.pic.Drops.Corrupt = d.Records, d.Corrupt
	r := a.stamp(compose(a.pic), now)
	cause, pace := report.Due(a.last, r, a.pace, now)
	a.pace = pace
	if cause != "" {
		a.say(cause)
	}
	a.publish(r)
}

// unfold tells, once a second, what the gate held back of a burst.
func (a *Agent) unfold(now time.Time) {
	a.held, a.taken = false, now
	held, overflow := a.gate.Take(now)
	a.pic.Drops.Signals += uint64(max(overflow, 0))
	for _, h := range held {
		if h.Line.Kind == kmsg.Xid && h.Count > 0 {
			a.xid(a.union.Kernel(h.Device, h.Line, h.Count, now))
		}
	}
}

func (a *Agent) stamp(r events.HostReport, now time.Time) events.HostReport {
	r.InstanceID, r.BootID, r.AgentVersion = a.Identity.Instance, a.Identity.Boot, a.Identity.Version
	r.ObservedAt, r.SentAt, r.UptimeSeconds = now.UTC(), now.UTC(), a.Uptime().Seconds()
	r.LeaseSeconds = int(a.Settings.Get().Lease.Seconds())
	return r
}

// say appends a report. When the spool takes none, the signals stay for the next.
func (a *Agent) say(cause string) {
	now := a.Now()
	r := a.stamp(compose(a.pic), now)
	r.Cause = cause
	seq, err := a.Spool.Append(now, func(n uint64) ([]byte, error) {
		r.Sequence = n
		if err := r.Check(); err != nil {
			return nil, err
		}
		return json.Marshal(r)
	})
	a.pace = a.pace.Said(now, a.Settings.Get().Lease, a.Chance())
	if err != nil {
		a.Log.Error("report not kept", "error", err.Error(), "cause", cause, "signals", len(r.Signals))
		return
	}
	a.Wake()
	a.Log.Info("report", "sequence", seq, "cause", cause, "signals", len(r.Signals), "mps", r.MPS.State, "nvml", r.NVML, "devices", len(r.Devices), "shares", len(r.Shares))
	a.pic.Signals = a.pic.Signals[len(r.Signals):]
	a.ended = nil // told
	r.Signals = nil
	a.last = &r
	if a.Marked != nil && len(a.pic.Signals) == 0 && !a.held && a.kernel > a.marked {
		a.marked = a.kernel // only now: told twice after a crash is better than not at all
		a.Marked(a.kernel)
	}
}

// add keeps signals for the next report. Too many are counted, oldest kept: the
// first of a storm says where it began.
func (a *Agent) add(ss ...health.Signal) {
	for _, s := range ss {
		if len(a.pic.Signals) >= maxPending {
			a.pic.Drops.Signals++
			continue
		}
		a.pic.Signals = append(a.pic.Signals, wire(s))
	}
}

// Kernel takes one line of the kernel log.
func (a *Agent) Kernel(ctx context.Context, s kmsg.Seen) {
	a.feed(ctx, func() {
		l := s.Line
		a.kernel = max(a.kernel, s.Sequence)
		switch l.Kind {
		case kmsg.Xid:
			id := a.device[l.Address]
			if !a.gate.Pass(id, l, s.At) {
				a.held = true
				return
			}
			a.xid(a.union.Kernel(id, l, 1, s.At))
		case kmsg.SXid:
			a.input.SXids = append(a.input.SXids[max(0, len(a.input.SXids)-15):], signals.SXid{Code: l.Code, Fatal: l.Fatal, At: s.At})
			a.evaluate(false)
		case kmsg.OffBus:
			if id := a.device[l.Address]; id != "" {
				a.input.OffBus = append(a.input.OffBus[max(0, len(a.input.OffBus)-15):], id)
				a.evaluate(false)
			}
		case kmsg.Identity:
			if id := gpu.UUID(l.UUID); id.Valid() && len(a.device) < nvml.MaxDevices {
				a.device[l.Address] = id
			}
		}
	})
}

// Alive runs f in the deciding goroutine, which proves that it decides.
func (a *Agent) Alive(ctx context.Context, f func()) { a.feed(ctx, f) }

// KernelLoss counts records that were overwritten before they were read.
func (a *Agent) KernelLoss(ctx context.Context, n uint64) {
	a.feed(ctx, func() { a.pic.Drops.KernelLog += n })
}

// NVMLXid takes an Xid that the driver told.
func (a *Agent) NVMLXid(ctx context.Context, x nvml.Xid) {
	a.feed(ctx, func() { a.union.NVML(x.UUID, x.Code, a.Now()) })
}

func (a *Agent) xid(e kmsg.Event) {
	task, family := "", ""
	for _, u := range a.pic.View.Usages {
		for _, pid := range u.PIDs {
			if pid == e.Line.PID && pid != 0 {
				task, family = u.Container.Task, u.Container.Family
			}
		}
	}
	if a.xidAt = e.At; len(a.xids) < 256 || a.xids[e.Line.Code] > 0 {
		a.xids[e.Line.Code] += uint64(max(e.Count, 1))
	}
	a.add(signals.XidSignal(e, a.Identity.Boot, task, family, false))
}

// Sampled takes an update of the NVML child and whose processes it shows.
func (a *Agent) Sampled(ctx context.Context, u nvmlchild.Update, v attribution.View, stuck []signals.Stuck) {
	a.feed(ctx, func() {
		a.pic.NVML = u
		for _, d := range u.Sample.Devices {
			if d.BusID != "" && d.UUID != "" {
				a.device[d.BusID] = d.UUID
			}
		}
		a.input.DState, a.input.DStateRead = stuck, true
		if u.Condition == nvmlchild.OK && !u.Stale {
			a.pic.View = v
			a.peak(v.Usages, a.Now())
		}
		a.evaluate(u.Condition == nvmlchild.OK && !u.Stale)
	})
}

// peak notes the highest figures of each share since the last report was kept.
func (a *Agent) peak(usages []attribution.Usage, now time.Time) {
	for _, w := range a.peaks.Observe(usages, now) {
		if a.ended == nil {
			a.ended = map[attribution.Share]gpu.MiB{}
		}
		a.ended[w.Share] = max(a.ended[w.Share], w.Peak)
	}
	a.pic.Peaks = map[attribution.Share]gpu.MiB{}
	for _, u := range usages {
		sh := attribution.Share{Container: u.Container.ID, Device: u.Device}
		if p, ok := a.peaks.Now(sh); ok {
			a.pic.Peaks[sh] = max(p.Peak, a.ended[sh])
		}
	}
}

func (a *Agent) evaluate(fresh bool) {
	u := a.pic.NVML
	a.input.BootID, a.input.Fresh, a.input.Sample, a.input.Expected = a.Identity.Boot, fresh, u.Sample, a.Expected
	a.input.NVML, a.input.NVMLText = signals.NVMLUnknown, ""
	switch {
	case u.Condition == nvmlchild.OK:
		a.input.NVML = signals.NVMLAnswers
	case nvmlWord(u) == "mismatch":
		a.input.NVML = signals.NVMLMismatch
	case u.Condition == nvmlchild.Hung || u.Condition == nvmlchild.Stuck || u.Condition == nvmlchild.Died || u.Condition == nvmlchild.Failing:
		a.input.NVML = signals.NVMLSilent
		a.input.NVMLText = u.Call
		if u.Err != nil {
			a.input.NVMLText += " " + u.Err.Error()
		}
	}
	var out []health.Signal
	a.sig, out = signals.Evaluate(a.sig, a.input, a.Now())
	a.input.OffBus, a.input.SXids, a.input.DStateRead = nil, nil, false
	a.add(out...)
}

// publish keeps what /metrics tells.
func (a *Agent) publish(r events.HostReport) {
	xids := make(map[int]uint64, len(a.xids))
	for k, v := range a.xids {
		xids[k] = v
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.snap = metrics.Snapshot{Report: r, Version: a.Identity.Version, Xids: xids, LastXid: a.xidAt, Waiting: a.Spool.Len(),
		Collected: a.pic.NVML.SampledAt, CollectOK: a.pic.NVML.Condition == nvmlchild.OK, MPSRestarts: a.pic.MPS.Restarts}
}

// Snapshot is what is known, for /metrics. Safe for any goroutine.
func (a *Agent) Snapshot() metrics.Snapshot {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.snap
}
