package cli

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/spf13/cobra"

	"github.com/bulkhead-ecs/bulkhead/internal/httpapi"
)

// word is what a person says, as the API takes it.
type word struct {
	Reason string `json:"reason"`
	Key    string `json:"key,omitempty"`
	GPU    string `json:"gpu,omitempty"`
}

// post says something. The answer is the line of the audit trail.
func (c *client) post(ctx context.Context, path string, say word) (httpapi.DecisionDoc, error) {
	var d httpapi.DecisionDoc
	body, err := json.Marshal(say)
	if err != nil {
		return d, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+path, bytes.NewReader(body))
	if err != nil {
		return d, err
	}
	req.Header.Set("Content-Type", "application/json")
	if c.creds != nil {
		creds, err := c.creds.Retrieve(ctx)
		if err != nil {
			return d, exitError{ExitAPI, fmt.Errorf("no AWS credentials to sign with (run `aws sso login`, or set a profile): %w", err)}
		}
		sum := sha256.Sum256(body)
		if err := v4.NewSigner().SignHTTP(ctx, creds, req, hex.EncodeToString(sum[:]), "execute-api", c.region, time.Now()); err != nil {
			return d, err
		}
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return d, exitError{ExitAPI, c.unreachable(err)}
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return d, exitError{ExitAPI, fmt.Errorf("the answer of %s broke off: %w", c.base, err)}
	}
	if resp.StatusCode != http.StatusOK {
		return d, exitError{ExitAPI, sentence(resp, got)}
	}
	if err := json.Unmarshal(got, &d); err != nil {
		return d, exitError{ExitAPI, fmt.Errorf("%s does not answer like Bulkhead: %w", c.base, err)}
	}
	return d, nil
}

// says finishes a verb by which a person says something: it takes the reason, sends
// the word to the path that the arguments make, and prints the decision.
func (g *globals) says(cmd *cobra.Command, then string, to func(args []string) (path string, say word)) *cobra.Command {
	var reason string
	cmd.Flags().StringVar(&reason, "reason", "", "why; required, and kept in the audit trail beside your name")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		format, err := g.format("table", "wide", "json")
		if err != nil {
			return err
		}
		if reason == "" {
			return useError("%s needs --reason: it is kept in the audit trail beside your name", cmd.Name())
		}
		c, err := g.client(cmd.Context())
		if err != nil {
			return err
		}
		base, err := g.clusterPath(cmd.Context(), c)
		if err != nil {
			return err
		}
		path, say := to(args)
		say.Reason = reason
		d, err := c.post(cmd.Context(), base+path, say)
		if err != nil {
			return err
		}
		if format == "json" {
			return printJSON(cmd.OutOrStdout(), d)
		}
		result := d.Result
		if result == "" {
			result = "begun"
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s %s: %s, decision %s\n%s\n", clean(d.Action), clean(lastPart(d.Subject)), clean(result), clean(d.ID), then)
		return nil
	}
	return cmd
}
