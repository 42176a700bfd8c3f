package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/checks"
	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/facts"
	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/loop"
)

// preflightEvery is how often a host that is not fit yet is looked at again.
const preflightEvery = 10 * time.Second

// preflight looks at the host until it is fit to share. A pass is kept by boot: an
// agent that is restarted beside running tasks does not take it back.
func (r *running) preflight() *loop.Preflight {
	h := facts.Host{Introspection: r.cfg.Introspection, PipeDir: r.cfg.PipeDir, Expected: r.cfg.ExpectedGPUs, Unit: facts.Systemd}
	mark := filepath.Join(r.cfg.StateDir, "preflight."+r.agent.Identity.Boot)
	return &loop.Preflight{Agent: r.agent, Every: preflightEvery, Log: r.log, Passed: readPass(mark),
		Read: func(ctx context.Context) checks.Facts { return facts.ReadQuietly(ctx, h) },
		Keep: func(at time.Time) {
			if err := os.WriteFile(mark, []byte(at.Format(time.RFC3339)), 0o600); err != nil {
				r.log.Warn("preflight not kept: it runs again when the agent restarts", "error", err.Error())
			}
		}}
}

// readPass is when this boot passed; zero where it did not, or where the mark is torn.
func readPass(mark string) time.Time {
	b, err := os.ReadFile(mark)
	if err != nil {
		return time.Time{}
	}
	at, _ := time.Parse(time.RFC3339, strings.TrimSpace(string(b)))
	return at
}

// forget drops the marks of earlier boots.
func forget(dir, boot string) {
	for _, kind := range []string{"kmsg", "preflight"} {
		marks, _ := filepath.Glob(filepath.Join(dir, kind+".*"))
		for _, m := range marks {
			if filepath.Base(m) != kind+"."+boot {
				_ = os.Remove(m) // one that stays costs a few bytes
			}
		}
	}
}
