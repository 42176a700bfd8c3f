package loop

import (
	"context"
	"log/slog"
	"time"

	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/attribution"
	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/nvmlchild"
	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/signals"
	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
)

// Sampler attributes what the NVML child saw. Docker and the ECS agent may be
// slow, so it has a goroutine of its own and works on the newest update only.
type Sampler struct {
	Agent      *Agent
	Attributor *attribution.Attributor
	Proc       attribution.Proc
	Log        *slog.Logger

	updates chan nvmlchild.Update
}

// NewSampler is ready to Run.
func NewSampler(a *Agent, at *attribution.Attributor, proc attribution.Proc, log *slog.Logger) *Sampler {
	return &Sampler{Agent: a, Attributor: at, Proc: proc, Log: log, updates: make(chan nvmlchild.Update, 1)}
}

// Offer takes an update and never blocks: an older one that still waits is dropped.
func (s *Sampler) Offer(u nvmlchild.Update) {
	for {
		select {
		case s.updates <- u:
			return
		default:
		}
		select {
		case <-s.updates:
		default:
		}
	}
}

// Run attributes until ctx ends.
func (s *Sampler) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case u := <-s.updates:
			var v attribution.View
			if u.Condition == nvmlchild.OK && !u.Stale {
				c, cancel := context.WithTimeout(ctx, 5*time.Second)
				var err error
				if v, err = s.Attributor.Attribute(c, u.Sample, map[string]gpu.MiB{}); err != nil && ctx.Err() == nil {
					s.Log.Warn("attribution is partial", "error", err.Error())
				}
				cancel()
			}
			s.Agent.Sampled(ctx, u, v, s.stuck(u))
		}
	}
}

func (s *Sampler) stuck(u nvmlchild.Update) (out []signals.Stuck) {
	pids := map[int]bool{}
	for _, d := range u.Sample.Devices {
		for _, p := range d.Processes {
			pids[p.PID] = true
		}
	}
	ps, err := s.Proc.Uninterruptible(pids)
	if err != nil {
		s.Log.Warn("process table not read", "error", err.Error())
	}
	for _, p := range ps {
		out = append(out, signals.Stuck{PID: p.PID, Name: p.Name})
	}
	return out
}
