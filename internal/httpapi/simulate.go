package httpapi

import (
	"net/http"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/placing"
)

// SimulateAsk is the body of POST /v1/simulate: a task definition, or figures.
type SimulateAsk struct {
	Cluster        string       `json:"cluster"`
	TaskDefinition string       `json:"taskDefinition,omitempty"`
	MemoryMiB      gpu.MiB      `json:"memoryMiB,omitempty"`
	ComputePercent gpu.Percent  `json:"computePercent,omitempty"`
	Tier           gpu.Tier     `json:"tier,omitempty"`
	Mode           placing.Mode `json:"mode,omitempty"`
	Count          int          `json:"count"`
}

// SimulationDoc says how many copies fit now.
type SimulationDoc struct {
	ClusterARN     string   `json:"clusterArn"`
	MemoryMiB      gpu.MiB  `json:"memoryMiB"`
	ComputePercent int32    `json:"computePercent"`
	Tier           gpu.Tier `json:"tier"`
	Count          int      `json:"count"`
	// Fits holds whichever way ECS chooses cards, AtMost when it chooses luckily.
	Fits    int         `json:"fits"`
	AtMost  int         `json:"atMost"`
	Where   []WhereDoc  `json:"where"`
	Why     string      `json:"why,omitempty"`
	Changes []ChangeDoc `json:"changes"`
}

// WhereDoc is how many copies a host takes.
type WhereDoc struct {
	ContainerInstanceARN string `json:"containerInstanceArn"`
	Copies               int    `json:"copies"`
}

// ChangeDoc is a change that would make every copy fit; the cheapest comes first.
type ChangeDoc struct {
	Kind  string `json:"kind"`
	Value string `json:"value"`
	Text  string `json:"text"`
}

func (a *API) simulate(r *http.Request) (any, error) {
	var ask SimulateAsk
	if err := readBody(r, &ask); err != nil {
		return nil, err
	}
	cluster, err := a.clusterNamed(r, ask.Cluster)
	if err != nil {
		return nil, err
	}
	s, d, err := a.Placing.WhatIf(r.Context(), placing.WhatIf{Cluster: cluster, Definition: ask.TaskDefinition, Memory: ask.MemoryMiB,
		Compute: ask.ComputePercent, Tier: ask.Tier, Mode: ask.Mode, Count: ask.Count})
	if err != nil {
		return nil, err
	}
	doc := SimulationDoc{ClusterARN: cluster, MemoryMiB: d.Memory, ComputePercent: int32(d.Compute.OrFull()), Tier: d.Tier, Count: ask.Count,
		Fits: s.Fits, AtMost: s.AtMost, Where: []WhereDoc{}, Why: s.Why, Changes: []ChangeDoc{}}
	for _, h := range s.Where {
		doc.Where = append(doc.Where, WhereDoc{h.Host, h.Copies})
	}
	for _, c := range s.Changes {
		doc.Changes = append(doc.Changes, ChangeDoc(c))
	}
	return doc, nil
}
