package nvmlchild

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/nvml"
)

// Config of a Supervisor. Zero durations take the defaults of Run.
type Config struct {
	Command  func() *exec.Cmd // a new child: os.Executable with Subcommand
	Library  string           // path of libnvidia-ml.so.1, empty: by the loader
	ProcRoot string           // "/proc"

	Interval time.Duration // between samples, 15 s
	Deadline time.Duration // for one answer, 10 s (ECS's own probe allows the same)
	Backoff  time.Duration // before the second start, 1 s, doubling
	Most     time.Duration // bound of the backoff, 5 min

	OnUpdate func(Update)   // called from Run's goroutine only; must not block
	OnXid    func(nvml.Xid) // likewise
	Now      func() time.Time
}

func (c Config) withDefaults() Config {
	def := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	def(&c.Interval, 15*time.Second)
	def(&c.Deadline, 10*time.Second)
	def(&c.Backoff, time.Second)
	def(&c.Most, 5*time.Minute)
	if c.ProcRoot == "" {
		c.ProcRoot = "/proc"
	}
	if c.OnUpdate == nil {
		c.OnUpdate = func(Update) {}
	}
	if c.OnXid == nil {
		c.OnXid = func(nvml.Xid) {}
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// Supervisor keeps one child and asks it for samples.
type Supervisor struct {
	cfg  Config
	last Update
	id   uint64
	wake chan struct{}
}

// New returns a supervisor; nothing runs before Run.
func New(cfg Config) *Supervisor {
	return &Supervisor{cfg: cfg.withDefaults(), wake: make(chan struct{}, 1)}
}

// Refresh asks for a sample now instead of at the next interval. It never blocks.
func (s *Supervisor) Refresh() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// errHung is the outcome of a conversation that passed its deadline.
var errHung = errors.New("NVML did not answer")

// Run keeps a child until ctx ends. It returns nil then; a child stuck in the
// kernel is left behind, having lost its input.
func (s *Supervisor) Run(ctx context.Context) error {
	backoff := s.cfg.Backoff
	for first := true; ctx.Err() == nil; first = false {
		if !first {
			if !sleep(ctx, backoff) {
				return nil
			}
			s.last.Restarts++
			backoff = min(2*backoff, s.cfg.Most)
		}
		p, err := start(s.cfg.Command())
		if err != nil {
			s.tell(Died, fmt.Errorf("starting the NVML child: %w", err))
			continue
		}
		s.last.PID, s.last.Call, s.last.Deaf = p.pid(), "", ""
		s.tell(Starting, nil)
		good, err := s.converse(ctx, p)
		if good {
			backoff = s.cfg.Backoff
		}
		s.conclude(ctx, p, err)
	}
	return nil
}

// tell publishes a condition; only a fresh sample is not stale.
func (s *Supervisor) tell(c Condition, err error) {
	s.last.Condition, s.last.Err = c, err
	s.last.Stale = c != OK && !s.last.SampledAt.IsZero()
	s.cfg.OnUpdate(s.last)
}

// converse opens the library and samples until something ends it; good says
// whether any sample came.
func (s *Supervisor) converse(ctx context.Context, p *process) (good bool, err error) {
	if _, err := s.ask(ctx, p, request{Op: opOpen, Library: s.cfg.Library}); err != nil {
		return false, err
	}
	tick := time.NewTicker(s.cfg.Interval)
	defer tick.Stop()
	for {
		sample, err := s.ask(ctx, p, request{Op: opSample})
		switch {
		case err == nil && sample == nil:
			return good, errors.New("the NVML child answered a sample without one")
		case err == nil:
			good = true
			s.last.Sample, s.last.SampledAt, s.last.Call = *sample, s.cfg.Now(), ""
			s.tell(OK, nil)
		default:
			return good, err
		}
		if err := s.idle(ctx, p, tick.C); err != nil {
			return good, err
		}
	}
}

// idle hears events until the next sample is due.
func (s *Supervisor) idle(ctx context.Context, p *process, due <-chan time.Time) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-due:
			return nil
		case <-s.wake:
			return nil
		case f, ok := <-p.frames:
			if !ok {
				return p.ended()
			}
			s.hear(f)
		}
	}
}

func (s *Supervisor) hear(f frame) {
	if f.Xid != nil {
		s.cfg.OnXid(*f.Xid)
	}
	if f.Deaf != "" {
		s.last.Deaf = f.Deaf
	}
}

// ask sends one request and waits for its answer until the deadline. Answers to
// other ids are of a request given up and are dropped.
func (s *Supervisor) ask(ctx context.Context, p *process, r request) (*nvml.Sample, error) {
	s.id++
	r.ID, r.Deadline = s.id, s.cfg.Deadline.Milliseconds()
	deadline := time.NewTimer(s.cfg.Deadline)
	defer deadline.Stop()
	if err := p.send(r); err != nil {
		return nil, p.ended()
	}
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-deadline.C:
			return nil, fmt.Errorf("%w within %s in %s", errHung, s.cfg.Deadline, orUnknown(s.last.Call))
		case f, ok := <-p.frames:
			switch {
			case !ok:
				return nil, p.ended()
			case f.ID == r.ID && f.In != "":
				s.last.Call = f.In
			case f.ID == r.ID:
				s.last.Call = ""
				return f.Sample, f.err()
			default:
				s.hear(f)
			}
		}
	}
}

// conclude tells what ended the conversation and returns only when the child is
// gone or ctx is done.
func (s *Supervisor) conclude(ctx context.Context, p *process, err error) {
	switch {
	case ctx.Err() != nil:
	case errors.Is(err, errHung):
		s.tell(Hung, err)
	case errors.Is(err, errEnded):
		s.tell(Died, err)
	default:
		s.tell(Failing, err)
	}
	told := false
	p.end(ctx, s.cfg.ProcRoot, func() {
		if !told && ctx.Err() == nil {
			told = true
			s.tell(Stuck, fmt.Errorf("%w; the child (pid %d) is in uninterruptible sleep in the driver and is waited for", err, p.pid()))
		}
	})
	s.last.PID = 0
}

func orUnknown(call string) string {
	if call == "" {
		return "a call that is not known"
	}
	return call
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
