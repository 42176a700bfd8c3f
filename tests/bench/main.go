// Command bench prints the project's figures, each beside its baseline in the same
// run: go run ./tests/bench [NAME…].
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"

	"github.com/bulkhead-ecs/bulkhead/tests/bench/handler"
	"github.com/bulkhead-ecs/bulkhead/tests/bench/rebuild"
	"github.com/bulkhead-ecs/bulkhead/tests/bench/units"
)

// benches are run in this order.
var benches = []struct {
	name string
	run  func(context.Context, io.Writer) error
}{
	{"handler", handler.Report},
	{"units", units.Report},
	{"rebuild", rebuild.Report},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var names []string
	for _, b := range benches {
		names = append(names, b.name)
	}
	for _, want := range os.Args[1:] {
		if !slices.Contains(names, want) {
			fmt.Fprintf(os.Stderr, "bench: %q is none of: %s\n", want, strings.Join(names, ", "))
			os.Exit(2)
		}
	}
	fmt.Printf("%s, %d processors\n", runtime.Version(), runtime.GOMAXPROCS(0))
	for _, b := range benches {
		if len(os.Args) > 1 && !slices.Contains(os.Args[1:], b.name) {
			continue
		}
		if err := b.run(ctx, os.Stdout); err != nil {
			fmt.Fprintf(os.Stderr, "bench %s: %v\n", b.name, err)
			os.Exit(1)
		}
	}
}
