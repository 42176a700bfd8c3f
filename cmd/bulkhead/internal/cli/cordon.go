package cli

import (
	"net/url"

	"github.com/spf13/cobra"
)

func newCordon(g *globals) *cobra.Command {
	return g.says(&cobra.Command{
		Use:     "cordon HOST",
		Short:   "Let a host take no new tasks, until a person takes this back",
		Example: "  bulkhead cordon i-0a1b2c3d4e5f60718 --reason \"odd latency, looking\"",
		Args:    exactly("HOST", "bulkhead hosts lists them"),
	}, "It is set DRAINING within a minute, and no case undoes it.", func(args []string) (string, word) {
		return "/hosts/" + url.PathEscape(args[0]) + "/cordon", word{}
	})
}

func newUncordon(g *globals) *cobra.Command {
	return g.says(&cobra.Command{
		Use:     "uncordon HOST",
		Short:   "Let a host take tasks again, whoever cordoned it",
		Example: "  bulkhead uncordon i-0a1b2c3d4e5f60718 --reason \"well again\"",
		Args:    exactly("HOST", "bulkhead hosts lists them"),
	}, "It is set ACTIVE within a minute; a case that had cordoned it ends.", func(args []string) (string, word) {
		return "/hosts/" + url.PathEscape(args[0]) + "/uncordon", word{}
	})
}
