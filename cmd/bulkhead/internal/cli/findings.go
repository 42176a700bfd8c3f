package cli

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/httpapi"
)

func newFindings(g *globals) *cobra.Command {
	var kind, severity string
	cmd := &cobra.Command{
		Use:     "findings",
		Short:   "List what is wrong, by name",
		Long:    "List breaches of the ledger's laws and what cannot be judged. Exits with 1 when a finding of severity error is shown.",
		Example: "  bulkhead findings\n  bulkhead findings --severity error\n  bulkhead findings --kind OverMemory -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			format, err := g.format("table", "wide", "json")
			if err != nil {
				return err
			}
			q := url.Values{}
			set(q, "kind", kind)
			set(q, "severity", severity)
			fs, err := all[httpapi.FindingDoc](cmd.Context(), g, "/findings", "findings", q)
			if err != nil {
				return err
			}
			if format == "json" {
				err = printJSON(cmd.OutOrStdout(), map[string]any{"findings": fs})
			} else {
				printFindings(cmd, fs, format == "wide")
			}
			for _, f := range fs {
				if f.Severity == "error" {
					return errFinding
				}
			}
			return err
		},
	}
	cmd.Flags().StringVar(&kind, "kind", "", "only findings of this kind, such as OverMemory")
	cmd.Flags().StringVar(&severity, "severity", "", "only findings of this severity: error, warning, info")
	return cmd
}

// shortSubject is what a finding is about, as the other tables show it.
func shortSubject(s string) string {
	if u := gpu.UUID(s); u.Valid() {
		return u.Short()
	}
	if strings.Contains(s, ":task/") || strings.Contains(s, ":container-instance/") {
		return first(lastPart(s), 8)
	}
	return cut(lastPart(s), 16)
}

func printFindings(cmd *cobra.Command, fs []httpapi.FindingDoc, wide bool) {
	if len(fs) == 0 {
		fmt.Fprintln(cmd.OutOrStdout(), "No findings.")
		return
	}
	var rows [][]string
	for _, f := range fs {
		reason := clean(f.Reason)
		if !wide {
			reason = wrap(shortARNs(f.Reason), 50)
		}
		rows = append(rows, []string{string(f.Severity), string(f.Kind), shortSubject(f.Subject), reason, f.Subject})
	}
	printTable(cmd.OutOrStdout(), []column{{title: "SEVERITY"}, {title: "KIND"}, {title: "SUBJECT"}, {title: "REASON"}, {title: "FULL SUBJECT", wide: true}}, wide, rows)
}
