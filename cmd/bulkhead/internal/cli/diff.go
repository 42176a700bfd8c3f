package cli

import (
	"fmt"
	"net/url"
	"sort"
	"time"

	"github.com/spf13/cobra"

	"github.com/bulkhead-ecs/bulkhead/internal/httpapi"
)

func newDiff(g *globals) *cobra.Command {
	var from, to string
	cmd := &cobra.Command{
		Use:     "diff HOST --from TIME [--to TIME]",
		Short:   "Show what changed on a host between two times",
		Example: "  bulkhead diff i-0a1b2c3d4e5f60718 --from 1h\n  bulkhead diff i-0a1b2c3d4e5f60718 --from 2026-12-01T03:00:00Z --to 2026-12-01T04:00:00Z -o json",
		Args:    exactly("HOST", "bulkhead hosts lists them"),
		RunE: func(cmd *cobra.Command, args []string) error {
			format, err := g.format("table", "wide", "json")
			if err != nil {
				return err
			}
			a, err := hostAt(cmd, g, args[0], from)
			if err != nil {
				return err
			}
			b, err := hostAt(cmd, g, args[0], to)
			if err != nil {
				return err
			}
			changes := hostChanges(a.Host, b.Host)
			if format == "json" {
				return printJSON(cmd.OutOrStdout(), map[string]any{"from": a.At, "to": b.At, "changes": changes})
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s from %s to %s: %d changes\n\n", hostName(b.Host.EC2InstanceID, b.Host.ContainerInstanceARN), a.At.Format(time.RFC3339), b.At.Format(time.RFC3339), len(changes))
			var rows [][]string
			for _, c := range changes {
				rows = append(rows, []string{c.What, c.Before, c.After})
			}
			if len(rows) > 0 {
				printTable(cmd.OutOrStdout(), []column{{title: "WHAT"}, {title: "BEFORE"}, {title: "AFTER"}}, format == "wide", rows)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&from, "from", "1h", "a time (2026-12-01T03:12:00Z) or an age (10m, 3h, 2d)")
	cmd.Flags().StringVar(&to, "to", "", "a time or an age; default now")
	return cmd
}

// at is what stood on a host at a time.
type at struct {
	At   time.Time       `json:"at"`
	AsOf time.Time       `json:"asOf"`
	Host httpapi.HostDoc `json:"host"`
}

func hostAt(cmd *cobra.Command, g *globals, host, when string) (at, error) {
	var doc at
	c, err := g.client(cmd.Context())
	if err != nil {
		return doc, err
	}
	base, err := g.clusterPath(cmd.Context(), c)
	if err != nil {
		return doc, err
	}
	q := url.Values{}
	set(q, "at", when)
	return doc, c.get(cmd.Context(), base+"/hosts/"+url.PathEscape(host)+"/history", q, &doc)
}

// change is one difference between two states of a host.
type change struct {
	What   string `json:"what"`
	Before string `json:"before"`
	After  string `json:"after"`
}

// hostChanges compares what people look at: the host's own words, and each share.
func hostChanges(a, b httpapi.HostDoc) []change {
	var out []change
	say := func(what, before, after string) {
		if before != after {
			out = append(out, change{what, before, after})
		}
	}
	say("status", a.Status, b.Status)
	say("agent connected", fmt.Sprint(a.AgentConnected), fmt.Sprint(b.AgentConnected))
	say("EC2", a.EC2State, b.EC2State)
	before, after := standing(a), standing(b)
	var keys []string
	for k := range before {
		keys = append(keys, k)
	}
	for k := range after {
		if _, both := before[k]; !both {
			keys = append(keys, k)
		}
	}
	sort.Strings(keys)
	for _, k := range keys {
		say(k, before[k], after[k])
	}
	return out
}

// standing is what each container holds and where, by task and container.
func standing(h httpapi.HostDoc) map[string]string {
	out := map[string]string{}
	for _, t := range tenantsOf(h) {
		card := t.Device.Short()
		if card == "" {
			card = "no card yet"
		}
		out[fmt.Sprintf("%s/%s", first(lastPart(t.TaskARN+t.Reservation), 8), clean(t.Container))] = fmt.Sprintf("%s %s MiB on %s", t.State, amount(t.MemoryMiB), card)
	}
	return out
}
