// Command bulkhead shows and runs the control plane for shared GPUs on Amazon ECS.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/bulkhead-ecs/bulkhead/cmd/bulkhead/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := cli.Run(ctx, os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Env: os.Getenv})
	stop()
	os.Exit(code)
}
