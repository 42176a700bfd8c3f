package cli

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/spf13/cobra"

	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/attribution"
	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/config"
	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/facts"
	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/identity"
	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/kmsg"
	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/loop"
	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/metrics"
	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/mps"
	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/nvml"
	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/nvmlchild"
	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/quiet"
	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/report"
	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/spool"
	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/stops"
)

const (
	proc = "/proc"
	// memoryTarget makes the collector work harder before the agent outgrows its
	// share of a machine that is there for others.
	memoryTarget = 10 << 20
	flushAtEnd   = 3 * time.Second
)

type runFlags struct {
	instance, imds string
	noNVML         bool
}

func (a *app) run() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use: "run", Short: "Watch and report until stopped (what the systemd unit runs)", Args: cobra.NoArgs,
		Example: "  bulkhead-agent run\n  bulkhead-agent run -c agent.yaml --instance-id i-0123456789abcdef0",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.config()
			if err != nil {
				return err
			}
			return a.runAgent(cmd.Context(), c, f)
		},
	}
	c.Flags().StringVar(&f.instance, "instance-id", "", "instance to report as, instead of asking the metadata service")
	c.Flags().StringVar(&f.imds, "imds", "", "endpoint of the metadata service")
	c.Flags().BoolVar(&f.noNVML, "no-nvml", false, "do not start the NVML child")
	return c
}

// running is the wired agent.
type running struct {
	cfg   config.Config
	flags runFlags
	log   *slog.Logger
	agent *loop.Agent
	spool *spool.Spool
	live  *loop.Live
	pump  *report.Pump
	wg    sync.WaitGroup
}

func (a *app) runAgent(ctx context.Context, c config.Config, f runFlags) error {
	debug.SetMemoryLimit(memoryTarget)
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		return err
	}
	r := &running{cfg: c, flags: f, log: quiet.New(a.err, level, c.LogBytes, time.Now)}
	if err := r.wire(ctx); err != nil {
		return err
	}
	defer r.spool.Close()
	// What gathers and decides ends first; the pump lives a little longer, to bring
	// the last word out.
	pumpCtx, stopPump := context.WithCancel(context.WithoutCancel(ctx))
	defer stopPump()
	pumped := make(chan struct{})
	go func() {
		defer close(pumped)
		if r.pump != nil {
			r.pump.Run(pumpCtx)
		}
	}()
	if err := r.gather(ctx, a.child); err != nil {
		stopPump()
		<-pumped
		return err
	}
	r.log.Info("started", "version", version(), "endpoint", c.Endpoint, "boot", r.agent.Identity.Boot, "instance", r.agent.Identity.Instance)
	_, _ = daemon.SdNotify(false, daemon.SdNotifyReady)
	r.agent.Run(ctx)
	_, _ = daemon.SdNotify(false, daemon.SdNotifyStopping)
	stopPump()
	<-pumped
	r.wg.Wait()
	if r.pump != nil {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushAtEnd)
		defer cancel()
		r.pump.Flush(last)
	}
	r.log.Info("stopped", "waiting", r.spool.Len())
	return nil
}

// wire makes the parts that do not run yet.
func (r *running) wire(ctx context.Context) error {
	boot, err := identity.BootID(proc)
	if err != nil {
		return fmt.Errorf("%w: %w", errFailed, err)
	}
	up, err := identity.Uptime(proc)
	if err != nil {
		return fmt.Errorf("%w: %w", errFailed, err)
	}
	meta := identity.New(r.flags.imds)
	inst := identity.Instance{ID: r.flags.instance, Region: r.cfg.Region}
	if inst.ID == "" {
		if inst, err = meta.Instance(ctx); err != nil {
			return fmt.Errorf("%w: %w; outside EC2 give --instance-id", errFailed, err)
		}
	}
	if r.cfg.Region != "" {
		inst.Region = r.cfg.Region
	}
	limits := spool.DefaultLimits()
	limits.Bytes, limits.Age = r.cfg.SpoolBytes, r.cfg.SpoolAge
	// Should the spool have lost its memory, tenths of a second since boot are a
	// number that reports of this boot cannot have passed.
	if r.spool, err = spool.Open(filepath.Join(r.cfg.StateDir, "spool"), boot, limits, uint64(up/(100*time.Millisecond))); err != nil {
		return fmt.Errorf("%w: %w", errFailed, err)
	}
	r.live = loop.OpenSettings(r.cfg)
	forget(r.cfg.StateDir, boot)
	r.agent = loop.New(loop.Identity{Instance: inst.ID, Boot: boot, Version: version()}, r.spool, r.live, r.log)
	r.agent.Chance = rand.Float64
	r.agent.Uptime = uptime
	r.agent.Marked = r.keepMark
	if r.agent.Expected = r.cfg.ExpectedGPUs; r.agent.Expected == 0 {
		r.agent.Expected = facts.Expected("")
	}
	if r.cfg.Endpoint == "" {
		r.log.Warn("no endpoint: reports are kept and not sent")
		return nil
	}
	sender, err := report.NewSender(r.cfg.Endpoint, inst.Region, credentialsOf(meta))
	if err != nil {
		r.spool.Close()
		return err
	}
	r.pump = report.NewPump(r.spool, sender, r.live.Apply, r.log, rand.Float64)
	r.agent.Wake = r.pump.Wake
	return nil
}

// credentialsOf are those in the environment where a person set them, else those
// of the instance's role.
func credentialsOf(meta identity.Metadata) aws.CredentialsProvider {
	id, secret := os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY")
	if id != "" && secret != "" {
		return credentials.NewStaticCredentialsProvider(id, secret, os.Getenv("AWS_SESSION_TOKEN"))
	}
	return meta.Credentials()
}

func uptime() time.Duration {
	u, err := identity.Uptime(proc)
	if err != nil {
		return 0
	}
	return u
}

// gather starts all that feeds the agent.
func (r *running) gather(ctx context.Context, child nvmlchild.Config) error {
	proc := attribution.Proc{Root: proc}
	if !r.flags.noNVML {
		docker, ecs := attribution.NewDocker(r.cfg.DockerSocket), attribution.NewIntrospection(r.cfg.Introspection)
		s := loop.NewSampler(r.agent, &attribution.Attributor{Proc: proc, Docker: docker, Agent: ecs}, proc, r.log)
		child.Library, child.Interval = r.cfg.NVMLLibrary, r.live.Get().Sample
		child.Deadline, child.OnUpdate = r.cfg.NVMLDeadline, s.Offer
		child.OnXid = func(x nvml.Xid) { r.agent.NVMLXid(ctx, x) }
		r.start(func() { s.Run(ctx) })
		r.start(func() { r.again(ctx, "NVML child", func() error { return nvmlchild.New(child).Run(ctx) }) })
	}
	r.start(func() { r.preflight().Run(ctx) })
	r.start(func() { r.again(ctx, "kernel log", func() error { return r.kernel(ctx) }) })
	m := r.mps(proc)
	r.start(func() { m.Run(ctx) })
	if r.cfg.SafeStop {
		w := stops.New(r.cfg.DockerSocket, r.cfg.StopTimeout)
		r.start(func() {
			r.again(ctx, "docker events", func() error {
				return w.Run(ctx, func(s mps.Stop) {
					select {
					case m.Stops <- s:
					case <-ctx.Done():
					}
				})
			})
		})
	}
	r.start(func() { r.watchdog(ctx) })
	r.start(func() { r.giveBack(ctx) })
	if r.cfg.Metrics != "" {
		srv, err := metrics.Serve(r.cfg.Metrics, r.snapshot)
		if err != nil {
			return fmt.Errorf("%w: %w", errFailed, err)
		}
		r.start(func() { <-ctx.Done(); _ = srv.Close() })
	}
	return nil
}

func (r *running) start(f func()) { r.wg.Go(f) }

// again runs a source anew when it fails, at most every half minute: a source
// that is gone must not take the agent with it.
func (r *running) again(ctx context.Context, name string, f func() error) {
	for ctx.Err() == nil {
		err := f()
		if ctx.Err() != nil {
			return
		}
		r.log.Warn("source ended", "source", name, "error", fmt.Sprint(err))
		select {
		case <-ctx.Done():
		case <-time.After(30 * time.Second):
		}
	}
}

func (r *running) kernel(ctx context.Context) error {
	src, err := kmsg.Open(kmsg.Path)
	if err != nil {
		return err
	}
	mark := r.kernelMark()
	reader := &kmsg.Reader{Source: src, Now: time.Now, Uptime: uptime, After: readMark(mark),
		OnLine: func(s kmsg.Seen) { r.agent.Kernel(ctx, s) },
		OnLoss: func(n uint64) { r.agent.KernelLoss(ctx, n) }}
	_, err = reader.Run(ctx)
	return err
}

func (r *running) kernelMark() string {
	return filepath.Join(r.cfg.StateDir, "kmsg."+r.agent.Identity.Boot)
}

func (r *running) keepMark(seq uint64) {
	if err := os.WriteFile(r.kernelMark(), fmt.Append(nil, seq), 0o600); err != nil {
		r.log.Warn("kernel log mark not kept: lines may be told twice after a restart", "error", err.Error())
	}
}

func readMark(path string) (n uint64) {
	b, err := os.ReadFile(path)
	if err == nil {
		_, _ = fmt.Sscan(string(b), &n)
	}
	return n
}

func (r *running) mps(proc attribution.Proc) *loop.MPS {
	m := &loop.MPS{Agent: r.agent, Probe: r.cfg.MPSProbe, Proc: proc, Restarter: mps.Systemctl{}, Auto: r.cfg.AutoRestart, Log: r.log, Stops: make(chan mps.Stop, 64), PipeDir: r.cfg.PipeDir}
	if m.PipeDir == "" {
		m.Detect = func() (string, bool) { return mps.DetectPipeDir(mps.PipeDirs) }
		if m.PipeDir, _ = m.Detect(); m.PipeDir == "" {
			m.PipeDir = mps.PipeDirs[0]
		}
	}
	m.Watcher = mps.NewWatcher(mps.Exec{PipeDir: m.PipeDir}, r.cfg.MPSLogDir, mps.DefaultPolicy())
	return m
}

func (r *running) snapshot() metrics.Snapshot {
	s := r.agent.Snapshot()
	if r.pump != nil {
		s.Sent, s.Refused, s.Failed = r.pump.Counts()
	}
	return s
}

// giveBack returns memory that starting and each lease's work took and that is
// free again: the runtime by itself keeps it for work that will not come.
func (r *running) giveBack(ctx context.Context) {
	wait := 1500 * time.Millisecond // once the first report is out
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
			debug.FreeOSMemory()
			wait = 5 * time.Minute
		}
	}
}

// watchdog tells systemd that the deciding goroutine still decides.
func (r *running) watchdog(ctx context.Context) {
	every, err := daemon.SdWatchdogEnabled(false)
	if err != nil || every <= 0 {
		return
	}
	t := time.NewTicker(every / 3)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			r.agent.Alive(ctx, func() { _, _ = daemon.SdNotify(false, daemon.SdNotifyWatchdog) })
		}
	}
}
