package cli

import (
	"errors"
	"log/slog"
	"net"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/bulkhead-ecs/bulkhead/internal/dynamo"
	"github.com/bulkhead-ecs/bulkhead/internal/local"
	"github.com/bulkhead-ecs/bulkhead/internal/memstore"
	"github.com/bulkhead-ecs/bulkhead/internal/placing"
	"github.com/bulkhead-ecs/bulkhead/internal/remediate"
	"github.com/bulkhead-ecs/bulkhead/internal/remedy"
)

// besides are the stores of remedies and placements beside the ledger's: the same
// table, or memory of their own.
func besides(kept store) (remediate.Store, placing.Store) {
	if table, ok := kept.(*dynamo.Store); ok {
		return table, table
	}
	return memstore.NewCases(), memstore.NewPlacements()
}

func newLocal(g *globals) *cobra.Command {
	var o local.Options
	var store, mode string
	var port int
	var verbose bool
	cmd := &cobra.Command{
		Use:   "local",
		Short: "Run all of it on this machine, with no AWS and no GPU",
		Long: "Run the store, the real handlers and the API in one process on loopback, over a simulated ECS cluster that\n" +
			"packs as ECS does: by GPU memory alone. Its services scale with the hours and are deployed anew, instances come\n" +
			"and go, and things fail now and then. `bulkhead local inject` breaks something at once; with --mode act, Bulkhead\n" +
			"mends or replaces the host.",
		Example: "  bulkhead local\n  bulkhead local --hosts 40 --seed 7 --speed 600\n  bulkhead local --for 20s\n  bulkhead local inject xid 79   # in another terminal",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Hosts < 1 || o.Hosts > 200 {
				return useError("--hosts %d: give 1 to 200", o.Hosts)
			}
			if o.For < 0 {
				return useError("--for %s: give a time to come, such as 20s", o.For)
			}
			if port < 0 || port > 65535 {
				return useError("--port %d: give 1 to 65535, or 0 for a free one", port)
			}
			if !(o.Speed > 0 && o.Speed <= 3600) {
				return useError("--speed %g: give more than 0 and at most 3600", o.Speed)
			}
			kept, done, err := openStore(cmd.Context(), store)
			if err != nil {
				return err
			}
			defer done()
			o.Store, o.Vitals, o.Usage, o.Mode = kept, kept, kept, remedy.Mode(mode)
			o.Cases, o.Places = besides(kept)
			o.Addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
			o.Log = slog.New(slog.DiscardHandler)
			if verbose {
				o.Log = slog.New(slog.NewJSONHandler(cmd.ErrOrStderr(), nil))
			}
			err = local.Run(cmd.Context(), o, cmd.OutOrStdout())
			if errors.Is(err, local.ErrPortTaken) || errors.Is(err, local.ErrMode) {
				return exitError{ExitUse, err}
			}
			return err
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.Hosts, "hosts", 8, "container instances in the fleet")
	f.Uint64Var(&o.Seed, "seed", 1, "seed of the day: the same seed gives the same day")
	f.Float64Var(&o.Speed, "speed", 60, "seconds of fleet time a second")
	f.DurationVar(&o.For, "for", 0, "end by itself after this long, such as 20s (default: run until stopped)")
	f.IntVar(&port, "port", 8780, "port of the API on 127.0.0.1; 0 takes a free one")
	f.StringVar(&store, "store", "dynamodb", "where the ledger is kept: dynamodb (embedded) or memory")
	f.StringVar(&mode, "mode", "observe", "what remedies may do to sick hosts: observe, recommend or act")
	f.BoolVar(&o.Quiet, "quiet", false, "print nothing but the address")
	cmd.AddCommand(newInject(g))
	f.BoolVar(&verbose, "verbose", false, "log every decision as JSON lines on standard error")
	return cmd
}
