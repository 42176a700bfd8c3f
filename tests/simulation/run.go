package simulation

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/sim"
)

// Outcome is what a fleet's life came to.
type Outcome struct {
	Emitted, Carried int // events made, and deliveries of them
	Decisions        int
}

// Run lives a fleet under a plan and returns the law that it broke.
func Run(p Plan) (Outcome, error) {
	ctx := context.Background()
	l, err := newLife(p)
	if err != nil {
		return Outcome{}, err
	}
	err = l.through(ctx)
	return Outcome{Emitted: l.emitted, Carried: l.bridge.carried, Decisions: l.decided}, err
}

func (l *life) through(ctx context.Context) error {
	end := l.now.Add(time.Duration(l.plan.Minutes) * time.Minute)
	for l.now.Before(end) {
		if err := l.step(ctx, tick); err != nil {
			return fmt.Errorf("after %s: %w", l.now.Sub(end.Add(-time.Duration(l.plan.Minutes)*time.Minute)), err)
		}
		if l.rng.IntN(200) == 0 {
			l.forge()
		}
	}
	l.calm()
	// What was under way comes to its end, then two sweeps.
	for range 2 * int(sweepEvery/tick) {
		if err := l.step(ctx, tick); err != nil {
			return fmt.Errorf("when all was calm: %w", err)
		}
	}
	if err := l.settle(ctx); err != nil {
		return err
	}
	// And the latest of the late, a day behind.
	if err := l.step(ctx, retention+time.Hour); err != nil {
		return fmt.Errorf("a day late: %w", err)
	}
	if err := l.settle(ctx); err != nil {
		return fmt.Errorf("with events a day late: %w", err)
	}
	return nil
}

// settle sweeps twice and compares.
func (l *life) settle(ctx context.Context) error {
	for range 2 {
		if err := l.step(ctx, sweepEvery); err != nil {
			return err
		}
	}
	return l.laws.settled(ctx)
}

// calm ends all faults.
func (l *life) calm() {
	l.plan.Faults = nil
	l.store.on, l.store.old, l.ecs.on = false, false, false
	l.bridge.late, l.bridge.doubled, l.bridge.lossy = false, false, false
	l.face.Do(func(f *sim.Fleet) {
		for _, h := range f.Hosts() { // else a service starts tasks for ever where none can start
			_ = f.Inject(sim.Fault{Kind: "mps-recover", Host: h.ARN})
		}
	})
}

// forge sends an event of another account about a task of this one.
func (l *life) forge() {
	if len(l.bridge.queue) == 0 {
		return
	}
	m := l.bridge.queue[l.rng.IntN(len(l.bridge.queue))]
	l.bridge.put(message{id: m.id + " forged", due: l.now, body: bytes.ReplaceAll(m.body, []byte(`"account":"111122223333"`), []byte(`"account":"999988887777"`))})
}

// Least finds a smaller plan that still breaks a law: fewer faults, then less time.
func Least(p Plan) Plan {
	broken := func(p Plan) bool { _, err := Run(p); return err != nil }
	for i := 0; i < len(p.Faults); {
		q := p
		q.Faults = append(append([]string(nil), p.Faults[:i]...), p.Faults[i+1:]...)
		if broken(q) {
			p = q
		} else {
			i++
		}
	}
	for p.Minutes > 1 {
		q := p
		q.Minutes = p.Minutes * 3 / 4
		if !broken(q) {
			break
		}
		p = q
	}
	return p
}
