package cli

import (
	"fmt"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/bulkhead-ecs/bulkhead/internal/httpapi"
)

func newHistory(g *globals) *cobra.Command {
	var at string
	cmd := &cobra.Command{
		Use:     "history HOST",
		Short:   "Show what stood on a host at a time",
		Example: "  bulkhead history i-0a1b2c3d4e5f60718 --at 2026-12-01T03:12:00Z\n  bulkhead history i-0a1b2c3d4e5f60718 --at 10m   # ten minutes ago",
		Args:    exactly("HOST", "bulkhead hosts lists them"),
		RunE: func(cmd *cobra.Command, args []string) error {
			format, err := g.format("table", "wide", "json")
			if err != nil {
				return err
			}
			q := url.Values{}
			set(q, "at", at) // the API reads ages by its own clock
			c, err := g.client(cmd.Context())
			if err != nil {
				return err
			}
			base, err := g.clusterPath(cmd.Context(), c)
			if err != nil {
				return err
			}
			var doc struct {
				At   time.Time       `json:"at"`
				AsOf time.Time       `json:"asOf"`
				Host httpapi.HostDoc `json:"host"`
			}
			if err := c.get(cmd.Context(), base+"/hosts/"+url.PathEscape(args[0])+"/history", q, &doc); err != nil {
				return err
			}
			if format == "json" {
				return printJSON(cmd.OutOrStdout(), doc)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s at %s (unchanged since %s)\n\n", hostName(doc.Host.EC2InstanceID, doc.Host.ContainerInstanceARN),
				doc.At.Format(time.RFC3339), doc.AsOf.Format(time.RFC3339))
			printTable(cmd.OutOrStdout(), tenantColumns, format == "wide", tenantRows(tenantsOf(doc.Host)))
			return nil
		},
	}
	cmd.Flags().StringVar(&at, "at", "", "a time (2026-12-01T03:12:00Z) or an age (10m, 3h, 90d); default now")
	return cmd
}

func tenantsOf(h httpapi.HostDoc) []httpapi.TenantDoc {
	var out []httpapi.TenantDoc
	for _, d := range h.Devices {
		for _, s := range d.Shares {
			out = append(out, httpapi.TenantDoc{ShareDoc: s, Device: d.UUID, ContainerInstanceARN: h.ContainerInstanceARN, EC2InstanceID: h.EC2InstanceID})
		}
	}
	for _, s := range h.Unplaced {
		out = append(out, httpapi.TenantDoc{ShareDoc: s, ContainerInstanceARN: h.ContainerInstanceARN, EC2InstanceID: h.EC2InstanceID})
	}
	return out
}
