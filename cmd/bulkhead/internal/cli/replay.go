package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/bulkhead-ecs/bulkhead/internal/dynamo/embedded"
	"github.com/bulkhead-ecs/bulkhead/internal/httpapi"
	"github.com/bulkhead-ecs/bulkhead/internal/ingest"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/memstore"
	"github.com/bulkhead-ecs/bulkhead/internal/replay"
	"github.com/bulkhead-ecs/bulkhead/internal/sizing"
	"github.com/bulkhead-ecs/bulkhead/internal/vitals"
)

type replayFlags struct {
	events, describe, store string
	accounts, regions       []string
	tiers                   tierFlags
}

func newReplay(g *globals) *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:   "replay --events FILE",
		Short: "Feed recorded events through the real handlers and print the ledger they make",
		Long: "Feed recorded EventBridge events through the real handlers and print the ledger they make.\n\n" +
			"FILE holds one event a line: envelopes as an EventBridge archive or a queue dump gives them, bare, in an SQS\n" +
			"message's body, or in Records. DIR holds saved answers of `aws ecs describe-task-definition`,\n" +
			"`describe-container-instances` and `describe-tasks`, in any .json files. The clock is the latest event time.\n" +
			"Lines that cannot be read are counted and named, the rest is processed, and the exit status is then 1.\n\n" +
			"Tiers come from the tag or docker label bulkhead:tier of a task definition, else from the flags below, which are the\n" +
			"deployment's own settings ($BULKHEAD_TIER_RULES and its like are read, too). Without a rule, any tier may meet any.",
		Example: "  bulkhead replay --events events.jsonl --describe ./described -o json\n  zcat archive.gz | bulkhead replay --events -\n  bulkhead replay --events events.jsonl --tier-rules critical=same --tier-by-service chat=critical",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runReplay(cmd, g, f) },
	}
	fs := cmd.Flags()
	fs.StringVar(&f.events, "events", "", "file of events, - for standard input (required)")
	fs.StringVar(&f.describe, "describe", "", "directory of saved describe answers")
	fs.StringVar(&f.store, "store", "memory", "where the ledger is kept meanwhile: memory or dynamodb (embedded, or $BULKHEAD_TEST_DYNAMODB_ENDPOINT)")
	fs.StringSliceVar(&f.accounts, "account", nil, "believe only events of these accounts (default: any)")
	fs.StringSliceVar(&f.regions, "event-region", nil, "believe only events of these Regions (default: any)")
	f.tiers.add(cmd)
	_ = cmd.MarkFlagRequired("events")
	return cmd
}

func runReplay(cmd *cobra.Command, g *globals, f replayFlags) error {
	format, err := g.format("table", "wide", "json")
	if err != nil {
		return err
	}
	in := cmd.InOrStdin()
	if info, err := os.Stat(f.events); err == nil && info.IsDir() {
		return useError("--events %s is a directory: give a file of events, one a line", f.events)
	}
	if f.events != "-" {
		file, err := os.Open(f.events)
		if err != nil {
			return useError("the events cannot be read: %w", err)
		}
		defer file.Close()
		in = file
	}
	tiers, policy, err := f.tiers.read(g.streams.Env)
	if err != nil {
		return err
	}
	opts := replay.Options{Tiers: tiers, Policy: policy, Scope: ingest.Scope{Accounts: f.accounts, Regions: f.regions},
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Progress: progress(cmd.ErrOrStderr())}
	if f.describe != "" {
		if opts.Described, err = replay.ReadDescribed(os.DirFS(f.describe)); err != nil {
			return useError("--describe %s: %w", f.describe, err)
		}
	}
	var done func()
	if opts.Store, done, err = openStore(cmd.Context(), f.store); err != nil {
		return err
	}
	defer done()
	doc, err := replay.Run(cmd.Context(), in, opts)
	if err != nil {
		if errors.Is(err, context.Canceled) {
			return exitError{ExitAPI, errors.New("stopped")}
		}
		return exitError{ExitAPI, err}
	}
	return printReplay(cmd, doc, format)
}

// store keeps the ledger, and what hosts report.
type store interface {
	ledger.Store
	vitals.Store
	sizing.Store
}

// openStore opens the store that a replay or a local run keeps its ledger in.
func openStore(ctx context.Context, kind string) (store, func(), error) {
	switch kind {
	case "memory":
		return memstore.New(), func() {}, nil
	case "dynamodb":
		s, done, err := embedded.Open(ctx)
		if err != nil {
			return nil, nil, exitError{ExitAPI, fmt.Errorf("open the DynamoDB store: %w", err)}
		}
		return s, done, nil
	}
	return nil, nil, useError("--store %s is not known: use memory or dynamodb", kind)
}

func printReplay(cmd *cobra.Command, doc replay.Document, format string) error {
	out, errOut := cmd.OutOrStdout(), cmd.ErrOrStderr()
	for _, b := range doc.Broken {
		fmt.Fprintf(errOut, "line %d: %s\n", b.Line, clean(b.Reason))
	}
	for _, x := range doc.Rejected[:min(len(doc.Rejected), 20)] {
		fmt.Fprintf(errOut, "line %d: rejected: %s\n", x.Line, clean(x.Reason))
	}
	if n := len(doc.Rejected) - 20; n > 0 {
		fmt.Fprintf(errOut, "… and %d more rejected: -o json tells all\n", n)
	}
	if format == "json" {
		if err := printJSON(out, doc); err != nil {
			return err
		}
	} else {
		printReplayTables(cmd, doc, format == "wide")
	}
	if len(doc.Broken) > 0 {
		return errFinding
	}
	return nil
}

func printReplayTables(cmd *cobra.Command, doc replay.Document, wide bool) {
	out := cmd.OutOrStdout()
	var rows [][]string
	var tenants []httpapi.TenantDoc
	for _, h := range doc.Hosts {
		rows = append(rows, hostRow(h))
		tenants = append(tenants, tenantsOf(h)...)
	}
	printTable(out, hostColumns, wide, rows)
	fmt.Fprintln(out)
	printTable(out, tenantColumns, wide, tenantRows(tenants))
	fmt.Fprintln(out)
	printFindings(cmd, doc.Findings, wide)
	s := doc.Stats
	fmt.Fprintf(out, "\n%d events: %d applied, %d stale, %d duplicates, %d ignored, %d unknown, %d rejected; %d broken lines\n",
		s.Events, s.Applied, s.Stale, s.Duplicates, s.Ignored, s.Unknown, s.Rejected, s.Broken)
}

// progress shows a count on a terminal, and nothing elsewhere.
func progress(w io.Writer) func(int) {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return func(n int) {
		if n%20_000 < 256 {
			fmt.Fprintf(f, "\r%d events", n)
		}
	}
}
