package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/bulkhead-ecs/bulkhead/internal/httpapi"
)

func newBreaker(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "breaker",
		Short: "List the breakers: causes that many hosts have, for which remedies are held",
		Long: "List the breakers. One opens when many hosts with one AMI and driver show the same cause: then nothing is replaced for\n" +
			"it, because the next host would come from the same AMI. Exits with 1 when one is open.",
		Example: "  bulkhead breaker\n  bulkhead breaker reset \"Xid119 ami-0a1b 580.159.03\" --reason \"AMI rolled back\"",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			format, err := g.format("table", "wide", "json")
			if err != nil {
				return err
			}
			var doc struct {
				Breakers []httpapi.BreakerDoc `json:"breakers"`
			}
			if err := g.read(cmd.Context(), "/breakers", nil, &doc); err != nil {
				return err
			}
			open := false
			var rows [][]string
			for _, b := range doc.Breakers {
				open = open || b.State == "open"
				rows = append(rows, []string{b.Key, b.State, fmt.Sprintf("%d of %d", b.Hosts, b.Of), b.Since.UTC().Format(time.RFC3339), dash(b.Canary),
					(time.Duration(b.CoolDownSeconds) * time.Second).String()})
			}
			if format == "json" {
				err = printJSON(cmd.OutOrStdout(), doc)
			} else {
				printTable(cmd.OutOrStdout(), []column{{title: "CAUSE"}, {title: "STATE"}, {title: "HOSTS"}, {title: "SINCE"}, {title: "CANARY", wide: true}, {title: "COOL-DOWN", wide: true}},
					format == "wide", rows)
			}
			if open {
				return errFinding
			}
			return err
		},
	}
	cmd.AddCommand(g.says(&cobra.Command{
		Use:     "reset CAUSE",
		Short:   "Close a breaker whose cause is understood",
		Example: "  bulkhead breaker reset \"Xid119 ami-0a1b 580.159.03\" --reason \"AMI rolled back\"",
		Args:    exactly("CAUSE", "bulkhead breaker lists them; put it in quotes"),
	}, "Hosts that were counted until now count no more.", func(args []string) (string, word) {
		return "/breakers/reset", word{Key: args[0]}
	}))
	return cmd
}
