package loop

import (
	"context"
	"io/fs"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/bulkhead-ecs/bulkhead/events"
	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/attribution"
	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/checks"
	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/nvml"
	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/nvmlchild"
)

// states are the preflights that the API heard, each once.
func (w *wired) states() (out []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.got {
		if p := r.Preflight; p != nil && (len(out) == 0 || out[len(out)-1] != p.State) {
			out = append(out, p.State)
		}
	}
	return out
}

// eventually waits for what the API hears.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("never: " + what)
		}
	}
}

func TestAHostIsToldAsFitOnlyOnceItsChecksPassed(t *testing.T) {
	w := wire1(t)
	var mu sync.Mutex
	unit := "inactive"
	var kept time.Time
	p := &Preflight{Agent: w.Agent, Every: 10 * time.Millisecond, Log: silent,
		Read: func(context.Context) checks.Facts {
			mu.Lock()
			defer mu.Unlock()
			there, socket := true, fs.FileMode(0o666)
			return checks.Facts{UnitActive: unit, UnitEnabled: "enabled", ControlBinary: &there,
				Pipe: &checks.Pipe{Path: "/run/mps-ecs", Exists: true, IsDir: true, Mode: 0o755, Control: &socket}}
		},
		Keep: func(at time.Time) { mu.Lock(); kept = at; mu.Unlock() }}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan struct{})
	go func() { p.Run(ctx); close(done) }()
	eventually(t, "pending, while NVML has not answered", func() bool { return slices.Equal(w.states(), []string{events.PreflightPending}) })

	sample := nvml.Sample{Driver: "580.126.09", Count: 1, Devices: []nvml.Device{{UUID: gpu0, Name: "NVIDIA L4", Memory: &nvml.Memory{Usable: 22563}}}}
	w.Sampled(ctx, nvmlchild.Update{Condition: nvmlchild.OK, Sample: sample, SampledAt: time.Now()}, attribution.View{}, nil)
	eventually(t, "failed, since the MPS unit does not run", func() bool { return slices.Contains(w.states(), events.PreflightFailed) })
	w.mu.Lock()
	last := *w.got[len(w.got)-1].Preflight
	w.mu.Unlock()
	if !slices.ContainsFunc(last.Failed, func(c events.ReportCheck) bool { return c.Check == "mps-unit" && c.Fix != "" }) {
		t.Errorf("%+v, want mps-unit with its fix", last)
	}

	mu.Lock()
	unit = "active"
	mu.Unlock()
	eventually(t, "passed, once it runs", func() bool { s := w.states(); return len(s) > 0 && s[len(s)-1] == events.PreflightPassed })
	<-done // a pass ends it
	if mu.Lock(); kept.IsZero() {
		t.Error("the pass was not kept")
	}
	mu.Unlock()
}

func TestAPassOfThisBootOutlivesTheAgent(t *testing.T) {
	w := wire1(t)
	at := time.Date(2026, 12, 5, 8, 0, 0, 0, time.UTC)
	p := &Preflight{Agent: w.Agent, Passed: at, Log: silent, Read: func(context.Context) checks.Facts { t.Error("looked again"); return checks.Facts{} }}
	p.Run(context.Background())
	eventually(t, "passed at once", func() bool { return slices.Equal(w.states(), []string{events.PreflightPassed}) })
}
