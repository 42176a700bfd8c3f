package replay

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/bulkhead-ecs/bulkhead/events"
	"github.com/bulkhead-ecs/bulkhead/internal/fleet"
	"github.com/bulkhead-ecs/bulkhead/internal/ingest"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

// definitions are the task definitions that the saved answers and the events told.
type definitions map[string]ledger.Definition

// Definition implements fleet.Definitions.
func (d definitions) Definition(_ context.Context, arn string) (ledger.Definition, error) {
	if def, ok := d[arn]; ok {
		return def, nil
	}
	return ledger.Definition{}, ledger.ErrNotFound
}

// learn takes a definition in. Told twice, the one with a tier wins, since an
// answer may leave tags out; else a fixed rule, so that order does not matter.
func (d definitions) learn(def ledger.Definition) {
	old, known := d[def.ARN]
	if !known || rank(def) > rank(old) {
		d[def.ARN] = def
	}
}

func rank(d ledger.Definition) string {
	b, _ := json.Marshal(d.Containers)
	tier := "0"
	if d.TierTag != "" {
		tier = "1"
	}
	return strings.Join([]string{tier, d.TierTag, string(b), d.StopTimeout.String()}, "\x00")
}

// registered reads the definition that a RegisterTaskDefinition call made.
func registered(ev events.Event) (ledger.Definition, bool) {
	call, ok := ev.Detail.(events.APICall)
	if !ok || call.EventName != "RegisterTaskDefinition" || call.ErrorCode != "" {
		return ledger.Definition{}, false
	}
	var s ingest.DefinitionShape
	if json.Unmarshal(call.ResponseElements.TaskDefinition, &s) != nil || s.TaskDefinitionArn == "" {
		return ledger.Definition{}, false
	}
	var request struct {
		Tags []ingest.TagShape `json:"tags"`
	}
	if json.Unmarshal(call.Request, &request) == nil {
		s.Tags = request.Tags
	}
	return ingest.DefinitionOf(s), true
}

// resize gives the tasks whose definition was told behind them their size.
func (r *run) resize(ctx context.Context, sweep fleet.Sweep) error {
	var told fleet.Told
	if err := r.eachHost(ctx, func(h ledger.Host) {
		for _, t := range h.Tasks {
			if _, ok := r.defs[t.Definition]; !ok || sized(t) {
				continue
			}
			x := fleet.SeenTask{Host: h.ID, Task: t}
			for _, s := range t.Shares {
				c := fleet.SeenContainer{Name: s.Container, GPUs: append([]string(nil), s.Bad...)}
				for _, u := range s.GPUs {
					c.GPUs = append(c.GPUs, string(u))
				}
				x.Containers = append(x.Containers, c)
			}
			told.Tasks = append(told.Tasks, x)
		}
	}); err != nil || len(told.Tasks) == 0 {
		return err
	}
	return sweep.Merge(ctx, told)
}

func sized(t ledger.Task) bool {
	for _, s := range t.Shares {
		if s.Need == ledger.NeedUnknown {
			return false
		}
	}
	return len(t.Shares) > 0
}
