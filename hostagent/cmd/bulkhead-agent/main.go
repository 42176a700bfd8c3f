// Command bulkhead-agent watches the GPUs, the MPS daemon and their tenants on
// one EC2 container instance.
package main

import (
	"os"

	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/cli"
	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/nvmlchild"
)

func main() {
	// The child must be small and start fast: it passes the command line by.
	if len(os.Args) > 1 && os.Args[1] == nvmlchild.Subcommand {
		os.Exit(nvmlchild.Main(os.Stdin, os.Stdout))
	}
	os.Exit(cli.Main(os.Args[1:], os.Stdout, os.Stderr))
}
