package cli

import (
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bulkhead-ecs/bulkhead/internal/httpapi"
)

func newHealth(g *globals) *cobra.Command {
	var level string
	cmd := &cobra.Command{
		Use:   "health",
		Short: "List what each host's agent says of its GPUs and MPS, and what follows",
		Long: "List the verdict on each host: its level, whether it takes new sharing tasks, and the reasons with the action each\n" +
			"asks for. A host whose agent never reported is unknown. Exits with 1 when a host is degraded or failed.",
		Example: "  bulkhead health\n  bulkhead health --level failed,degraded -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			format, err := g.format("table", "wide", "json")
			if err != nil {
				return err
			}
			q := url.Values{}
			set(q, "level", level)
			docs, err := all[httpapi.VitalsDoc](cmd.Context(), g, "/health", "health", q)
			if err != nil {
				return err
			}
			if format == "json" {
				err = printJSON(cmd.OutOrStdout(), map[string]any{"health": docs})
			} else {
				var rows [][]string
				for _, d := range docs {
					rows = append(rows, vitalsRow(d))
				}
				printTable(cmd.OutOrStdout(), []column{{title: "HOST"}, {title: "LEVEL"}, {title: "TAKES TASKS"}, {title: "MPS"}, {title: "NVML"}, {title: "REASONS"},
					{title: "DRIVER", wide: true}, {title: "AGENT", wide: true}, {title: "REPORTED", wide: true}}, format == "wide", rows)
			}
			for _, d := range docs {
				if d.Level == "failed" || d.Level == "degraded" {
					return errFinding
				}
			}
			return err
		},
	}
	cmd.Flags().StringVar(&level, "level", "", "only hosts of this level: healthy, suspect, unknown, degraded, failed")
	return cmd
}

func vitalsRow(d httpapi.VitalsDoc) []string {
	takes, reported := "no", "never"
	if d.AcceptsTasks {
		takes = "yes"
	}
	if d.ReportedAt != nil {
		reported = d.ReportedAt.UTC().Format(time.RFC3339)
	}
	var reasons []string
	for _, r := range d.Reasons {
		word := r.Token
		if r.GPU != "" {
			word += " on " + r.GPU.Short()
		}
		if len(r.Actions) > 0 {
			word += " → " + r.Actions[0]
		}
		reasons = append(reasons, word)
	}
	return []string{hostName(d.EC2InstanceID, d.ContainerInstanceARN), d.Level, takes, dash(d.MPS), dash(d.NVML), head(strings.Join(reasons, "; "), 31), d.Driver, d.AgentVersion, reported}
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// head keeps the start of a text, where the gravest reason stands.
func head(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}
