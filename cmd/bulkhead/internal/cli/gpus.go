package cli

import (
	"fmt"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/httpapi"
)

func newGPUs(g *globals) *cobra.Command {
	var mode, status string
	cmd := &cobra.Command{
		Use:     "gpus",
		Short:   "List physical GPUs with what is held and promised on each",
		Example: "  bulkhead gpus\n  bulkhead gpus --mode shared -o wide\n  bulkhead gpus -o json | jq '.gpus[] | select(.freeMiB > 8192)'",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			format, err := g.format("table", "wide", "json")
			if err != nil {
				return err
			}
			q := url.Values{}
			set(q, "mode", mode)
			set(q, "status", status)
			gpus, err := all[httpapi.GPUDoc](cmd.Context(), g, "/gpus", "gpus", q)
			if err != nil {
				return err
			}
			if format == "json" {
				return printJSON(cmd.OutOrStdout(), map[string]any{"gpus": gpus})
			}
			if len(gpus) == 0 {
				fmt.Fprintln(cmd.OutOrStdout(), "No GPU (by these filters).")
				return nil
			}
			printTable(cmd.OutOrStdout(), []column{
				{title: "HOST"}, {title: "GPU", right: true}, {title: "UUID"}, {title: "MODE"},
				{title: "held/total MiB", right: true}, {title: "FREE", right: true}, {title: "COMPUTE", right: true},
				{title: "CLIENTS", right: true}, {title: "STATUS"}, {title: "CONTAINER INSTANCE", wide: true},
			}, format == "wide", gpuRows(gpus))
			fmt.Fprintln(cmd.OutOrStdout(), gpuTotal(gpus))
			return nil
		},
	}
	cmd.Flags().StringVar(&mode, "mode", "", "only cards in this mode: idle, shared, dedicated, unknown")
	cmd.Flags().StringVar(&status, "status", "", "only cards of hosts in this status: ACTIVE, DRAINING …")
	return cmd
}

func gpuRows(gpus []httpapi.GPUDoc) [][]string {
	var rows [][]string
	for _, d := range gpus {
		rows = append(rows, []string{hostName(d.EC2InstanceID, d.ContainerInstanceARN), strconv.Itoa(d.Index), d.UUID.Short(), string(d.Mode),
			fmt.Sprintf("%d/%s", d.HeldMiB, amount(d.TotalMiB)), amount(d.FreeMiB), fmt.Sprintf("%d%%", d.ComputePercent),
			fmt.Sprintf("%d/%d", d.Clients, gpu.MaxClients), d.HostStatus, lastPart(d.ContainerInstanceARN)})
	}
	return rows
}

// gpuTotal is the last line: how full the cluster is.
func gpuTotal(gpus []httpapi.GPUDoc) string {
	var held, total gpu.MiB
	idle := 0
	for _, d := range gpus {
		held = held.Add(d.HeldMiB)
		if d.TotalMiB != nil {
			total = total.Add(*d.TotalMiB)
		}
		if d.Mode == gpu.ModeIdle {
			idle++
		}
	}
	percent := "unknown"
	if total > 0 {
		percent = fmt.Sprintf("%.0f%%", 100*float64(held)/float64(total))
	}
	return fmt.Sprintf("%d GPUs, %d idle, %s of %d MiB held", len(gpus), idle, percent, total)
}

// hostName is the name people know a host by: its EC2 instance id.
func hostName(ec2, instance string) string {
	if ec2 != "" {
		return ec2
	}
	return cut(lastPart(instance), 20)
}

// amount shows MiB that may be unknown.
func amount(m *gpu.MiB) string {
	if m == nil {
		return "?"
	}
	return strconv.FormatInt(int64(*m), 10)
}

func set(q url.Values, key, value string) {
	if value != "" {
		q.Set(key, value)
	}
}
