package placing

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/placement"
)

// MaxOverrides is ECS's bound of a task's overrides, in characters of JSON.
const MaxOverrides = 8192

// maxToken and maxGroup bound the texts of a request.
const (
	maxToken = 64
	maxGroup = 255
	maxARN   = 400
)

// ownedByECS are variables that carry the limits of a share. A value of the
// operator's would undo them.
var ownedByECS = []string{"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "CUDA_MPS_PIPE_DIRECTORY", "NVIDIA_VISIBLE_DEVICES"}

func bad(reason, field, format string, args ...any) *placement.Refusal {
	return &placement.Refusal{Reason: reason, Field: field, Text: fmt.Sprintf(format, args...)}
}

// check refuses what is wrong in itself, without looking at the fleet.
func (q Request) check() error {
	switch {
	case q.Cluster == "":
		return bad("ClusterMissing", "cluster", "name the cluster")
	case q.ClientToken == "" || len(q.ClientToken) > maxToken:
		return bad("ClientTokenBad", "clientToken", "give 1 to %d characters: the token makes it safe to ask again", maxToken)
	case q.Definition == "" || len(q.Definition) > maxARN:
		return bad("TaskDefinitionMissing", "taskDefinition", "name a task definition as FAMILY:REVISION or by ARN")
	case q.Count < 1 || q.Count > MaxCount:
		return bad("CountOutOfRange", "count", "ask for 1 to %d copies, not %d", MaxCount, q.Count)
	case len(q.Group) > maxGroup || strings.HasPrefix(q.Group, "service:") || strings.HasPrefix(q.Group, "ecs:"):
		return bad("GroupBad", "group", "a group has at most %d characters and begins with neither service: nor ecs:, which are ECS's own", maxGroup)
	case !slices.Contains([]Mode{ModePolicy, Robust, Optimistic}, q.Mode):
		return bad("ModeUnknown", "mode", "a mode is robust or optimistic, not %q", q.Mode)
	case len(q.Tier) > gpu.MaxTierLen:
		return bad("TierUnknown", "tier", "a tier has at most %d characters", gpu.MaxTierLen)
	}
	return q.Overrides.check()
}

func (o Overrides) check() error {
	b, err := json.Marshal(o)
	if err != nil || len(b) > MaxOverrides {
		return bad("OverridesTooLong", "overrides", "overrides have at most %d characters of JSON", MaxOverrides)
	}
	for i, c := range o.Containers {
		at := fmt.Sprintf("overrides.containerOverrides[%d]", i)
		if c.Name == "" {
			return bad("OverrideBad", at+".name", "name the container")
		}
		for _, v := range c.Environment {
			if slices.Contains(ownedByECS, v.Name) {
				return bad("EnvironmentOwned", at+".environment", "%s is set by ECS and holds the share's limits", v.Name)
			}
		}
	}
	return nil
}

// want is what a copy needs of a card, read from its task definition.
type want struct {
	def    ledger.Definition
	demand placement.Demand
}

// wantOf reads the demand of a task definition. err is the definition's.
func wantOf(q Request, def ledger.Definition, err error, tier gpu.Tier) (want, error) {
	w := want{def: def}
	switch {
	case errors.Is(err, ledger.ErrNotFound):
		return w, bad("TaskDefinitionUnknown", "taskDefinition", "ECS knows no task definition %q", q.Definition)
	case err != nil:
		return w, err
	case !def.AsksGPU():
		return w, bad("NoGPU", "taskDefinition", "no container of %s asks for a GPU; ECS places it well by itself", q.Definition)
	}
	for _, c := range def.Containers {
		if c.Need != ledger.NeedShare {
			return w, bad("WholeGPU", "taskDefinition", "container %q asks for whole GPUs, which ECS keeps apart by itself; only shares are placed", c.Name)
		}
		if c.Memory <= 0 {
			return w, bad("MemoryNotPositive", "memory", "container %q declares %s", c.Name, c.Memory)
		}
		w.demand.Memory = w.demand.Memory.Add(c.Memory)
		w.demand.Compute = w.demand.Compute.Add(c.Compute.OrFull())
	}
	for i, o := range q.Overrides.Containers {
		if _, ok := def.Container(o.Name); !ok && len(def.Containers) == 1 {
			return w, bad("OverrideBad", fmt.Sprintf("overrides.containerOverrides[%d].name", i), "no container %q asks for a GPU in %s", o.Name, q.Definition)
		}
	}
	w.demand.Tier = tier
	return w, nil
}

// reservation is what a copy holds on its host until its task is told of.
func (w want) reservation(id string) ledger.Reservation {
	return ledger.Reservation{ID: id, Definition: w.def.ARN, Tier: w.demand.Tier, Containers: w.def.Containers}
}
