package cli

import (
	"context"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestTopSortsFiltersOpensAndFitsTheScreen(t *testing.T) {
	g := &globals{endpoint: fixed(t), streams: Streams{Env: func(string) string { return "" }}}
	keys := make(chan string)
	frames := make(chan string)
	done := make(chan error, 1)
	go func() {
		done <- g.top(context.Background(), keys, 20*time.Millisecond, func() (int, int) { return 100, 12 }, func(f string) { frames <- f })
	}()
	until := func(want string) string {
		t.Helper()
		for range 200 {
			f := <-frames
			for line := range strings.Lines(f) {
				if utf8.RuneCountInString(strings.TrimRight(line, "\n")) > 99 {
					t.Errorf("wider than the screen: %q", line)
				}
			}
			if strings.Count(f, "\n") > 11 || strings.ContainsRune(f, 0x1b) {
				t.Errorf("too tall, or a name steers the terminal:\n%q", f)
			}
			if strings.Contains(f, want) {
				return f
			}
		}
		t.Fatalf("no frame says %q", want)
		return ""
	}
	press := func(k string) {
		for {
			select {
			case keys <- k:
				return
			case <-frames:
			}
		}
	}
	if f := until("sorted by host, showing all (1)"); !strings.Contains(f, "failed") || !strings.Contains(f, "████████████") {
		t.Errorf("the map:\n%s", f)
	}
	press("s")
	until("sorted by memory")
	press("f")
	until("compute over-promised (1)")
	press("down")
	until("> i-0a1b2c3d4e5f60718")
	press("enter")
	if f := until("critical"); !strings.Contains(f, "18000") {
		t.Errorf("an open card:\n%s", f)
	}
	press("esc")
	until("sorted by memory")
	press("quit")
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestKeysHaveNames(t *testing.T) {
	for raw, want := range map[string]string{"\x1b[A": "up", "j": "down", "\r": "enter", "\x1b": "esc", "\x03": "quit", "s": "s"} {
		if got := keyName(raw); got != want {
			t.Errorf("%q: %s", raw, got)
		}
	}
}
