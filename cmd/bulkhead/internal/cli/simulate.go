package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/httpapi"
	"github.com/bulkhead-ecs/bulkhead/internal/placing"
)

func newSimulate(g *globals) *cobra.Command {
	var ask httpapi.SimulateAsk
	var mode, tier string
	var memory, compute int
	cmd := &cobra.Command{
		Use:   "simulate [TASK-DEFINITION]",
		Short: "Say how many copies fit now, where, why no more, and what would make them fit",
		Long: "Say how many copies of a task definition, or of figures, fit on the fleet as it stands. Nothing is started.\n" +
			"\"fits\" holds whichever way ECS chooses cards, \"at most\" when it chooses luckily. Exits with 1 when not all fit.",
		Example: "  bulkhead simulate chat:7 --count 12\n  bulkhead simulate --memory 4096 --compute 40 --tier critical --count 12",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			format, err := g.format("table", "wide", "json")
			if err != nil {
				return err
			}
			if (len(args) == 0) == (memory == 0) {
				return useError("simulate takes a task definition, or --memory with --compute and --tier")
			}
			c, err := g.client(cmd.Context())
			if err != nil {
				return err
			}
			if ask.Cluster, err = g.clusterName(cmd.Context(), c); err != nil {
				return err
			}
			ask.TaskDefinition = strings.Join(args, "")
			ask.MemoryMiB, ask.ComputePercent, ask.Tier, ask.Mode = gpu.MiB(memory), gpu.Percent(compute), gpu.Tier(tier), placing.Mode(mode)
			var d httpapi.SimulationDoc
			if err := c.send(cmd.Context(), "/v1/simulate", ask, &d); err != nil {
				return err
			}
			if format == "json" {
				err = printJSON(cmd.OutOrStdout(), d)
			} else {
				printSimulation(cmd.OutOrStdout(), d)
			}
			if err == nil && d.Fits < d.Count {
				return errFinding
			}
			return err
		},
	}
	f := cmd.Flags()
	f.IntVar(&ask.Count, "count", 10, "copies, 1 to 100")
	f.IntVar(&memory, "memory", 0, "memory of a copy in MiB, instead of a task definition")
	f.IntVar(&compute, "compute", 0, "ceiling of a copy in percent (default: unset, which counts 100)")
	f.StringVar(&tier, "tier", "", "tier of the copies")
	f.StringVar(&mode, "mode", "", "robust or optimistic (default: the policy's)")
	return cmd
}

func printSimulation(w io.Writer, d httpapi.SimulationDoc) {
	fmt.Fprintf(w, "%d of %d fit: %d MiB, %d %%, tier %s", d.Fits, d.Count, d.MemoryMiB, d.ComputePercent, clean(string(d.Tier)))
	if d.AtMost > d.Fits {
		fmt.Fprintf(w, " (at most %d, when ECS chooses cards luckily)", d.AtMost)
	}
	fmt.Fprint(w, "\n")
	if len(d.Where) > 0 {
		var rows [][]string
		for _, h := range d.Where {
			rows = append(rows, []string{lastPart(h.ContainerInstanceARN), strconv.Itoa(h.Copies)})
		}
		fmt.Fprintln(w)
		printTable(w, []column{{title: "HOST"}, {title: "COPIES", right: true}}, false, rows)
	}
	if d.Why != "" {
		fmt.Fprintf(w, "\nWhy no more:\n  %s\n", strings.ReplaceAll(wrap(clean(d.Why), 94), "\n", "\n    "))
	}
	if len(d.Changes) > 0 {
		fmt.Fprint(w, "\nWhat would make all fit, the cheapest first:\n")
	}
	for i, c := range d.Changes {
		fmt.Fprintf(w, "  %d. %s\n", i+1, strings.ReplaceAll(wrap(clean(c.Text), 92), "\n", "\n     "))
	}
}
