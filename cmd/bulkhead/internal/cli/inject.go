package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bulkhead-ecs/bulkhead/internal/local"
)

func newInject(g *globals) *cobra.Command {
	var in local.Injection
	cmd := &cobra.Command{
		Use:   "inject FAULT [VALUE]",
		Short: "Break something in a running `bulkhead local`, and be told what to watch",
		Long: "Break something in a running `bulkhead local`, and be told what to watch.\n\nFaults: " + strings.Join(local.InjectKinds(), ", ") + ".\n" +
			"xid takes the code, event-loss takes how long; agent-silent, nvml-hang and ecs-agent-lost may be given how long.\n" +
			"Without --host the busiest host is hit. Times are of the fleet, which runs faster than yours.",
		Example:   "  bulkhead local inject xid 79 --host i-0a1b2c3d4e5f60718\n  bulkhead local inject mps-dead\n  bulkhead local inject spot\n  bulkhead local inject event-loss 5m",
		Args:      cobra.RangeArgs(1, 2),
		ValidArgs: local.InjectKinds(),
		RunE: func(cmd *cobra.Command, args []string) error {
			format, err := g.format("table", "wide", "json")
			if err != nil {
				return err
			}
			if err := injection(&in, args); err != nil {
				return err
			}
			c, err := g.client(cmd.Context())
			if err != nil {
				return err
			}
			if c.creds != nil {
				return useError("faults are injected into a local run only: %s is not on this machine", c.base)
			}
			out, err := c.inject(cmd, in)
			if err != nil {
				return err
			}
			if format == "json" {
				return printJSON(cmd.OutOrStdout(), out)
			}
			fmt.Fprintln(cmd.OutOrStdout(), clean(out.Said))
			fmt.Fprintln(cmd.OutOrStdout(), "\nWatch:")
			for _, w := range out.Watch {
				fmt.Fprintln(cmd.OutOrStdout(), "  "+clean(w))
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&in.Host, "host", "", "EC2 instance id, or an end of one (default: the busiest host)")
	cmd.Flags().IntVar(&in.Card, "card", 0, "card of the host, from 0, for xid and mps-fault")
	return cmd
}

// injection reads the words of a fault.
func injection(in *local.Injection, args []string) error {
	in.Kind = args[0]
	value := ""
	if len(args) > 1 {
		value = args[1]
	}
	var err error
	switch in.Kind {
	case "xid":
		if in.Xid, err = strconv.Atoi(value); err != nil {
			return useError("xid takes a code, such as `inject xid 79`, not %q", value)
		}
	default:
		if local.Lasts(in.Kind) && (value != "" || in.Kind == "event-loss") {
			if in.For, err = time.ParseDuration(value); err != nil || in.For <= 0 {
				return useError("%s takes how long, such as `inject event-loss 5m`, not %q", in.Kind, value)
			}
			return nil
		}
		if value != "" {
			return useError("%s takes no value, and got %q; the host is given by --host", in.Kind, value)
		}
	}
	return nil
}

// inject asks a local run for a fault.
func (c *client) inject(cmd *cobra.Command, in local.Injection) (local.Injected, error) {
	var out local.Injected
	body, err := json.Marshal(in)
	if err != nil {
		return out, err
	}
	req, err := http.NewRequestWithContext(cmd.Context(), http.MethodPost, c.base+local.InjectPath, bytes.NewReader(body))
	if err != nil {
		return out, err
	}
	req.Header.Set(local.InjectHeader, "1")
	resp, err := c.http.Do(req)
	if err != nil {
		return out, exitError{ExitAPI, c.unreachable(err)}
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	switch {
	case err != nil:
		return out, exitError{ExitAPI, fmt.Errorf("the answer of %s broke off: %w", c.base, err)}
	case json.Unmarshal(b, &out) != nil || resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusMethodNotAllowed:
		return out, exitError{ExitAPI, fmt.Errorf("%s is no local run: start `bulkhead local`", c.base)}
	case out.Error != "":
		return out, exitError{ExitUse, errors.New(out.Error)}
	}
	return out, nil
}
