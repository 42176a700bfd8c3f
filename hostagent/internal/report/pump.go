package report

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/bulkhead-ecs/bulkhead/events"
	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/spool"
)

// Queue is what the pump needs of the spool.
type Queue interface {
	Peek() (spool.Record, spool.Position, bool, error)
	Ack(spool.Position) error
	Sync() error
	Len() int
}

// API takes one report.
type API interface {
	Send(ctx context.Context, r events.HostReport) (events.HostReportAnswer, error)
}

// Backoff bounds the wait after a failure: full jitter below a ceiling that
// doubles from First to Most.
type Backoff struct{ First, Most time.Duration }

// DefaultBackoff lets a fleet come back over minutes after an outage.
func DefaultBackoff() Backoff { return Backoff{First: time.Second, Most: 5 * time.Minute} }

// Wait is the pause after the n-th failure in a row (from 1); chance is in [0, 1).
// What the API asked for is a floor.
func (b Backoff) Wait(n int, chance float64, asked time.Duration) time.Duration {
	top := b.First
	for range min(n-1, 30) {
		top = min(top*2, b.Most)
	}
	return asked + top/10 + time.Duration(chance*float64(top-top/10))
}

// Pump brings what is in the queue to the API: one request in flight, oldest first.
type Pump struct {
	Queue   Queue
	API     API
	Apply   func(events.HostSettings) error // all or nothing
	Backoff Backoff
	Chance  func() float64 // in [0, 1)
	Log     *slog.Logger

	wake     chan struct{}
	sent     atomic.Uint64
	refused  atomic.Uint64
	failures atomic.Uint64
}

// NewPump is ready to Run.
func NewPump(q Queue, api API, apply func(events.HostSettings) error, log *slog.Logger, chance func() float64) *Pump {
	return &Pump{Queue: q, API: api, Apply: apply, Backoff: DefaultBackoff(), Chance: chance, Log: log, wake: make(chan struct{}, 1)}
}

// Counts are since the start: reports taken, reports refused for good, attempts failed.
func (p *Pump) Counts() (sent, refused, failures uint64) {
	return p.sent.Load(), p.refused.Load(), p.failures.Load()
}

// Wake says that something was appended. It never blocks.
func (p *Pump) Wake() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// Run sends until ctx ends.
func (p *Pump) Run(ctx context.Context) {
	fails := 0
	for {
		more, wait := p.once(ctx, fails)
		switch {
		case ctx.Err() != nil:
			return
		case wait > 0:
			fails++
			// A new report does not shorten the wait: a storm must not hammer an API
			// that is down.
			if !sleep(ctx, wait) {
				return
			}
		case more:
			fails = 0
		default:
			fails = 0
			if err := p.Queue.Sync(); err != nil {
				p.Log.Warn("spool not synced", "error", err.Error())
			}
			select {
			case <-ctx.Done():
				return
			case <-p.wake:
			}
		}
	}
}

// Flush sends what waits until the queue is empty, a send fails or ctx ends.
func (p *Pump) Flush(ctx context.Context) {
	for ctx.Err() == nil {
		if more, wait := p.once(ctx, 0); !more || wait > 0 {
			return
		}
	}
}

// once sends the oldest report. more: one was dealt with, ask again at once.
func (p *Pump) once(ctx context.Context, fails int) (more bool, wait time.Duration) {
	rec, pos, ok, err := p.Queue.Peek()
	if err != nil {
		p.Log.Error("spool cannot be read", "error", err.Error())
		return false, p.Backoff.Wait(fails+1, p.Chance(), 0)
	}
	if !ok {
		return false, 0
	}
	var r events.HostReport
	if err := json.Unmarshal(rec.Payload, &r); err != nil {
		p.refuse(pos, rec, err)
		return true, 0
	}
	a, err := p.API.Send(ctx, r)
	var f *Failure
	if errors.As(err, &f) && f.Permanent {
		p.refuse(pos, rec, err)
		return true, 0
	}
	if err != nil {
		p.failures.Add(1)
		asked := time.Duration(0)
		if f != nil {
			asked = f.After
		}
		wait = p.Backoff.Wait(fails+1, p.Chance(), asked)
		if ctx.Err() == nil {
			p.Log.Warn("report not delivered", "error", err.Error(), "attempt", fails+1, "waiting", p.Queue.Len(), "next_s", wait.Seconds())
		}
		if err := p.Queue.Sync(); err != nil { // it will stay a while: bring it to the disk
			p.Log.Warn("spool not synced", "error", err.Error())
		}
		return false, wait
	}
	p.sent.Add(1)
	if err := p.Queue.Ack(pos); err != nil {
		p.Log.Warn("report delivered, spool not marked: it may be sent again", "error", err.Error())
	}
	if a.Settings != nil && p.Apply != nil {
		if err := p.Apply(*a.Settings); err != nil {
			p.Log.Warn("settings refused", "version", a.Settings.Version, "error", err.Error())
		}
	}
	return true, 0
}

func (p *Pump) refuse(pos spool.Position, rec spool.Record, err error) {
	p.refused.Add(1)
	p.Log.Error("report refused for good and dropped", "boot", rec.Boot, "sequence", rec.Seq, "error", err.Error())
	if err := p.Queue.Ack(pos); err != nil {
		p.Log.Warn("spool not marked", "error", err.Error())
	}
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
