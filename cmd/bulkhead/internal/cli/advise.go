package cli

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/httpapi"
	"github.com/bulkhead-ecs/bulkhead/internal/sizing"
)

// document asks for one document of the cluster.
func document[T any](ctx context.Context, g *globals, path string, q url.Values) (T, error) {
	var doc T
	c, err := g.client(ctx)
	if err != nil {
		return doc, err
	}
	base, err := g.clusterPath(ctx, c)
	if err != nil {
		return doc, err
	}
	return doc, c.get(ctx, base+path, q, &doc)
}

func newAdvise(g *globals) *cobra.Command {
	var family, finding, margin, overhead, round, budget string
	cmd := &cobra.Command{
		Use:   "advise",
		Short: "Say what memory and maxComputePercent to declare, from the peaks that hosts saw",
		Long: "Say for each container of each task definition what memory and maxComputePercent to declare, the under-declared\n" +
			"first. MEMORY is the highest peak that hosts reported, plus --overhead and --margin, rounded up; it is not below any\n" +
			"peak. COMPUTE is the ceiling at which a card that is packed full by memory keeps --budget: it follows from memory,\n" +
			"since what one container uses of a shared card's compute cannot be measured. Exits with 1 when a container is\n" +
			"under-declared, or too large for its card.",
		Example: "  bulkhead advise\n  bulkhead advise --family chat --margin 25 -o wide\n  bulkhead advise --finding UnderDeclared -o json\n" +
			"  bulkhead advise shape --tenants 4",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			format, err := g.format("table", "wide", "json")
			if err != nil {
				return err
			}
			q := url.Values{}
			for k, v := range map[string]string{"family": family, "finding": finding, "margin": margin, "overhead": overhead, "round": round, "budget": budget} {
				set(q, k, v)
			}
			doc, err := document[httpapi.AdviceDoc](cmd.Context(), g, "/advice", q)
			if err != nil {
				return err
			}
			if format == "json" {
				err = printJSON(cmd.OutOrStdout(), doc)
			} else {
				printAdvice(cmd, doc, format)
			}
			for _, a := range doc.Advice {
				if a.Finding == sizing.UnderDeclared || a.Finding == sizing.TooLarge {
					return errFinding
				}
			}
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&family, "family", "", "only these task definition families")
	f.StringVar(&finding, "finding", "", "only these: UnderDeclared, TooLargeForCard, Tight, OverDeclared, WholeGPU, LimitUnknown, Fine, NoEvidence")
	f.StringVar(&margin, "margin", "", "percent on top of the highest peak (default 15)")
	f.StringVar(&overhead, "overhead", "", "MiB for a CUDA context, where peaks do not hold it (default 0)")
	f.StringVar(&round, "round", "", "round memory up to a multiple of so many MiB (default 256)")
	f.StringVar(&budget, "budget", "", "percent of compute that a full card may promise (default 100)")
	cmd.AddCommand(newShape(g))
	return cmd
}

func printAdvice(cmd *cobra.Command, doc httpapi.AdviceDoc, format string) {
	out := cmd.OutOrStdout()
	if len(doc.Advice) == 0 {
		fmt.Fprintln(out, "No advice: no host's agent has reported a peak (by these filters).")
		return
	}
	var rows [][]string
	for _, a := range doc.Advice {
		rows = append(rows, []string{short(format, a.Definition, 20), short(format, a.Container, 14), dash(strings.TrimPrefix(a.Card, "NVIDIA ")), string(a.Finding), known(a.Declared), mib(a.Max), known(a.Memory),
			percent(a.Compute), evidence(a, doc.At), a.Image, percent(a.Percent), mib(a.P50), mib(a.P99), strings.Trim(a.Why+"; "+a.Drift, "; ")})
	}
	printTable(out, []column{{title: "DEFINITION"}, {title: "CONTAINER"}, {title: "CARD"}, {title: "FINDING"}, {title: "HAS", right: true}, {title: "MAX", right: true},
		{title: "MEMORY", right: true}, {title: "COMPUTE", right: true}, {title: "SEEN"}, {title: "IMAGE", wide: true},
		{title: "HAS COMPUTE", right: true, wide: true}, {title: "P50", right: true, wide: true}, {title: "P99", right: true, wide: true}, {title: "WHY", wide: true}}, format == "wide", rows)
	p := doc.Policy
	fmt.Fprintf(out, "MiB. Memory is the highest peak + %d MiB + %d%%, rounded up to %d MiB;\na card full of it promises at most %d%% of compute.\n",
		p.OverheadMiB, p.MarginPercent, p.RoundMiB, p.BudgetPercent)
}

// evidence is how long was watched and how old the newest peak is.
func evidence(a sizing.Advice, now time.Time) string {
	if a.Windows == 0 {
		return "-"
	}
	s := span(time.Duration(a.Seconds)*time.Second) + ", " + span(now.Sub(a.Last)) + " ago"
	switch {
	case a.Drift != "":
		s += ", old image"
	case a.Stale:
		s += ", stale"
	case a.Thin:
		s += ", thin"
	}
	return s
}

// span writes a duration in its largest unit.
func span(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return strconv.Itoa(int(d/(24*time.Hour))) + "d"
	case d >= time.Hour:
		return strconv.Itoa(int(d/time.Hour)) + "h"
	}
	return strconv.Itoa(max(0, int(d/time.Minute))) + "m"
}

// short cuts a name for the table that a person reads; other formats have it whole.
func short(format, s string, n int) string {
	if format != "table" {
		return s
	}
	return cut(s, n)
}

func mib(m gpu.MiB) string { return strconv.FormatInt(int64(m), 10) }

func known(m gpu.MiB) string {
	if m == 0 {
		return "-"
	}
	return mib(m)
}

func percent(p gpu.Percent) string {
	if p == 0 {
		return "-"
	}
	return p.String()
}

// priceFlags are prices of one's own.
type priceFlags struct {
	prices []string
	file   string
}

func (p *priceFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&p.prices, "price", nil, "own price as TYPE=DOLLARS_PER_HOUR, with /GPUS behind for a type not in the table; may repeat")
	cmd.Flags().StringVar(&p.file, "prices", "", "file with a price table of one's own (JSON, as docs/sizing.md shows)")
}

// set writes the prices into a query; those given one by one count over the file's.
func (p *priceFlags) set(q url.Values) error {
	if p.file != "" {
		b, err := os.ReadFile(p.file)
		if err != nil {
			return useError("--prices: %v", err)
		}
		table, err := sizing.ReadPrices(b)
		if err != nil {
			return useError("--prices %s: %v", p.file, err)
		}
		for _, t := range table.Types {
			if t.PerHour > 0 {
				q.Add("price", fmt.Sprintf("%s=%g/%d", t.Type, t.PerHour, t.GPUs))
			}
		}
	}
	for _, s := range p.prices {
		q.Add("price", s)
	}
	return nil
}

func newShape(g *globals) *cobra.Command {
	var tasks, cards []string
	var tenants, budget string
	var plans bool
	var own priceFlags
	cmd := &cobra.Command{
		Use:   "shape",
		Short: "Find the memory at which ECS cannot oversubscribe compute, whatever it picks",
		Long: "Amazon ECS packs shared GPUs by memory alone. Find for each service the least memory to declare at which no choice\n" +
			"of ECS puts more than --budget percent of compute, or more than --tenants tasks, on one card. Without --task it takes\n" +
			"what runs in the cluster, without --card the cluster's cards. A task without a ceiling counts 100 percent.\n" +
			"Then tell what instance types carry the mix so, the cheapest first; only GPUs are counted, not vCPU nor RAM.\n" +
			"Exits with 1 when no memory makes the mix safe.",
		Example: "  bulkhead advise shape\n  bulkhead advise shape --tenants 4 --budget 150\n" +
			"  bulkhead advise shape --task chat:6000:40:12 --task rank:2000:20:30 --card 22563 --plans\n" +
			"  bulkhead advise shape --price g6.xlarge=0.52",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			format, err := g.format("table", "wide", "json")
			if err != nil {
				return err
			}
			q := url.Values{"task": tasks, "card": cards}
			set(q, "tenants", tenants)
			set(q, "budget", budget)
			if err := own.set(q); err != nil {
				return err
			}
			doc, err := document[httpapi.ShapingDoc](cmd.Context(), g, "/shaping", q)
			if err != nil {
				return err
			}
			if format == "json" {
				err = printJSON(cmd.OutOrStdout(), doc)
			} else {
				printShapes(cmd, doc, format, plans)
			}
			if doc.Problem != "" {
				return errFinding
			}
			return err
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&tasks, "task", nil, "NAME:MEMORY_MIB[:COMPUTE_PERCENT[:COUNT]] of one task; may repeat")
	f.StringArrayVar(&cards, "card", nil, "memory of a card in MiB; may repeat")
	f.StringVar(&tenants, "tenants", "", "most tasks on one card: k neighbours are k+1")
	f.StringVar(&budget, "budget", "", "sum of ceilings on one card, in percent (default 100 when --tenants is not given)")
	f.BoolVar(&plans, "plans", false, "show the instance types only")
	own.add(cmd)
	return cmd
}

func printShapes(cmd *cobra.Command, doc httpapi.ShapingDoc, format string, plansOnly bool) {
	out := cmd.OutOrStdout()
	if !plansOnly {
		if doc.Problem != "" {
			fmt.Fprintln(out, wrap(doc.Problem, 96))
		}
		var rows [][]string
		for _, s := range doc.Shapes {
			change := "keep"
			if s.Declare > s.Memory {
				change = fmt.Sprintf("+%d", s.Declare-s.Memory)
			}
			fits := "yes"
			if !s.Fits {
				fits = "no"
			}
			rows = append(rows, []string{short(format, s.Name, 32), mib(s.Memory), s.Compute.String(), mib(s.Declare), change, strconv.Itoa(s.Alone), fits})
		}
		if len(rows) > 0 {
			printTable(out, []column{{title: "SERVICE"}, {title: "NEEDS", right: true}, {title: "COMPUTE", right: true}, {title: "DECLARE", right: true}, {title: "CHANGE", right: true},
				{title: "ALONE ON A CARD", right: true}, {title: "FITS EACH CARD"}}, format == "wide", rows)
		}
		if format == "csv" { // one table, or no program could read it; --plans gives the other
			return
		}
		if n := len(doc.Cards); n > 0 {
			fmt.Fprintf(out, "MiB. Shaped for cards of up to %d MiB: the largest that ECS may choose decides.\n", slices.Max(doc.Cards))
		}
		fmt.Fprintln(out)
	}
	printPlans(cmd, doc, format == "wide")
}

func printPlans(cmd *cobra.Command, doc httpapi.ShapingDoc, wide bool) {
	out := cmd.OutOrStdout()
	var rows [][]string
	for _, p := range doc.Plans {
		hourly := "no price"
		switch {
		case p.Instances == 0:
			hourly = "cannot"
		case p.Hourly > 0:
			hourly = fmt.Sprintf("%.2f", p.Hourly)
		}
		rows = append(rows, []string{p.Type, cmp.Or(p.Card, "-"), strconv.Itoa(p.GPUs), strconv.Itoa(p.Instances), fmt.Sprintf("%d (≥ %d)", p.Cards, p.Least), hourly, p.Why})
	}
	printTable(out, []column{{title: "TYPE"}, {title: "CARD"}, {title: "GPUS", right: true}, {title: "INSTANCES", right: true}, {title: "CARDS", right: true}, {title: "USD/HOUR", right: true},
		{title: "WHY NOT", wide: true}}, wide, rows)
	fmt.Fprintf(out, "On-Demand prices of %s, %s; give your own with --price or --prices.\n", doc.Prices.AsOf, doc.Prices.Region)
}
