package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// watchEvery is how often --watch asks again, where nothing else is said.
const watchEvery = 2 * time.Second

// watching takes --watch out of a command line: it is the same command again and
// again, so it is no flag of any one.
func watching(args []string) (every time.Duration, rest []string, err error) {
	rest = []string{} // not nil: cobra would read the process's own
	for i, a := range args {
		value, given := strings.CutPrefix(a, "--watch=")
		switch {
		case a == "--":
			return every, append(rest, args[i:]...), nil
		case a == "--watch":
			every = watchEvery
		case given:
			if every, err = time.ParseDuration(value); err != nil || every < 500*time.Millisecond {
				return 0, nil, useError("--watch=%s: give half a second or more, such as --watch=5s", value)
			}
		default:
			rest = append(rest, a)
		}
	}
	return every, rest, nil
}

// watch runs a command until it is stopped. On a terminal each answer takes the
// place of the one before; elsewhere they follow each other. A failure is shown and
// the next try may be better, but wrong use ends at once.
func watch(ctx context.Context, every time.Duration, args []string, s Streams) int {
	for {
		var out, errs bytes.Buffer
		code := Run(ctx, args, Streams{In: s.In, Out: &out, Err: &errs, Env: s.Env})
		if code == ExitUse {
			_, _ = s.Err.Write(errs.Bytes())
			return code
		}
		if onTerminal(s.Out) {
			fmt.Fprint(s.Out, "\x1b[H\x1b[2J")
		}
		fmt.Fprintf(s.Out, "bulkhead %s   every %s, %s, Ctrl-C stops\n\n%s%s", clean(strings.Join(args, " ")), every, time.Now().Format("15:04:05"), out.String(), errs.String())
		select {
		case <-ctx.Done():
			return ExitFine
		case <-time.After(every):
			if !onTerminal(s.Out) {
				fmt.Fprintln(s.Out)
			}
		}
	}
}

func onTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
