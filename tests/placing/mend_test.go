package placing

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/bulkhead-ecs/bulkhead/internal/placing"
	"github.com/bulkhead-ecs/bulkhead/internal/sim"
)

// unguarded stands for a service whose minimum is lower than ECS's default.
type unguarded struct {
	placing.Guard
	stopped []string
}

func (u *unguarded) Services(ctx context.Context, cluster string, groups []string) (map[string]placing.Service, error) {
	out, err := u.Guard.Services(ctx, cluster, groups)
	for k, s := range out {
		s.MinimumPercent = 50
		out[k] = s
	}
	return out, err
}

func (u *unguarded) StopTask(ctx context.Context, cluster, task, reason string) error {
	u.stopped = append(u.stopped, task)
	return u.Guard.StopTask(ctx, cluster, task, reason)
}

func (w *world) mend(act bool, g placing.Guard) []placing.Cure {
	w.t.Helper()
	m := &placing.Mender{Ledger: w.store, Guard: g, Policy: policy(), Act: act, Clock: w.f.Now, Log: slog.New(slog.DiscardHandler)}
	cures, err := m.Cluster(context.Background(), w.f.Cluster())
	if err != nil {
		w.t.Fatal(err)
	}
	return cures
}

func TestACardThatECSFilledAgainstThePolicyIsMendedOnlyWhenActingAndAllowed(t *testing.T) {
	w := newWorld(t, sim.PreferShared, 1)
	w.service("chat", "", 6)
	w.advance(3 * time.Minute)
	g := &unguarded{Guard: w.client}
	seen := w.mend(false, g)
	if len(seen) == 0 || seen[0].Task == "" || len(g.stopped) != 0 {
		t.Fatalf("%+v, stopped %v", seen, g.stopped)
	}
	if cures := w.mend(true, w.client); len(cures) == 0 || cures[0].Blocked == "" { // at its own minimum of 100 % it has none to spare
		t.Errorf("%+v", cures)
	}
	if _, err := w.api.UpdateTaskProtection(context.Background(), &ecs.UpdateTaskProtectionInput{Cluster: aws.String(w.f.Cluster()), Tasks: []string{seen[0].Task}, ProtectionEnabled: true, ExpiresInMinutes: aws.Int32(60)}); err != nil {
		t.Fatal(err)
	}
	w.mend(true, g)
	if len(g.stopped) != 1 || slices.Contains(g.stopped, seen[0].Task) {
		t.Errorf("stopped %v, of which %s is protected; one task a service at a time", g.stopped, seen[0].Task)
	}
}
