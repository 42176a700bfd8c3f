package cli

import (
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bulkhead-ecs/bulkhead/internal/httpapi"
)

func newWhy(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "why PLACEMENT|HOST",
		Short: "Say why copies went where they went, or why a host is as it is",
		Long: "Say what became of each copy of a placement and why hosts were refused, or, given a host, why it is as it is and\n" +
			"what is or is not done about it. Placements are kept for 24 hours. Exits with 1 when a copy was refused.",
		Example: "  bulkhead why bhp-3f7e1a2b9c0d4e5f60718293\n  bulkhead why i-0a1b2c3d4e5f60718",
		Args:    exactly("placement or host", "the id that `bulkhead place` printed, or an EC2 instance id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			format, err := g.format("table", "wide", "json")
			if err != nil {
				return err
			}
			if !strings.HasPrefix(args[0], "bhp-") {
				return g.whyHost(cmd.Context(), cmd.OutOrStdout(), args[0], format)
			}
			c, err := g.client(cmd.Context())
			if err != nil {
				return err
			}
			var d httpapi.PlacementDoc
			if err := c.get(cmd.Context(), "/v1/placements/"+url.PathEscape(args[0]), nil, &d); err != nil {
				return err
			}
			return g.placement(cmd.OutOrStdout(), d, format)
		},
	}
}
