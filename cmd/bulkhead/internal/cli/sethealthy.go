package cli

import (
	"net/url"

	"github.com/spf13/cobra"
)

func newSetHealthy(g *globals) *cobra.Command {
	var card string
	cmd := g.says(&cobra.Command{
		Use:     "set-healthy HOST",
		Short:   "Say that a host, or one card of it, is well: what was seen up to now is cleared",
		Example: "  bulkhead set-healthy i-0a1b2c3d4e5f60718 --reason \"card reseated and tested\"",
		Args:    exactly("HOST", "bulkhead hosts lists them"),
	}, "What is seen again from now on counts again.", func(args []string) (string, word) {
		return "/hosts/" + url.PathEscape(args[0]) + "/set-healthy", word{GPU: card}
	})
	cmd.Flags().StringVar(&card, "gpu", "", "only this card, by its whole UUID")
	return cmd
}
