package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/attribution"
	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/checks"
	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/config"
	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/facts"
	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/kmsg"
	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/mps"
	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
)

// found is what scan and doctor tell.
type found struct {
	Ready  bool            `json:"ready"`
	Checks []checks.Result `json:"checks"`
	MPS    string          `json:"mps"`
	GPUs   []card          `json:"gpus"`
	Tasks  []tenant        `json:"tasks"`
	Events []xid           `json:"events"`
}

type card struct {
	Index    int      `json:"index"`
	UUID     string   `json:"uuid"`
	Name     string   `json:"name"`
	UsedMiB  *gpu.MiB `json:"usedMiB,omitempty"`
	TotalMiB *gpu.MiB `json:"totalMiB,omitempty"`
	Clients  int      `json:"processes"`
	Lost     bool     `json:"lost,omitempty"`
}

type tenant struct {
	GPU       string  `json:"gpu"`
	Task      string  `json:"task"`
	Container string  `json:"container"`
	UsedMiB   gpu.MiB `json:"usedMiB"`
	LimitMiB  gpu.MiB `json:"limitMiB,omitempty"`
	Processes int     `json:"processes"`
	Client    string  `json:"client"`
}

type xid struct {
	At      time.Time `json:"at"`
	Xid     int       `json:"xid"`
	Address string    `json:"device"`
	Text    string    `json:"text"`
}

func (a *app) scan() *cobra.Command {
	return &cobra.Command{Use: "scan", Short: "Look at the host once, reading only", Args: cobra.NoArgs,
		Example: "  bulkhead-agent scan\n  bulkhead-agent scan -o json | jq '.checks[] | select(.status == \"failed\")'",
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.look(cmd.Context(), false) }}
}

func (a *app) doctor() *cobra.Command {
	return &cobra.Command{Use: "doctor", Short: "Find what keeps this host from sharing its GPUs, and say the fix", Args: cobra.NoArgs,
		Example: "  bulkhead-agent doctor",
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.look(cmd.Context(), true) }}
}

func (a *app) look(ctx context.Context, onlyTrouble bool) error {
	c, err := a.config()
	if err != nil {
		return err
	}
	f := a.find(ctx, c, !onlyTrouble)
	if a.json {
		err = a.printJSON(f)
	} else {
		err = f.print(a.out, onlyTrouble)
	}
	if err == nil && !f.Ready {
		err = errFound
	}
	return err
}

func (a *app) find(ctx context.Context, c config.Config, whole bool) found {
	child := a.child
	child.Library = c.NVMLLibrary
	h := facts.Host{Introspection: c.Introspection, PipeDir: c.PipeDir, Expected: c.ExpectedGPUs, Child: child, Unit: facts.Systemd}
	read := facts.Read(ctx, h)
	f := found{Checks: checks.All(read), GPUs: []card{}, Tasks: []tenant{}, Events: []xid{}}
	f.Ready = checks.Ready(f.Checks)
	answer := mps.Exec{PipeDir: read.Pipe.Path}.Ask(ctx, "get_default_active_thread_percentage")
	f.MPS = string(answer.Kind)
	if !whole {
		return f
	}
	f.Events = recent()
	if read.Sample == nil {
		return f
	}
	for _, d := range read.Sample.Devices {
		k := card{Index: d.Index, UUID: string(d.UUID), Name: d.Name, Clients: len(d.Processes), Lost: d.Lost}
		if d.Memory != nil {
			k.UsedMiB, k.TotalMiB = &d.Memory.Used, &d.Memory.Usable
		}
		f.GPUs = append(f.GPUs, k)
	}
	at := attribution.Attributor{Proc: attribution.Proc{Root: proc}, Docker: attribution.NewDocker(c.DockerSocket), Agent: attribution.NewIntrospection(c.Introspection)}
	v, _ := at.Attribute(ctx, *read.Sample, nil) // partial is better than none: foreign processes are listed
	for _, u := range v.Usages {
		f.Tasks = append(f.Tasks, tenant{string(u.Device), u.Container.Task, u.Container.Name, u.Memory, u.InForce.Memory, len(u.PIDs), string(u.Client)})
	}
	for _, p := range v.Foreign {
		f.Tasks = append(f.Tasks, tenant{GPU: string(p.Device), Container: fmt.Sprintf("%s (pid %d)", p.Name, p.PID), UsedMiB: p.Memory, Processes: 1, Client: "foreign"})
	}
	return f
}

// recent are the Xids that the kernel's log still has.
func recent() []xid {
	out := []xid{}
	src, err := kmsg.Open(kmsg.Path)
	if err != nil {
		return out
	}
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	r := kmsg.Reader{Source: src, Now: time.Now, Uptime: uptime, OnLoss: func(uint64) {}, OnLine: func(s kmsg.Seen) {
		if s.Line.Kind == kmsg.Xid {
			out = append(out[max(0, len(out)-99):], xid{s.At.UTC(), s.Line.Code, s.Line.Address, s.Line.Text})
		}
	}}
	_, _ = r.Run(ctx)
	return out
}

var ticks = map[checks.Status]string{checks.Passed: "✔", checks.Failed: "✘", checks.Warned: "!", checks.Unknown: "?"}

func (f found) print(out io.Writer, onlyTrouble bool) error {
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	for _, r := range f.Checks {
		if onlyTrouble && r.Status == checks.Passed {
			continue
		}
		fmt.Fprintf(w, "%s %s\t%s\n", ticks[r.Status], r.Check, r.Found)
		if r.Fix != "" {
			fmt.Fprintf(w, "\t  fix: %s\n", r.Fix)
		}
	}
	if !onlyTrouble {
		f.tables(w)
	}
	if f.Ready {
		fmt.Fprintln(w, "ready: this host may take sharing tasks")
	} else {
		fmt.Fprintln(w, "not ready: this host must not take sharing tasks")
	}
	return w.Flush()
}

func (f found) tables(w io.Writer) {
	fmt.Fprintf(w, "\nGPU\tUUID\tNAME\tMEM used/total MiB\tPROCESSES\tMPS %s\n", f.MPS)
	for _, g := range f.GPUs {
		mem := "?"
		if g.UsedMiB != nil {
			mem = fmt.Sprintf("%d/%d", int64(*g.UsedMiB), int64(*g.TotalMiB))
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%d\n", g.Index, g.UUID, g.Name, mem, g.Clients)
	}
	if len(f.Tasks) > 0 {
		fmt.Fprintf(w, "\nGPU\tTASK\tCONTAINER\tMEM used/limit MiB\tPROCESSES\tCLIENT\n")
	}
	for _, t := range f.Tasks {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d/%d\t%d\t%s\n", gpu.UUID(t.GPU).Short(), t.Task[strings.LastIndexByte(t.Task, '/')+1:], t.Container, int64(t.UsedMiB), int64(t.LimitMiB), t.Processes, t.Client)
	}
	if len(f.Events) > 0 {
		fmt.Fprintf(w, "\nTIME\tXID\tDEVICE\tTEXT\n")
	}
	for _, e := range f.Events {
		fmt.Fprintf(w, "%s\t%d\t%s\t%.80s\n", e.At.Format(time.RFC3339), e.Xid, e.Address, e.Text)
	}
	fmt.Fprintln(w)
}
