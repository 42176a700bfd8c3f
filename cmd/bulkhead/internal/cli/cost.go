package cli

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/httpapi"
	"github.com/bulkhead-ecs/bulkhead/internal/sizing"
)

func newCost(g *globals) *cobra.Command {
	var from, to, by string
	var teams []string
	var own priceFlags
	cmd := &cobra.Command{
		Use:   "cost",
		Short: "Show what each service, team and tier had of the GPUs, and what stood idle or stranded",
		Long: "Show what each service had of the cluster's GPUs in a span, from the ledger's journal: GPU-hours times the larger of\n" +
			"its memory share and its compute share. Where shares weigh more than the card together, each is scaled, so that a card\n" +
			"is paid for once. Beside it: cards that held nothing (idle), what was still to be had on cards in use (free), and what\n" +
			"was not, since memory or compute was spent (stranded). A team is what --team says: the ledger keeps no tags.",
		Example: "  bulkhead cost\n  bulkhead cost --from 7d --by team --team 'chat*=assistants' --team '*=platform'\n" +
			"  bulkhead cost --from 30d --price g6.xlarge=0.52 -o csv",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			format, err := g.format("table", "wide", "json")
			if err != nil {
				return err
			}
			if !slices.Contains([]string{"owner", "service", "team", "tier"}, by) {
				return useError("--by %s is not known: use owner, service, team or tier", by)
			}
			q := url.Values{"team": teams}
			set(q, "from", from)
			set(q, "to", to)
			if err := own.set(q); err != nil {
				return err
			}
			doc, err := document[httpapi.CostDoc](cmd.Context(), g, "/cost", q)
			if err != nil {
				return err
			}
			doc.Lines = rollUp(doc.Lines, by)
			if format == "json" {
				return printJSON(cmd.OutOrStdout(), doc)
			}
			printCost(cmd, doc, format)
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&from, "from", "", "begin: a time, or an age such as 7d (default 24h)")
	f.StringVar(&to, "to", "", "end: a time, or an age (default now)")
	f.StringVar(&by, "by", "owner", "one line for each service, team or tier; owner is all three")
	f.StringArrayVar(&teams, "team", nil, "SERVICE=TEAM, or PREFIX*=TEAM; may repeat, the longest that fits counts")
	own.add(cmd)
	return cmd
}

// rollUp adds the lines of one service, team or tier together.
func rollUp(lines []sizing.Line, by string) []sizing.Line {
	sums := map[sizing.Owner]sizing.Line{}
	for _, l := range lines {
		switch by {
		case "service":
			l.Owner = sizing.Owner{Service: l.Service}
		case "team":
			l.Owner = sizing.Owner{Team: cmp.Or(l.Team, "(none)")}
		case "tier":
			l.Owner = sizing.Owner{Tier: cmp.Or(l.Tier, gpu.DefaultTier)}
		}
		s := sums[l.Owner]
		sums[l.Owner] = sizing.Line{Owner: l.Owner, GPUSeconds: s.GPUSeconds + l.GPUSeconds, Cost: s.Cost + l.Cost, Unpriced: s.Unpriced + l.Unpriced}
	}
	out := []sizing.Line{}
	for _, l := range sums {
		out = append(out, l)
	}
	slices.SortFunc(out, func(a, b sizing.Line) int {
		return cmp.Or(cmp.Compare(b.Cost, a.Cost), cmp.Compare(b.GPUSeconds, a.GPUSeconds), cmp.Compare(a.Service, b.Service), cmp.Compare(a.Team, b.Team), cmp.Compare(a.Tier, b.Tier))
	})
	return out
}

func printCost(cmd *cobra.Command, doc httpapi.CostDoc, format string) {
	out := cmd.OutOrStdout()
	var rows [][]string
	row := func(service, team, tier string, p sizing.Part, unpriced float64) {
		rows = append(rows, []string{short(format, dash(service), 32), dash(team), dash(tier), hours(p.Seconds), fmt.Sprintf("%.1f%%", 100*p.Seconds/max(doc.GPUSeconds, 1)),
			fmt.Sprintf("%.2f", p.Cost), hours(unpriced)})
	}
	for _, l := range doc.Lines {
		row(l.Service, l.Team, string(l.Tier), sizing.Part{Seconds: l.GPUSeconds, Cost: l.Cost}, l.Unpriced)
	}
	row("(idle cards)", "", "", doc.Idle, 0)
	row("(free on cards in use)", "", "", doc.Free, 0)
	row("(stranded)", "", "", doc.Stranded, 0)
	if doc.Unknown.Seconds > 0 {
		row("(memory not told)", "", "", doc.Unknown, 0)
	}
	printTable(out, []column{{title: "SERVICE"}, {title: "TEAM"}, {title: "TIER"}, {title: "GPU-HOURS", right: true}, {title: "OF ALL", right: true}, {title: "USD", right: true},
		{title: "NOT PRICED", right: true, wide: true}}, format == "wide", rows)
	fmt.Fprintf(out, "%s to %s: %s GPU-hours.\nSharing saved %.1f GPUs against a whole one for each task.\n",
		doc.From.Format(time.RFC3339), doc.To.Format(time.RFC3339), hours(doc.GPUSeconds), doc.GPUsSaved)
	fmt.Fprintf(out, "On-Demand prices of %s, %s; give your own with --price or --prices.\n", doc.Prices.AsOf, doc.Prices.Region)
	if len(doc.Unpriced) > 0 {
		fmt.Fprintln(out, wrap("No price is known for "+strings.Join(doc.Unpriced, ", ")+": their hours count, at no cost.", 96))
	}
}

func hours(seconds float64) string { return fmt.Sprintf("%.1f", seconds/3600) }
