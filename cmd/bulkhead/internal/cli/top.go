package cli

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/bulkhead-ecs/bulkhead/internal/httpapi"
)

func newTop(g *globals) *cobra.Command {
	var every time.Duration
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Watch hosts and GPUs live in the terminal",
		Long: "Watch hosts and GPUs live: memory held, compute promised, clients, health.\n\n" +
			"Keys: arrows or j k select, enter opens a card, esc goes back, s sorts (host, memory, compute, clients),\n" +
			"f filters (all, compute over-promised, memory full, not healthy), q quits.",
		Example: "  bulkhead top\n  bulkhead top --every 5s --cluster gpu-prod",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if every < 500*time.Millisecond {
				return useError("--every %s: give half a second or more", every)
			}
			in, ok := cmd.InOrStdin().(*os.File)
			if !ok || !term.IsTerminal(int(in.Fd())) || !onTerminal(cmd.OutOrStdout()) {
				return useError("top needs a terminal: use `bulkhead gpus --watch` elsewhere")
			}
			old, err := term.MakeRaw(int(in.Fd()))
			if err != nil {
				return err
			}
			defer func() { _ = term.Restore(int(in.Fd()), old) }()
			out := cmd.OutOrStdout()
			fmt.Fprint(out, "\x1b[?1049h\x1b[?25l") // another screen, no cursor
			defer fmt.Fprint(out, "\x1b[?25h\x1b[?1049l")
			size := func() (int, int) {
				w, h, err := term.GetSize(int(in.Fd()))
				if err != nil {
					return 100, 30
				}
				return w, h
			}
			return g.top(cmd.Context(), keysOf(in), every, size, func(frame string) { fmt.Fprint(out, "\x1b[H\x1b[2J"+strings.ReplaceAll(frame, "\n", "\r\n")) })
		},
	}
	cmd.Flags().DurationVar(&every, "every", watchEvery, "how often to ask")
	return cmd
}

// keysOf reads keys: a letter, or up, down, enter, esc.
func keysOf(in io.Reader) <-chan string {
	out := make(chan string)
	go func() {
		defer close(out)
		buf := make([]byte, 16)
		for {
			n, err := in.Read(buf)
			if err != nil {
				return
			}
			out <- keyName(string(buf[:n]))
		}
	}()
	return out
}

func keyName(raw string) string {
	switch raw {
	case "\x1b[A", "k":
		return "up"
	case "\x1b[B", "j":
		return "down"
	case "\r", "\n":
		return "enter"
	case "\x1b", "\x7f":
		return "esc"
	case "\x03", "q":
		return "quit"
	}
	return raw
}

// top shows frames until a person quits.
func (g *globals) top(ctx context.Context, keys <-chan string, every time.Duration, size func() (int, int), show func(string)) error {
	var s topState
	tick := time.NewTicker(every)
	defer tick.Stop()
	s.load(ctx, g)
	for {
		w, h := size()
		show(s.frame(w, h))
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			s.load(ctx, g)
		case k, ok := <-keys:
			if !ok || k == "quit" {
				return nil
			}
			s.key(k)
		}
	}
}

// load asks for what is shown. What cannot be had leaves what was there, and says so.
func (s *topState) load(ctx context.Context, g *globals) {
	gpus, err := all[httpapi.GPUDoc](ctx, g, "/gpus", "gpus", nil)
	if err != nil {
		s.trouble = err.Error()
		return
	}
	health, err := all[httpapi.VitalsDoc](ctx, g, "/health", "health", nil)
	s.trouble = ""
	if err != nil {
		s.trouble = err.Error()
	}
	s.gpus, s.levels = gpus, map[string]string{}
	for _, v := range health {
		s.levels[v.EC2InstanceID] = v.Level
	}
	if s.open == "" {
		return
	}
	q := url.Values{"state": {"reserved,bound,releasing"}}
	if ts, err := all[httpapi.TenantDoc](ctx, g, "/tasks", "tasks", q); err == nil {
		s.tenants = ts
	}
}
