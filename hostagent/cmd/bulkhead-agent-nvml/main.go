// Command bulkhead-agent-nvml is the child in which bulkhead-agent calls the
// driver. It is a program of its own because only it needs cgo and the C library:
// the agent, which is always there, is smaller without them.
package main

import (
	"os"

	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/nvmlchild"
)

func main() { os.Exit(nvmlchild.Main(os.Stdin, os.Stdout)) }
