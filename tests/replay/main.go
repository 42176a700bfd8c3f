// Command replay sends cluster traces through placement policies and prints how
// well each packs and how long it takes to decide.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "replay:", err)
		os.Exit(1)
	}
}

type options struct {
	traces, mix, policies, output string
	seeds, copies                 int
}

func run(ctx context.Context, args []string) error {
	dir := os.Getenv("BULKHEAD_TRACES")
	if dir == "" {
		dir = "../shared/traces"
	}
	var o options
	f := flag.NewFlagSet("replay", flag.ContinueOnError)
	f.StringVar(&o.traces, "traces", dir, "folder with the openb files")
	f.StringVar(&o.mix, "mix", "default", "task lists, by the name in openb_pod_list_NAME.csv, with commas between")
	f.StringVar(&o.policies, "policies", "all", "policies, with commas between")
	f.StringVar(&o.output, "o", "csv", "form of the output: csv")
	f.IntVar(&o.seeds, "seeds", 10, "number of seeds, from 42 on")
	f.IntVar(&o.copies, "copies", 1, "copies of the cluster and of its demand")
	if err := f.Parse(args); err != nil {
		return err
	}
	if o.output != "csv" || o.seeds < 1 || o.seeds > 1000 || o.copies < 1 || o.copies > 64 || f.NArg() > 0 {
		return errors.New("want -o csv, 1 to 1000 -seeds, 1 to 64 -copies, and no other words")
	}
	chosen, err := choose(o.policies)
	if err != nil {
		return err
	}
	fmt.Println("workload,policy,alloc_pct_at_100,alloc_pct_at_130,frag_pct_of_gpus_at_130,us_p50,us_p99,seeds")
	for mix := range strings.SplitSeq(o.mix, ",") {
		c, name, err := load(o.traces, mix)
		if err != nil {
			return err
		}
		c = c.times(o.copies)
		for _, p := range chosen {
			if err := report(ctx, c, name, p, o.seeds); err != nil {
				return err
			}
		}
	}
	return nil
}

// times is n clusters like c beside each other.
func (c cluster) times(n int) cluster {
	return cluster{nodes: slices.Repeat(c.nodes, n), tasks: slices.Repeat(c.tasks, n), gpus: c.gpus * int64(n)}
}

func choose(names string) ([]policy, error) {
	all := policies()
	if names == "all" {
		return all, nil
	}
	var out []policy
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(all, func(p policy) bool { return p.name == name })
		if i < 0 {
			return nil, fmt.Errorf("no policy %q", name)
		}
		out = append(out, all[i])
	}
	return out, nil
}

func load(dir, mix string) (cluster, string, error) {
	folder, err := traceFolder(dir)
	if errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(os.Stderr, "replay: %v; using a generated mix. The files are in the public repository alibaba/clusterdata, cluster-trace-gpu-v2023/csv\n", err)
		return generated(), "generated", nil
	}
	if strings.ContainsAny(mix, "/\\") || mix == "" {
		return cluster{}, "", fmt.Errorf("mix %q: a name, not a path", mix)
	}
	c, err := readCluster(folder, mix)
	return c, mix, err
}

// report plays all seeds, two at a time, and prints the means.
func report(ctx context.Context, c cluster, workload string, p policy, seeds int) error {
	outs, errs := make([]outcome, seeds), make([]error, seeds)
	var wg sync.WaitGroup
	slots := make(chan struct{}, min(2, runtime.GOMAXPROCS(0)))
	for i := range seeds {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			outs[i], errs[i] = play(ctx, c, int64(42+i), p.build)
			fmt.Fprintf(os.Stderr, "%s %s seed %d: %.2f %.2f\n", workload, p.name, 42+i, outs[i].at100, outs[i].at130)
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	var a, b, frag float64
	var took []time.Duration
	for _, o := range outs {
		a, b, frag = a+o.at100, b+o.at130, frag+o.frag
		took = append(took, o.took...)
	}
	slices.Sort(took)
	n := float64(seeds)
	us := func(q int) float64 { return float64(took[len(took)*q/100].Nanoseconds()) / 1000 }
	_, err := fmt.Printf("%s,%s,%.2f,%.2f,%.2f,%.2f,%.2f,%d\n", workload, p.name, a/n, b/n, frag/n, us(50), us(99), seeds)
	return err
}
