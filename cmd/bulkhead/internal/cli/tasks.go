package cli

import (
	"fmt"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/httpapi"
)

var tenantColumns = []column{
	{title: "TASK"}, {title: "CONTAINER"}, {title: "SERVICE"}, {title: "TIER"}, {title: "MiB", right: true}, {title: "COMPUTE", right: true},
	{title: "STATE"}, {title: "GPU"}, {title: "HOST"}, {title: "STATUS", wide: true}, {title: "DEFINITION", wide: true}, {title: "WHOLE HOST", wide: true},
}

func newTasks(g *globals) *cobra.Command {
	var tier, service, state string
	var ended bool
	cmd := &cobra.Command{
		Use:     "tasks [TASK]",
		Short:   "List what each task holds, or show one task",
		Example: "  bulkhead tasks\n  bulkhead tasks --service chat --tier critical\n  bulkhead tasks 4f2a9c0d   # one task, by id (eight letters are enough) or ARN",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			q := url.Values{}
			set(q, "tier", tier)
			set(q, "service", service)
			set(q, "state", state)
			if state == "" && !ended && len(args) == 0 {
				q.Set("state", "reserved,bound,releasing")
			}
			path := "/tasks"
			if len(args) == 1 {
				path += "/" + url.PathEscape(args[0])
			}
			return showTenants(cmd, g, path, "tasks", q)
		},
	}
	f := cmd.Flags()
	f.StringVar(&tier, "tier", "", "only tasks of this tier")
	f.StringVar(&service, "service", "", "only tasks of this service")
	f.StringVar(&state, "state", "", "only shares in this state: reserved, bound, releasing, released, expired, lost")
	f.BoolVar(&ended, "all", false, "show shares that hold nothing any more, too")
	return cmd
}

func newTenants(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:     "tenants GPU",
		Short:   "Show who stands on one GPU: the blast radius of a fault on it",
		Example: "  bulkhead tenants GPU-3f1c6b2e-0a5d-4b7e-9c38-2f6d1e7a9b40",
		Args:    exactly("GPU", "bulkhead gpus lists them"),
		RunE: func(cmd *cobra.Command, args []string) error {
			format, err := g.format("table", "wide", "json")
			if err != nil {
				return err
			}
			c, err := g.client(cmd.Context())
			if err != nil {
				return err
			}
			uuid, err := fullUUID(cmd, g, args[0])
			if err != nil {
				return err
			}
			var doc struct {
				UUID    gpu.UUID            `json:"uuid"`
				Host    string              `json:"containerInstanceArn"`
				EC2     string              `json:"ec2InstanceId"`
				Tenants []httpapi.TenantDoc `json:"tenants"`
			}
			if err := c.get(cmd.Context(), "/v1/gpus/"+url.PathEscape(uuid)+"/tenants", nil, &doc); err != nil {
				return err
			}
			if format == "json" {
				return printJSON(cmd.OutOrStdout(), doc)
			}
			if len(doc.Tenants) == 0 {
				fmt.Fprintf(cmd.OutOrStdout(), "Nothing holds %s on %s.\n", doc.UUID, hostName(doc.EC2, doc.Host))
				return nil
			}
			printTable(cmd.OutOrStdout(), tenantColumns, format == "wide", tenantRows(doc.Tenants))
			fmt.Fprintf(cmd.OutOrStdout(), "%d containers share the fate of %s: a fatal error of one can reach all.\n", len(doc.Tenants), doc.UUID.Short())
			return nil
		},
	}
}

// fullUUID completes the short form that tables show.
func fullUUID(cmd *cobra.Command, g *globals, want string) (string, error) {
	if len(want) > len("GPU-00000000") {
		return want, nil
	}
	gpus, err := all[httpapi.GPUDoc](cmd.Context(), g, "/gpus", "gpus", nil)
	if err != nil {
		return "", err
	}
	var found []string
	for _, d := range gpus {
		if d.UUID.Short() == want {
			found = append(found, string(d.UUID))
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return want, nil // the API says what is wrong with it
	}
	return "", useError("%s is the start of %d cards: give the whole UUID (bulkhead gpus -o json)", want, len(found))
}

func showTenants(cmd *cobra.Command, g *globals, path, key string, q url.Values) error {
	format, err := g.format("table", "wide", "json")
	if err != nil {
		return err
	}
	ts, err := all[httpapi.TenantDoc](cmd.Context(), g, path, key, q)
	if err != nil {
		return err
	}
	if format == "json" {
		return printJSON(cmd.OutOrStdout(), map[string]any{key: ts})
	}
	if len(ts) == 0 {
		fmt.Fprintln(cmd.OutOrStdout(), "No task holds anything (by these filters).")
		return nil
	}
	printTable(cmd.OutOrStdout(), tenantColumns, format == "wide", tenantRows(ts))
	return nil
}

func tenantRows(ts []httpapi.TenantDoc) [][]string {
	var rows [][]string
	for _, t := range ts {
		task := first(lastPart(t.TaskARN), 8)
		if t.TaskARN == "" {
			task = first(t.Reservation, 8)
		}
		card := t.Device.Short()
		if card == "" {
			card = "(not named)"
		}
		service := t.Service
		if service == "" {
			service = "-"
		}
		rows = append(rows, []string{task, cut(clean(t.Container), 10), cut(clean(service), 11), cut(string(t.Tier), 11), amount(t.MemoryMiB),
			fmt.Sprintf("%d%%", t.ComputePercent), string(t.State), card, cut(hostName(t.EC2InstanceID, t.ContainerInstanceARN), 11), t.LastStatus, lastPart(t.Definition), hostName(t.EC2InstanceID, t.ContainerInstanceARN)})
	}
	return rows
}

// first is the start of an id, as long as people need to tell it from others.
func first(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n])
	}
	return s
}
