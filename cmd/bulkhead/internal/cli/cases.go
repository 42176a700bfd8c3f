package cli

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bulkhead-ecs/bulkhead/internal/httpapi"
)

type caseList struct {
	Mode   string            `json:"mode"`
	Paused *httpapi.WordDoc  `json:"paused"`
	Cases  []httpapi.CaseDoc `json:"cases"`
}

func newCases(g *globals) *cobra.Command {
	var state, host string
	cmd := &cobra.Command{
		Use:   "cases",
		Short: "List cases of sick hosts: what is done about each, and what it waits for",
		Long: "List cases, newest first. A case is one fault of one host, from the verdict that opened it until the host serves again,\n" +
			"another serves in its place, or a person ended it. Exits with 1 when a case is blocked.",
		Example: "  bulkhead cases\n  bulkhead cases --state all --host i-0a1b2c3d4e5f60718",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			format, err := g.format("table", "wide", "json")
			if err != nil {
				return err
			}
			q := url.Values{}
			set(q, "state", state)
			set(q, "host", host)
			var doc caseList
			if err := g.read(cmd.Context(), "/cases", q, &doc); err != nil {
				return err
			}
			if format == "json" {
				err = printJSON(cmd.OutOrStdout(), doc)
			} else {
				printCases(cmd.OutOrStdout(), doc, format == "wide")
			}
			for _, c := range doc.Cases {
				if c.Blocker != "" && c.Closed == nil {
					return errFinding
				}
			}
			return err
		},
	}
	cmd.Flags().StringVar(&state, "state", "", "open (the default), closed or all")
	cmd.Flags().StringVar(&host, "host", "", "only of this container instance or EC2 instance")
	return cmd
}

// read asks for a document of the cluster.
func (g *globals) read(ctx context.Context, path string, q url.Values, into any) error {
	c, err := g.client(ctx)
	if err != nil {
		return err
	}
	base, err := g.clusterPath(ctx, c)
	if err != nil {
		return err
	}
	return c.get(ctx, base+path, q, into)
}

func printCases(w io.Writer, doc caseList, wide bool) {
	fmt.Fprintf(w, "mode %s", clean(dash(doc.Mode)))
	if p := doc.Paused; p != nil {
		fmt.Fprintf(w, ", paused by %s: %s", clean(lastPart(p.By)), clean(p.Reason))
	}
	fmt.Fprint(w, "\n\n")
	var rows [][]string
	for _, c := range doc.Cases {
		state, next := c.State, c.Waiting
		switch {
		case c.Outcome != "":
			state, next = c.Outcome, mttr(c)
		case c.Blocker != "":
			next = c.Blocker + ": " + c.BlockerDetail
		}
		rows = append(rows, []string{c.ID, state, c.Cause, c.Rule, head(shortARNs(next), 31), c.Opened.UTC().Format(time.RFC3339), dash(c.Newcomer), fmt.Sprint(c.InRepair)})
	}
	printTable(w, []column{{title: "CASE"}, {title: "STATE"}, {title: "CAUSE", wide: true}, {title: "RULE", wide: true}, {title: "WAITS FOR"}, {title: "OPENED", wide: true},
		{title: "NEWCOMER", wide: true}, {title: "IN REPAIR", wide: true}}, wide, rows)
}

func mttr(c httpapi.CaseDoc) string {
	return "after " + (time.Duration(c.MTTRSeconds) * time.Second).String()
}

func newCase(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:     "case ID|HOST",
		Short:   "Show one case, or a host's: why it is open, what was done, what keeps it from going on",
		Example: "  bulkhead case i-0a1b2c3d4e5f60718.Xid79.1796094300\n  bulkhead case i-0a1b2c3d4e5f60718   # why is this host as it is?",
		Args:    exactly("case ID, or host", "bulkhead cases lists them"),
		RunE: func(cmd *cobra.Command, args []string) error {
			format, err := g.format("table", "wide", "json")
			if err != nil {
				return err
			}
			if !strings.Contains(args[0], ".") { // a case id has the cause in it
				return g.whyHost(cmd.Context(), cmd.OutOrStdout(), args[0], format)
			}
			var c httpapi.CaseDoc
			if err := g.read(cmd.Context(), "/cases/"+url.PathEscape(args[0]), nil, &c); err != nil {
				return err
			}
			if format == "json" {
				return printJSON(cmd.OutOrStdout(), c)
			}
			printCase(cmd.OutOrStdout(), c)
			return nil
		},
	}
}

func printCase(w io.Writer, c httpapi.CaseDoc) {
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(w, "%-9s %s\n", name, strings.ReplaceAll(wrap(shortARNs(value), 88), "\n", "\n          "))
		}
	}
	line("case", c.ID)
	line("host", hostName(c.EC2InstanceID, c.ContainerInstanceARN))
	line("cause", strings.TrimSpace(c.Cause+" "+string(c.GPU)))
	line("why", c.Why)
	state := c.State
	if c.Resume != "" {
		state += ", goes on from " + c.Resume
	}
	line("state", state+" since "+c.Since.UTC().Format(time.RFC3339))
	line("rule", fmt.Sprintf("%s, rung %d", dash(c.Rule), c.Rung))
	if c.Blocker != "" {
		line("blocked", c.Blocker+": "+c.BlockerDetail)
	}
	line("waits for", c.Waiting)
	if c.Held != nil {
		line("held", c.Held.By+": "+c.Held.Reason)
	}
	if c.Outcome != "" {
		line("ended", c.Outcome+" "+mttr(c))
	}
	line("newcomer", c.Newcomer)
	if len(c.Attempts) > 0 {
		fmt.Fprintln(w)
		var rows [][]string
		for _, a := range c.Attempts {
			rows = append(rows, []string{a.Last.UTC().Format(time.RFC3339), a.Step, fmt.Sprint(a.Tries), dash(a.Result), head(shortARNs(a.Detail), 40)})
		}
		printTable(w, []column{{title: "AT"}, {title: "STEP"}, {title: "TRIES", right: true}, {title: "RESULT"}, {title: "DETAIL"}}, false, rows)
	}
	fmt.Fprintln(w)
	for _, e := range c.Trail {
		fmt.Fprintf(w, "%s  %s\n", e.At.UTC().Format(time.RFC3339), strings.ReplaceAll(wrap(shortARNs(e.Text), 76), "\n", "\n                      "))
	}
}

// remedyVerbs are the verbs about sick hosts.
func remedyVerbs(g *globals) []*cobra.Command {
	return []*cobra.Command{newCases(g), newCase(g), newPause(g), newResume(g), newCancel(g), newSetHealthy(g), newCordon(g), newUncordon(g), newBreaker(g)}
}
