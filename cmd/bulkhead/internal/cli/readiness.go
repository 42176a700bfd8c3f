package cli

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/sizing/readiness"
)

func newReadiness(g *globals) *cobra.Command {
	var amis []string
	cmd := &cobra.Command{
		Use:   "readiness",
		Short: "Report whether the cluster is ready to share GPUs, and what is not",
		Long: "Report for each GPU service its capacity type and who watches its MPS daemon, for each host the floors (container\n" +
			"agent " + readiness.AgentFloor + ", AMI " + readiness.AMIFloor + ") and why it is not capable, and which cards tasks of several services or tiers share:\n" +
			"they share one CUDA context and one fault domain. No event tells an AMI's release: give it with --ami.\n" +
			"Besides the usual formats, -o markdown and -o html write a document. Exits with 1 when something fails.",
		Example: "  bulkhead readiness\n  bulkhead readiness --ami ami-0a1b2c3d=20261102 -o markdown > readiness.md\n  bulkhead readiness -o html > readiness.html",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			format, err := g.format("table", "wide", "json", "markdown", "html")
			if err != nil {
				return err
			}
			r, err := document[readiness.Report](cmd.Context(), g, "/readiness", url.Values{"ami": amis})
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			switch format {
			case "json":
				err = printJSON(out, r)
			case "markdown":
				fmt.Fprint(out, readinessMarkdown(r))
			case "html":
				err = readinessHTML(out, r)
			default:
				printReadiness(cmd, r, format)
			}
			if err == nil && !r.Ready {
				return errFinding
			}
			return err
		},
	}
	cmd.Flags().StringArrayVar(&amis, "ami", nil, "release of an AMI as AMI_ID=YYYYMMDD; may repeat")
	return cmd
}

// section is one table of the report, the same in every format.
type section struct {
	title string
	cols  []column
	rows  [][]string
}

func readinessSections(r readiness.Report, format string) []section {
	services := section{title: "Services", cols: []column{{title: "SERVICE"}, {title: "CAPACITY"}, {title: "TIERS"}, {title: "TASKS", right: true}, {title: "WHO WATCHES MPS"}, {title: "VERDICT"}, {title: "UNWATCHED HOSTS", wide: true}}}
	for _, s := range r.Services {
		services.rows = append(services.rows, []string{short(format, s.Name, 24), strings.Join(s.Capacity, ","), strings.Join(s.Tiers, ","), strconv.Itoa(s.Tasks), s.Watcher, string(s.Verdict), strings.Join(s.Unwatched, ", ")})
	}
	hosts := section{title: "Hosts", cols: []column{{title: "HOST"}, {title: "CAPABLE"}, {title: "AGENT"}, {title: "AMI"}, {title: "WHY"}, {title: "TYPE", wide: true}, {title: "CAPACITY", wide: true}, {title: "AGENT VERSION", wide: true}, {title: "AMI ID", wide: true}}}
	for _, h := range r.Hosts {
		hosts.rows = append(hosts.rows, []string{hostName(h.EC2, h.Instance), string(h.Capable), string(h.AgentOK), string(h.AMIOK), strings.Join(h.Why, "; "), h.Type, h.Capacity, h.Agent, h.AMI})
	}
	cards := section{title: "Cards shared by several tasks", cols: []column{{title: "GPU"}, {title: "HOST"}, {title: "TASKS", right: true}, {title: "TIERS"}, {title: "SERVICES"}, {title: "MIXED TIERS"}}}
	for _, c := range r.CoTenancy {
		mixed := "no"
		if c.Mixed {
			mixed = "YES"
		}
		cards.rows = append(cards.rows, []string{card(format, c.GPU), c.EC2, strconv.Itoa(c.Tasks), strings.Join(c.Tiers, ","), strings.Join(c.Services, ", "), mixed})
	}
	return []section{services, hosts, cards}
}

func card(format string, u gpu.UUID) string {
	if format != "table" {
		return string(u)
	}
	return u.Short()
}

func headline(r readiness.Report) string {
	word := "ready"
	if !r.Ready {
		word = "NOT ready"
	}
	return "Cluster " + lastPart(r.Cluster) + " is " + word + " to share GPUs."
}

func printReadiness(cmd *cobra.Command, r readiness.Report, format string) {
	out := cmd.OutOrStdout()
	sections := readinessSections(r, format)
	if format == "csv" { // one table, or no program could read it: hosts are the longest
		printTable(out, sections[1].cols, true, sections[1].rows)
		return
	}
	fmt.Fprintln(out, headline(r))
	for _, s := range sections {
		fmt.Fprintln(out)
		if len(s.rows) == 0 {
			fmt.Fprintln(out, s.title+": none")
			continue
		}
		if format != "wide" {
			for _, row := range s.rows {
				last := 4 // the long text of each table
				row[last] = wrap(row[last], 40)
			}
		}
		printTable(out, s.cols, format == "wide", s.rows)
	}
}
