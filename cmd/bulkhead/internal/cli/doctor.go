package cli

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"
)

func newDoctor(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Check the way from here to Bulkhead, and say what to mend",
		Long: "Check the way from here to Bulkhead step by step: the address, the Region and credentials to sign with, an answer, the\n" +
			"clock, and whether the ledger knows a cluster. Exits with 1 when a step fails. For a host, see `bulkhead-agent doctor`.",
		Example: "  bulkhead doctor\n  bulkhead doctor --endpoint https://abc.execute-api.us-east-1.amazonaws.com",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			format, err := g.format("table", "wide", "json")
			if err != nil {
				return err
			}
			steps := g.examine(cmd.Context())
			if format == "json" {
				err = printJSON(cmd.OutOrStdout(), map[string]any{"steps": steps})
			} else {
				for _, s := range steps {
					mark := "✓"
					if !s.Fine {
						mark = "✗"
					}
					fmt.Fprintf(cmd.OutOrStdout(), "%s %-12s %s\n", mark, s.Name, clean(s.Says))
				}
			}
			for _, s := range steps {
				if !s.Fine {
					return errFinding
				}
			}
			return err
		},
	}
}

// step is one thing that was looked at.
type step struct {
	Name string `json:"name"`
	Fine bool   `json:"fine"`
	Says string `json:"says"`
}

// maxClockOff is how far a clock may be off before signatures are refused.
const maxClockOff = 5 * time.Minute

// examine goes as far as the way is open.
func (g *globals) examine(ctx context.Context) (steps []step) {
	ok := func(name, format string, args ...any) {
		steps = append(steps, step{name, true, fmt.Sprintf(format, args...)})
	}
	no := func(name, format string, args ...any) {
		steps = append(steps, step{name, false, fmt.Sprintf(format, args...)})
	}
	c, err := g.client(ctx)
	if err != nil {
		no("address", "%s: %v", g.address(), err)
		return steps
	}
	ok("address", "%s", c.base)
	if c.creds == nil {
		ok("credentials", "none needed: it is on this machine")
	} else if creds, err := c.creds.Retrieve(ctx); err != nil {
		no("credentials", "none to sign with: run `aws sso login`, or set a profile (%v)", err)
		return steps
	} else {
		ok("credentials", "%s for Region %s, from %s", first(creds.AccessKeyID, 8)+"…", c.region, creds.Source)
	}
	var list clusterList
	began := time.Now()
	if err := c.get(ctx, "/v1/clusters", nil, &list); err != nil {
		no("answer", "%v", err)
		return steps
	}
	ok("answer", "in %s", time.Since(began).Round(time.Millisecond))
	switch off, err := c.clockOff(ctx); {
	case err != nil:
		no("clock", "%v", err)
	case off.Abs() > maxClockOff:
		no("clock", "this machine's is off by %s: signatures are refused beyond %s, so set it right", off.Round(time.Second), maxClockOff)
	default:
		ok("clock", "within %s of the server's", max(time.Second, off.Abs().Round(time.Second)))
	}
	if len(list.Clusters) == 0 {
		no("ledger", "it knows no cluster: no event of a GPU host came in yet, and no sweep found one")
		return steps
	}
	for _, x := range list.Clusters {
		ok("ledger", "it knows cluster %s", x.Name)
	}
	return steps
}

// clockOff is how far this machine's clock is ahead of the server's.
func (c *client) clockOff(ctx context.Context) (time.Duration, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+"/v1/clusters", nil)
	if err != nil {
		return 0, err
	}
	if err := c.sign(ctx, req); err != nil {
		return 0, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, c.unreachable(err)
	}
	defer resp.Body.Close()
	at, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		return 0, fmt.Errorf("the answer has no time: %w", err)
	}
	return time.Since(at), nil
}
