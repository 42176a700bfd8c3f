package cli

import (
	"context"
	"fmt"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/attribution"
	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/config"
	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/mps"
)

// watch looks at the daemon as the running agent does. Three looks, so that a
// daemon that does not answer is judged and not only suspected.
func watch(ctx context.Context, c config.Config) (mps.State, mps.Exec) {
	dir := c.PipeDir
	if dir == "" {
		if dir, _ = mps.DetectPipeDir(mps.PipeDirs); dir == "" {
			dir = mps.PipeDirs[0]
		}
	}
	control := mps.Exec{PipeDir: dir}
	p := mps.DefaultPolicy()
	p.Grace = 0 // a person asks: what is now
	w := mps.NewWatcher(control, c.MPSLogDir, p)
	var s mps.State
	for range p.Strikes {
		if s, _ = w.Look(ctx, time.Now()); s.Answer == mps.AnswerOK {
			break
		}
	}
	return s, control
}

func (a *app) mps() *cobra.Command {
	c := &cobra.Command{Use: "mps", Short: "Mend the MPS daemon of this host"}
	var accept int
	r := &cobra.Command{
		Use: "restart", Short: "Restart nvidia-mps.service, if the cost is none or accepted", Args: cobra.NoArgs,
		Long: `Restart nvidia-mps.service. Every MPS client of the host ends with it, so the restart is made only
when no healthy client would be hurt, or as many as --accept-hurt allows.`,
		Example: "  bulkhead-agent mps restart\n  bulkhead-agent mps restart --accept-hurt 3",
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.config()
			if err != nil {
				return err
			}
			if accept < 0 {
				return fmt.Errorf("--accept-hurt %d is below 0", accept)
			}
			return a.restart(cmd.Context(), cfg, mps.RestartOrder{Given: true, AcceptHurt: accept}, mps.Systemctl{})
		},
	}
	r.Flags().IntVar(&accept, "accept-hurt", 0, "healthy clients that may end")
	c.AddCommand(r)
	return c
}

func (a *app) restart(ctx context.Context, c config.Config, order mps.RestartOrder, by mps.Restarter) error {
	s, _ := watch(ctx, c)
	p := mps.PlanRestart(s, order)
	if !p.Allowed {
		fmt.Fprintf(a.err, "not restarted: %s %v; state %s (%s)\n", p.Reason, p.Hurt, s.Phase, s.Reason)
		return errFound
	}
	fmt.Fprintf(a.err, "restarting %s: %s; state %s\n", mps.Unit, p.Reason, s.Phase)
	if err := by.Restart(ctx); err != nil {
		return fmt.Errorf("%w: %w", errFailed, err)
	}
	for range 15 {
		if s, _ = watch(ctx, c); s.Answer == mps.AnswerOK {
			fmt.Fprintln(a.out, "restarted; the daemon answers")
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
	return fmt.Errorf("%w: the daemon does not answer after the restart: %s", errFailed, s.Reason)
}

// client is one row of clients list.
type client struct {
	Server    int    `json:"server"`
	PID       int    `json:"pid"`
	Name      string `json:"name"`
	Container string `json:"container"`
	Sticky    bool   `json:"holdsFault"`
	start     uint64
}

func list(s mps.State, proc attribution.Proc) []client {
	out := []client{}
	for _, v := range s.Servers {
		for _, pid := range v.Clients {
			k := client{Server: v.PID, PID: pid}
			if p, err := proc.Read(pid); err == nil {
				k.Name, k.Container, k.start = p.Name, p.Container, p.Start
			}
			for _, h := range s.Sticky {
				k.Sticky = k.Sticky || h == pid
			}
			out = append(out, k)
		}
	}
	return out
}

func (a *app) clients() *cobra.Command {
	c := &cobra.Command{Use: "clients", Short: "The MPS clients of this host"}
	c.AddCommand(&cobra.Command{Use: "list", Short: "List clients with their containers", Args: cobra.NoArgs, Example: "  bulkhead-agent clients list -o json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.config()
			if err != nil {
				return err
			}
			s, _ := watch(cmd.Context(), cfg)
			if s.Answer != mps.AnswerOK {
				return fmt.Errorf("%w: the MPS daemon: %s", errFailed, s.Reason)
			}
			return a.printClients(list(s, attribution.Proc{Root: proc}))
		}})
	var container string
	t := &cobra.Command{
		Use: "terminate PID", Short: "End one client's CUDA contexts without hurting the others", Args: cobra.ExactArgs(1),
		Long: `End one client's CUDA contexts. The process lives on and gets error 810; it can then be killed safely.
--container must name the container that the process is in, by 12 or more characters of its id: a process id
may be another's by now.`,
		Example: "  bulkhead-agent clients terminate 4711 --container 3f2a9c0d1e4b",
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := a.config()
			if err != nil {
				return err
			}
			pid, err := strconv.Atoi(args[0])
			if err != nil || pid <= 1 || len(container) < 12 {
				return fmt.Errorf("want a process id and --container with at least 12 characters")
			}
			return a.terminate(cmd.Context(), cfg, pid, container)
		},
	}
	t.Flags().StringVar(&container, "container", "", "id of the container that the client must be in (required)")
	c.AddCommand(t)
	return c
}

func (a *app) printClients(cs []client) error {
	if a.json {
		return a.printJSON(cs)
	}
	w := tabwriter.NewWriter(a.out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "SERVER\tPID\tNAME\tCONTAINER\tHOLDS FAULT")
	for _, c := range cs {
		fmt.Fprintf(w, "%d\t%d\t%s\t%.12s\t%v\n", c.Server, c.PID, c.Name, c.Container, c.Sticky)
	}
	return w.Flush()
}

func (a *app) terminate(ctx context.Context, c config.Config, pid int, container string) error {
	s, control := watch(ctx, c)
	if s.Answer != mps.AnswerOK {
		return fmt.Errorf("%w: the MPS daemon: %s", errFailed, s.Reason)
	}
	procs := attribution.Proc{Root: proc}
	for _, k := range list(s, procs) {
		if k.PID != pid {
			continue
		}
		if len(k.Container) < len(container) || k.Container[:len(container)] != container {
			fmt.Fprintf(a.err, "not terminated: process %d is in container %q\n", pid, k.Container)
			return errFound
		}
		if now, err := procs.Stat(pid); err != nil || now.Start != k.start {
			fmt.Fprintf(a.err, "not terminated: process %d is another's by now\n", pid)
			return errFound
		}
		answer := control.Ask(ctx, fmt.Sprintf("terminate_client %d %d", k.Server, pid))
		if !mps.Terminated(answer) {
			return fmt.Errorf("%w: the daemon answered %s: %s", errFailed, answer.Kind, answer.Text)
		}
		fmt.Fprintf(a.out, "client %d of server %d terminated\n", pid, k.Server)
		return nil
	}
	fmt.Fprintf(a.err, "not terminated: %d is no MPS client\n", pid)
	return errFound
}
