package placing

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/placement"
)

// Guard is what is asked before a task is stopped, and the call that stops it.
type Guard interface {
	// Protected says which of the tasks protect themselves now.
	Protected(ctx context.Context, cluster string, tasks []string) (map[string]bool, error)
	// Services describes services by their group, "service:NAME". Those that ECS does
	// not know are left out.
	Services(ctx context.Context, cluster string, groups []string) (map[string]Service, error)
	StopTask(ctx context.Context, cluster, task, reason string) error
}

// MaxStops bounds the tasks that one run stops in a cluster.
const MaxStops = 5

// Mender finds cards that stand against the policy and, in mode act alone, stops the
// task that sets one right with the least disturbance; its service starts another.
type Mender struct {
	Ledger ledger.Store
	Guard  Guard
	Policy placement.Policy
	Act    bool
	Clock  Clock
	Log    *slog.Logger
}

// Cluster answers with a cure for each breach. What was stopped has Task set and the
// mender in mode act; at most one task a service and MaxStops in all.
func (m *Mender) Cluster(ctx context.Context, cluster string) ([]Cure, error) {
	found, err := m.breached(ctx, cluster)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	var tasks, groups []string
	for _, f := range found {
		for _, d := range f.view.Devices {
			for _, s := range bound(d) {
				tasks, groups = append(tasks, s.TaskARN), append(groups, s.Group)
			}
		}
	}
	protected, err := m.Guard.Protected(ctx, cluster, distinctTexts(tasks))
	if err != nil {
		return nil, fmt.Errorf("mend %s: %w", cluster, err) // not known is protected
	}
	services, err := m.Guard.Services(ctx, cluster, distinctTexts(groups))
	if err != nil {
		return nil, fmt.Errorf("mend %s: %w", cluster, err)
	}
	var out []Cure
	stops := 0
	for _, f := range found {
		c := CureOf(f.breach, f.view, m.Policy, protected, services)
		if m.Act && c.Task != "" && stops < MaxStops {
			if err := m.Guard.StopTask(ctx, cluster, c.Task, "bulkhead: the card stands against the placement policy: "+c.Breach.Text); err != nil {
				return out, fmt.Errorf("mend %s: %w", f.breach.Device, err)
			}
			stops++
			delete(services, groupOf(f.view, c.Task)) // one of it at a time
		}
		m.Log.InfoContext(ctx, "card against the policy", "cluster", cluster, "host", c.Breach.Host.Instance, "gpu", c.Breach.Device, "kinds", c.Breach.Kinds,
			"text", c.Breach.Text, "act", m.Act, "task", c.Task, "why", c.Why, "heals", c.Heals, "blocked", c.Blocked)
		out = append(out, c)
	}
	return out, nil
}

type breached struct {
	breach Breach
	view   ledger.View
}

func (m *Mender) breached(ctx context.Context, cluster string) ([]breached, error) {
	var out []breached
	var after ledger.Cursor
	for {
		hosts, next, err := m.Ledger.Hosts(ctx, cluster, after, 0)
		if err != nil {
			return nil, err
		}
		for _, h := range hosts {
			if h.Gone() || h.Fixed.CapacityType == ledger.CapacityManaged {
				continue // Managed Instances are ECS's own to arrange
			}
			v := h.View(m.Clock())
			for _, b := range Breaches(v, m.Policy) {
				out = append(out, breached{b, v})
			}
		}
		if after = next; next == "" {
			return out, nil
		}
	}
}

func groupOf(v ledger.View, task string) string {
	t, _ := v.Host.Task(task)
	return t.Group
}

func distinctTexts(in []string) []string {
	out := slices.Clone(in)
	slices.Sort(out)
	return slices.Compact(out)
}
