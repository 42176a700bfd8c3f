package cli

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/httpapi"
)

var hostColumns = []column{
	{title: "HOST"}, {title: "TYPE"}, {title: "CAPACITY"}, {title: "STATUS"}, {title: "GPUS held/total MiB"}, {title: "NOTE"},
	{title: "AGENT", wide: true}, {title: "ZONE", wide: true}, {title: "AMI", wide: true}, {title: "CONTAINER INSTANCE", wide: true},
}

func newHosts(g *globals) *cobra.Command {
	var status, capacity string
	cmd := &cobra.Command{
		Use:     "hosts",
		Short:   "List container instances with GPUs",
		Example: "  bulkhead hosts\n  bulkhead hosts --status DRAINING\n  bulkhead hosts --capacity EC2 -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			format, err := g.format("table", "wide", "json")
			if err != nil {
				return err
			}
			q := url.Values{}
			set(q, "status", status)
			set(q, "capacityType", capacity)
			hosts, err := all[httpapi.HostDoc](cmd.Context(), g, "/hosts", "hosts", q)
			if err != nil {
				return err
			}
			if format == "json" {
				return printJSON(cmd.OutOrStdout(), map[string]any{"hosts": hosts})
			}
			var rows [][]string
			for _, h := range hosts {
				rows = append(rows, hostRow(h))
			}
			if len(rows) == 0 {
				fmt.Fprintln(cmd.OutOrStdout(), "No host with a GPU (by these filters).")
				return nil
			}
			printTable(cmd.OutOrStdout(), hostColumns, format == "wide", rows)
			return nil
		},
	}
	cmd.Flags().StringVar(&status, "status", "", "only hosts in this status: ACTIVE, DRAINING …")
	cmd.Flags().StringVar(&capacity, "capacity", "", "only hosts of this capacity: EC2 or MANAGED_INSTANCES")
	return cmd
}

func hostRow(h httpapi.HostDoc) []string {
	return []string{hostName(h.EC2InstanceID, h.ContainerInstanceARN), h.InstanceType, capacityWord(h.CapacityType), h.Status,
		devicesCell(h.Devices), cut(hostNote(h), 24), h.AgentVersion, h.AvailabilityZone, h.AMI, lastPart(h.ContainerInstanceARN)}
}

func capacityWord(c string) string {
	switch c {
	case "MANAGED_INSTANCES":
		return "managed"
	case "":
		return "?"
	}
	return c
}

// devicesCell shows up to four cards as held/total, the rest as a sum.
func devicesCell(ds []httpapi.DeviceDoc) string {
	if len(ds) <= 1 {
		for _, d := range ds {
			return fmt.Sprintf("%d/%s", d.HeldMiB, amount(d.TotalMiB))
		}
		return "none"
	}
	var held gpu.MiB
	total := new(gpu.MiB)
	for _, d := range ds {
		held = held.Add(d.HeldMiB)
		if d.TotalMiB == nil {
			total = nil
		}
		if total != nil {
			*total = total.Add(*d.TotalMiB)
		}
	}
	return strconv.Itoa(len(ds)) + "× " + fmt.Sprintf("%d/%s", held, amount(total))
}

// hostNote is the first thing one should know about a host.
func hostNote(h httpapi.HostDoc) string {
	if len(h.Leaving) > 0 {
		return "leaving: " + h.Leaving[0].Cause
	}
	for _, c := range h.Health {
		if c.Status != "OK" {
			return strings.ToLower(c.Type) + " " + c.Status
		}
	}
	if !h.AgentConnected && h.Status == "ACTIVE" {
		return "agent away"
	}
	if len(h.Devices) > 0 && !h.SharingCapable {
		return "cannot share"
	}
	if len(h.Unplaced) == 1 {
		return "1 share waits for a card"
	}
	if len(h.Unplaced) > 1 {
		return fmt.Sprintf("%d shares wait for a card", len(h.Unplaced))
	}
	return ""
}
