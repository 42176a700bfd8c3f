package cli

import (
	"net/url"

	"github.com/spf13/cobra"
)

func newResume(g *globals) *cobra.Command {
	return g.says(&cobra.Command{
		Use:     "resume [CASE]",
		Short:   "Let the remedies of the cluster, or one held case, go on",
		Example: "  bulkhead resume --reason \"rollout done\"",
		Args:    maybeOne("case ID"),
	}, "What waited is judged again from the world as it is now.", func(args []string) (string, word) {
		if len(args) == 1 {
			return "/cases/" + url.PathEscape(args[0]) + "/release", word{}
		}
		return "/resume", word{}
	})
}
