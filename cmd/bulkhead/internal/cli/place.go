package cli

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/spf13/cobra"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/httpapi"
	"github.com/bulkhead-ecs/bulkhead/internal/placing"
)

func newPlace(g *globals) *cobra.Command {
	var ask httpapi.PlacementAsk
	var mode, tier string
	var wait time.Duration
	cmd := &cobra.Command{
		Use:   "place TASK-DEFINITION",
		Short: "Start copies of a task on hosts that keep the policy",
		Long: "Start copies of a task on hosts that keep the policy: memory, compute, tiers. Each copy reserves its room first.\n" +
			"Asking again with the same --client-token within 24 hours asks once; without one, a token is made and shown.\n" +
			"Exits with 1 when a copy was refused.",
		Example: "  bulkhead place chat:7 --count 4 --dry-run\n  bulkhead place chat:7 --count 4 --client-token nightly-2026-12-01\n  bulkhead why bhp-3f7e1a2b9c0d4e5f60718293",
		Args:    exactly("task definition", "FAMILY:REVISION, or its ARN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			format, err := g.format("table", "wide", "json")
			if err != nil {
				return err
			}
			c, err := g.client(cmd.Context())
			if err != nil {
				return err
			}
			if ask.Cluster, err = g.clusterName(cmd.Context(), c); err != nil {
				return err
			}
			ask.TaskDefinition, ask.Mode, ask.Tier = args[0], placing.Mode(mode), gpu.Tier(tier)
			if ask.ClientToken == "" && !ask.DryRun {
				ask.ClientToken = "cli-" + rand.Text()
			}
			var d httpapi.PlacementDoc
			if err := c.send(cmd.Context(), "/v1/placements", ask, &d); err != nil {
				return err
			}
			if !ask.DryRun {
				fmt.Fprintf(cmd.ErrOrStderr(), "asked for as %s, client token %s\n", clean(d.ID), clean(ask.ClientToken))
				if d, err = c.settled(cmd.Context(), d, wait); err != nil {
					return err
				}
			}
			return g.placement(cmd.OutOrStdout(), d, format)
		},
	}
	f := cmd.Flags()
	f.IntVar(&ask.Count, "count", 1, "copies, 1 to 100")
	f.StringVar(&tier, "tier", "", "tier of the copies (default: the task definition's)")
	f.StringVar(&ask.Group, "group", "", "the tasks' group (default: ECS's own)")
	f.StringVar(&mode, "mode", "", "robust: every card that ECS could choose keeps the policy; optimistic: one does (default: the policy's)")
	f.StringVar(&ask.ClientToken, "client-token", "", "makes it safe to ask again (default: a new one)")
	f.BoolVar(&ask.DryRun, "dry-run", false, "say where they would go; start nothing")
	f.DurationVar(&wait, "wait", time.Minute, "how long to wait for the outcome")
	return cmd
}

// clusterName is the name that clusterPath ends with.
func (g *globals) clusterName(ctx context.Context, c *client) (string, error) {
	path, err := g.clusterPath(ctx, c)
	if err != nil {
		return "", err
	}
	return url.PathUnescape(strings.TrimPrefix(path, "/v1/clusters/"))
}

// settled asks until the placement is done and its cards are known, or time is over.
func (c *client) settled(ctx context.Context, d httpapi.PlacementDoc, wait time.Duration) (httpapi.PlacementDoc, error) {
	for end := time.Now().Add(wait); !everyCopyKnown(d) && time.Now().Before(end); {
		select {
		case <-ctx.Done():
			return d, ctx.Err()
		case <-time.After(min(2*time.Second, wait)):
		}
		if err := c.get(ctx, "/v1/placements/"+url.PathEscape(d.ID), nil, &d); err != nil {
			return d, err
		}
	}
	return d, nil
}

func everyCopyKnown(d httpapi.PlacementDoc) bool {
	for _, c := range d.Copies {
		if c.State != placing.Bound && c.State != placing.Refused {
			return false
		}
	}
	return true
}

// placement prints what became of each copy, and the explanations once each.
func (g *globals) placement(w io.Writer, d httpapi.PlacementDoc, format string) error {
	refused := false
	for _, c := range d.Copies {
		refused = refused || c.State == placing.Refused
	}
	if format == "json" {
		if err := printJSON(w, d); err != nil {
			return err
		}
	} else {
		printPlacement(w, d, format == "wide")
	}
	if refused {
		return errFinding
	}
	return nil
}

func printPlacement(w io.Writer, d httpapi.PlacementDoc, wide bool) {
	var rows [][]string
	seen := map[string]bool{}
	var why []string
	for i, c := range d.Copies {
		var cards []string
		for _, u := range c.GPUs {
			cards = append(cards, u.Short())
		}
		state := string(c.State)
		if d.DryRun && c.State == placing.Asked {
			state = "would fit"
		}
		rows = append(rows, []string{strconv.Itoa(i + 1), state, dash(cut(lastPart(c.ContainerInstanceARN), 20)), dash(strings.Join(cards, " ")), dash(c.Reason), dash(lastPart(c.TaskARN)), c.Reservation})
		if line := c.Text; line != "" && !seen[line] {
			seen[line] = true
			why = append(why, line)
		}
	}
	printTable(w, []column{{title: "COPY"}, {title: "STATE"}, {title: "HOST"}, {title: "GPU"}, {title: "REASON"}, {title: "TASK", wide: true}, {title: "RESERVATION", wide: true}}, wide, rows)
	if len(why) > 0 {
		fmt.Fprintln(w)
	}
	for _, line := range why {
		fmt.Fprintf(w, "  %s\n", strings.ReplaceAll(wrap(clean(shortARNs(line)), 94), "\n", "\n    "))
	}
}

// send posts a document and reads the answer's.
func (c *client) send(ctx context.Context, path string, doc, into any) error {
	body, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if c.creds != nil {
		creds, err := c.creds.Retrieve(ctx)
		if err != nil {
			return exitError{ExitAPI, fmt.Errorf("no AWS credentials to sign with (run `aws sso login`, or set a profile): %w", err)}
		}
		sum := sha256.Sum256(body)
		if err := v4.NewSigner().SignHTTP(ctx, creds, req, hex.EncodeToString(sum[:]), "execute-api", c.region, time.Now()); err != nil {
			return err
		}
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return exitError{ExitAPI, c.unreachable(err)}
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return exitError{ExitAPI, fmt.Errorf("the answer of %s broke off: %w", c.base, err)}
	}
	if resp.StatusCode != http.StatusOK {
		return exitError{ExitAPI, sentence(resp, got)}
	}
	if err := json.Unmarshal(got, into); err != nil {
		return exitError{ExitAPI, fmt.Errorf("%s does not answer like Bulkhead: %w", c.base, err)}
	}
	return nil
}
