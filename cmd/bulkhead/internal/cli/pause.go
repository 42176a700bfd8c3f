package cli

import (
	"net/url"

	"github.com/spf13/cobra"
)

// maybeOne wants no argument, or one.
func maybeOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return useError("%s takes at most one %s, not %d", cmd.Name(), what, len(args))
		}
		return nil
	}
}

func newPause(g *globals) *cobra.Command {
	return g.says(&cobra.Command{
		Use:     "pause [CASE]",
		Short:   "Stop all remedies of the cluster, or hold one case, where they are",
		Example: "  bulkhead pause --reason \"driver rollout\"\n  bulkhead pause i-0a1b2c3d4e5f60718.Xid79.1796094300 --reason \"I am on it\"",
		Args:    maybeOne("case ID"),
	}, "Nothing further is done until `bulkhead resume`.", func(args []string) (string, word) {
		if len(args) == 1 {
			return "/cases/" + url.PathEscape(args[0]) + "/hold", word{}
		}
		return "/pause", word{}
	})
}
