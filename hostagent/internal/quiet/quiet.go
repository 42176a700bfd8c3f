// Package quiet keeps the agent's log small: a line that repeats is written once
// and then counted, and no minute has more than a set number of bytes. What was
// held back is told with its number, so silence is never mistaken for peace.
package quiet

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"
)

// maxSubjects bounds the memory of repeats.
const maxSubjects = 128

type shared struct {
	mu     sync.Mutex
	out    io.Writer
	limit  int
	now    func() time.Time
	since  time.Time // start of the minute
	bytes  int
	held   int // lines over the bound in this minute
	repeat map[string]int
}

// Handler folds repeats. A repeat is the same level and message within a minute:
// message texts are constant here, values are in fields, and the first has them.
type Handler struct {
	slog.Handler
	s *shared
}

// New writes JSON lines to out, at most limit bytes a minute.
func New(out io.Writer, level slog.Leveler, limit int, now func() time.Time) *slog.Logger {
	s := &shared{out: out, limit: limit, now: now, repeat: map[string]int{}}
	return slog.New(&Handler{slog.NewJSONHandler(bounded{s}, &slog.HandlerOptions{Level: level, ReplaceAttr: rename}), s})
}

// rename gives the time the key that all of Bulkhead's logs have.
func rename(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && a.Key == slog.TimeKey {
		a.Key = "ts"
	}
	return a
}

// Handle writes r, or counts it.
func (h *Handler) Handle(ctx context.Context, r slog.Record) error {
	key := r.Level.String() + r.Message
	h.s.mu.Lock()
	folded := h.s.turn()
	n, seen := h.s.repeat[key]
	if seen || len(h.s.repeat) < maxSubjects {
		h.s.repeat[key] = n + 1
	}
	h.s.mu.Unlock()
	for _, f := range folded {
		if err := h.Handler.Handle(ctx, f); err != nil {
			return err
		}
	}
	if seen {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

// turn begins a new minute when it is time, and returns what to tell of the last.
func (s *shared) turn() []slog.Record {
	now := s.now()
	if d := now.Sub(s.since); d >= 0 && d < time.Minute {
		return nil
	}
	repeats := 0
	for _, n := range s.repeat {
		repeats += n - 1
	}
	var out []slog.Record
	if repeats > 0 || s.held > 0 {
		r := slog.NewRecord(now, slog.LevelInfo, "log lines held back", 0)
		r.AddAttrs(slog.Int("repeats", repeats), slog.Int("over_bound", s.held))
		out = append(out, r)
	}
	s.since, s.bytes, s.held, s.repeat = now, 0, 0, map[string]int{}
	return out
}

// WithAttrs keeps the folding.
func (h *Handler) WithAttrs(a []slog.Attr) slog.Handler {
	return &Handler{h.Handler.WithAttrs(a), h.s}
}

// WithGroup keeps the folding.
func (h *Handler) WithGroup(n string) slog.Handler { return &Handler{h.Handler.WithGroup(n), h.s} }

// maxLine bounds one line; a longer one is replaced, since half a JSON line is none.
const maxLine = 8 << 10

type bounded struct{ s *shared }

func (b bounded) Write(p []byte) (int, error) {
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	n := len(p)
	if n > maxLine {
		p = fmt.Appendf(nil, "{\"level\":\"WARN\",\"msg\":\"log line too long\",\"bytes\":%d}\n", n)
	}
	if b.s.bytes+len(p) > b.s.limit {
		b.s.held++
		return n, nil
	}
	b.s.bytes += len(p)
	_, err := b.s.out.Write(p)
	return n, err
}
