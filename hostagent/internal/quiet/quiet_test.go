package quiet

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"
)

func TestRepeatsAreFoldedAndTheMinuteIsBounded(t *testing.T) {
	var out bytes.Buffer
	now := time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC)
	log := New(&out, slog.LevelInfo, 2000, func() time.Time { return now })
	for i := range 50 {
		log.With("gpu", i).Warn("report not delivered", "attempt", i)
	}
	if n := strings.Count(out.String(), "\n"); n != 1 {
		t.Errorf("%d lines for a repeat", n)
	}
	for i := range 100 {
		log.Info("line " + strings.Repeat("x", i))
	}
	if out.Len() > 2000 {
		t.Errorf("%d bytes in a minute", out.Len())
	}
	now = now.Add(time.Minute)
	out.Reset()
	log.Warn("report not delivered")
	log.Error("big", "text", strings.Repeat("y", 2*maxLine))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 3 || !strings.Contains(lines[0], `"repeats":49`) || !strings.Contains(lines[1], `"ts"`) || !strings.Contains(lines[2], "too long") {
		t.Errorf("%q", lines)
	}
	for _, l := range lines {
		if !json.Valid([]byte(l)) {
			t.Errorf("no JSON: %s", l)
		}
	}
}
