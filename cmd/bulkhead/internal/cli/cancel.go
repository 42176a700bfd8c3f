package cli

import (
	"net/url"

	"github.com/spf13/cobra"
)

func newCancel(g *globals) *cobra.Command {
	return g.says(&cobra.Command{
		Use:     "cancel CASE",
		Short:   "End a case; nothing is touched for it afterwards",
		Example: "  bulkhead cancel i-0a1b2c3d4e5f60718.Xid79.1796094300 --reason \"replaced by hand\"",
		Args:    exactly("case ID", "bulkhead cases lists them"),
	}, "What stands, stands: `bulkhead uncordon HOST` takes a cordon and its marks back.", func(args []string) (string, word) {
		return "/cases/" + url.PathEscape(args[0]) + "/cancel", word{}
	})
}
