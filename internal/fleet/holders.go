package fleet

import (
	"fmt"
	"slices"

	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

// Holders remembers on which hosts each task holds something. ECS places a task
// once, so a task that holds on two hosts is a forged or a mistaken saying, which
// no look at one host can find. The zero value is ready.
type Holders struct {
	hosts map[string][]ledger.HostID // by task ARN
}

// Add takes a host in.
func (w *Holders) Add(v ledger.View) {
	if w.hosts == nil {
		w.hosts = map[string][]ledger.HostID{}
	}
	for _, t := range Tenants(v) {
		id := t.Share.TaskARN
		if id == "" || !t.Share.State.Holds() || slices.Contains(w.hosts[id], v.Host.ID) {
			continue
		}
		w.hosts[id] = append(w.hosts[id], v.Host.ID)
	}
}

// Findings names the tasks that hold on more than one host.
func (w *Holders) Findings() []ledger.Finding {
	var out []ledger.Finding
	for task, ids := range w.hosts {
		if len(ids) < 2 {
			continue
		}
		for _, id := range ids {
			out = append(out, ledger.Finding{Kind: ledger.TaskOnTwoHosts, Severity: ledger.Error, Subject: task, Host: id.Instance, Cluster: id.Cluster,
				Reason: fmt.Sprintf("it holds on %d hosts, though ECS places a task once: the next sweep asks ECS which is true", len(ids))})
		}
	}
	ledger.SortFindings(out)
	return out
}
