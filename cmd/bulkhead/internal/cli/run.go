package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// Streams are the command's ties to the world.
type Streams struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer
	Env func(string) string
}

// Exit codes.
const (
	ExitFine    = 0
	ExitFinding = 1
	ExitUse     = 2
	ExitAPI     = 3
)

// exitError carries an exit code with its sentence. An empty sentence prints nothing.
type exitError struct {
	code int
	err  error
}

func (e exitError) Error() string { return e.err.Error() }
func (e exitError) Unwrap() error { return e.err }

func useError(format string, args ...any) error {
	return exitError{ExitUse, fmt.Errorf(format, args...)}
}

// errFinding ends with ExitFinding and says nothing more: the output said it.
var errFinding = exitError{ExitFinding, errors.New("")}

// Run runs the command line and returns the exit code.
func Run(ctx context.Context, args []string, s Streams) int {
	every, args, err := watching(args)
	if err == nil && every > 0 {
		return watch(ctx, every, args, s)
	}
	if err == nil {
		root := newRoot(s)
		root.SetArgs(args)
		root.SetIn(s.In)
		root.SetOut(s.Out)
		root.SetErr(s.Err)
		err = root.ExecuteContext(ctx)
	}
	if err == nil {
		return ExitFine
	}
	if msg := strings.Join(strings.Fields(err.Error()), " "); msg != "" { // cobra spreads its suggestions over lines
		fmt.Fprintln(s.Err, "bulkhead: "+msg)
	}
	var exit exitError
	if errors.As(err, &exit) {
		return exit.code
	}
	return ExitUse // cobra's own errors: unknown command, unknown flag
}

func newRoot(s Streams) *cobra.Command {
	g := &globals{streams: s}
	root := &cobra.Command{
		Use:   "bulkhead",
		Short: "The control plane for shared GPUs on Amazon ECS",
		Long: "Bulkhead keeps the ledger of who holds what on each physical GPU of an Amazon ECS cluster that shares\n" +
			"GPUs through MPS, and answers questions about it.\n\n" +
			"New here? `bulkhead local` runs all of it on this machine, with no AWS and no GPU.\n\n" +
			"Exit status: 0 fine, 1 something is wrong and was shown (a finding of severity error, a broken line),\n" +
			"2 wrong use, 3 no answer, or nothing by that name.",
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return firstMinute(cmd, g)
		},
	}
	root.CompletionOptions.HiddenDefaultCmd = false
	f := root.PersistentFlags()
	f.StringVar(&g.endpoint, "endpoint", "", "address of the query API (default $BULKHEAD_ENDPOINT, else "+defaultEndpoint+")")
	f.StringVar(&g.cluster, "cluster", "", "cluster name or ARN (default $BULKHEAD_CLUSTER, else the only one)")
	f.StringVar(&g.region, "region", "", "AWS Region that signs for a remote endpoint (default: the AWS configuration's)")
	f.StringVarP(&g.output, "output", "o", "table", "output format: table, wide, json or csv")
	f.String("watch", "", "ask again and again, every 2s or --watch=5s, until stopped")
	f.Lookup("watch").NoOptDefVal = watchEvery.String()
	root.PersistentPreRun = func(cmd *cobra.Command, _ []string) {
		if g.output == "csv" {
			cmd.Root().SetOut(csvOut{s.Out})
		}
	}
	root.AddCommand(newLocal(g), newReplay(g), newGPUs(g), newHosts(g), newTasks(g), newTenants(g), newHistory(g),
		newFindings(g), newHealth(g), newLint(g), newTop(g), newUI(g), newDiff(g), newDoctor(g), newVersion(g))
	root.AddCommand(remedyVerbs(g)...)
	root.AddCommand(newPlace(g), newSimulate(g), newWhy(g))
	root.AddCommand(newAdvise(g), newCost(g), newReadiness(g))
	return root
}

// exactly wants one argument and says what it is when it is missing.
func exactly(what, hint string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			return nil
		}
		return useError("%s takes one %s, not %d: %s", cmd.Name(), what, len(args), hint)
	}
}

// globals are the flags that every verb shares.
type globals struct {
	streams  Streams
	endpoint string
	cluster  string
	region   string
	output   string
}

func (g *globals) format(allowed ...string) (string, error) {
	if g.output == "csv" && slices.Contains(allowed, "table") {
		return g.output, nil // printTable does the rest
	}
	for _, a := range allowed {
		if g.output == a {
			return a, nil
		}
	}
	return "", useError("-o %s is not known here: use one of %s", g.output, strings.Join(append(allowed, "csv"), ", "))
}

// firstMinute says where a person is and what to try.
func firstMinute(cmd *cobra.Command, g *globals) error {
	out := cmd.OutOrStdout()
	api, err := g.client(cmd.Context())
	if err == nil {
		var clusters clusterList
		if err = api.get(cmd.Context(), "/v1/clusters", nil, &clusters); err == nil {
			fmt.Fprintf(out, "Bulkhead at %s knows %d cluster(s).\n\n", api.base, len(clusters.Clusters))
			for _, c := range clusters.Clusters {
				fmt.Fprintf(out, "  %s\n", c.Name)
			}
			fmt.Fprint(out, "\nTry:\n  bulkhead gpus        cards with what stands on them\n  bulkhead tasks       who holds what\n"+
				"  bulkhead findings    what is wrong, by name\n")
			return nil
		}
	}
	fmt.Fprintf(out, "No Bulkhead answers at %s.\n\nTry:\n"+
		"  bulkhead local                     run it here: no AWS, no GPU\n"+
		"  bulkhead replay --events FILE      the ledger that your recorded events make\n"+
		"  bulkhead gpus --endpoint URL       ask one that is deployed\n"+
		"  bulkhead --help                    everything it can do\n", g.address())
	return nil
}
