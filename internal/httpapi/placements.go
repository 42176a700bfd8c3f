package httpapi

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/placement"
	"github.com/bulkhead-ecs/bulkhead/internal/placing"
)

// Reason tokens of placements. A request that is wrong in itself is answered with the
// token of its refusal instead.
const (
	ReasonNoPlacements     = "NoPlacements"
	ReasonUnknownPlacement = "UnknownPlacement"
	ReasonTokenUsed        = "ClientTokenUsed"
)

// PlacementAsk is the body of POST /v1/placements.
type PlacementAsk struct {
	Cluster        string            `json:"cluster"`
	TaskDefinition string            `json:"taskDefinition"`
	Count          int               `json:"count"`
	Tier           gpu.Tier          `json:"tier,omitempty"`
	Group          string            `json:"group,omitempty"`
	Mode           placing.Mode      `json:"mode,omitempty"`
	Overrides      placing.Overrides `json:"overrides"`
	ClientToken    string            `json:"clientToken"`
	DryRun         bool              `json:"dryRun,omitempty"`
}

// PlacementDoc is a placement request with what became of it.
type PlacementDoc struct {
	ID             string       `json:"id"`
	ClusterARN     string       `json:"clusterArn"`
	TaskDefinition string       `json:"taskDefinition"`
	Tier           gpu.Tier     `json:"tier"`
	Mode           placing.Mode `json:"mode,omitempty"`
	Count          int          `json:"count"`
	By             string       `json:"by,omitempty"`
	MadeAt         time.Time    `json:"madeAt"`
	DryRun         bool         `json:"dryRun"`
	Done           bool         `json:"done"` // nothing more will be tried
	Copies         []CopyDoc    `json:"copies"`
}

// CopyDoc is one task of it.
type CopyDoc struct {
	Reservation          string        `json:"reservation"`
	State                placing.State `json:"state"`
	ContainerInstanceARN string        `json:"containerInstanceArn,omitempty"`
	TaskARN              string        `json:"taskArn,omitempty"`
	GPUs                 []gpu.UUID    `json:"gpus,omitempty"`
	Tries                int           `json:"tries"`
	Reason               string        `json:"reason,omitempty"`
	Text                 string        `json:"text,omitempty"`
	// Explanation counts why hosts were refused when the copy was decided.
	Explanation string `json:"explanation,omitempty"`
}

// placingRoutes are what is asked and answered about placements.
func (a *API) placingRoutes(mux *http.ServeMux) {
	route := func(pattern string, f answer) {
		mux.HandleFunc(pattern, a.serve(func(r *http.Request) (any, error) {
			if err := params(nil).check(r); err != nil {
				return nil, err
			}
			if a.Placing == nil {
				return nil, problem(http.StatusNotFound, ReasonNoPlacements, "Nothing is placed here: this answers from the ledger alone.")
			}
			doc, err := f(r)
			return doc, refusalProblem(err)
		}))
	}
	route("POST /v1/placements", a.place)
	route("GET /v1/placements/{id}", a.placement)
	route("POST /v1/simulate", a.simulate)
}

// refusalProblem tells what is wrong with a demand by its token and field.
func refusalProblem(err error) error {
	var no *placement.Refusal
	switch {
	case errors.As(err, &no):
		return problem(http.StatusUnprocessableEntity, no.Reason, no.Field+": "+no.Text+".")
	case errors.Is(err, placing.ErrTokenUsed):
		return problem(http.StatusConflict, ReasonTokenUsed, "This client token already stands for another request of the last 24 hours: use a new one.")
	}
	return err
}

// maxAsk bounds the body of a request: its overrides and some more.
const maxAsk = 32 << 10

// readBody reads a JSON body; a field that is not known is refused, like a parameter.
func readBody(r *http.Request, into any) error {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return problem(http.StatusUnsupportedMediaType, ReasonBadBody, "Send the body as application/json.")
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxAsk+1))
	if err != nil || len(body) > maxAsk {
		return problem(http.StatusBadRequest, ReasonBadBody, "The body is longer than 32 KiB, or it broke off.")
	}
	dec := json.NewDecoder(strings.NewReader(string(body)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return problem(http.StatusBadRequest, ReasonBadBody, "The body cannot be read: "+err.Error()+".")
	}
	return nil
}

// clusterNamed resolves the cluster that a body names, like the one of a path.
func (a *API) clusterNamed(r *http.Request, name string) (string, error) {
	r.SetPathValue("cluster", name)
	return a.cluster(r)
}

func (a *API) place(r *http.Request) (any, error) {
	var ask PlacementAsk
	if err := readBody(r, &ask); err != nil {
		return nil, err
	}
	by, _ := r.Context().Value(actorKey{}).(string)
	if by == "" && !ask.DryRun {
		return nil, problem(http.StatusForbidden, ReasonNoActor, "Nobody signed this request, and tasks are not started for nobody: this route needs the IAM authorizer.")
	}
	cluster, err := a.clusterNamed(r, ask.Cluster)
	if err != nil {
		return nil, err
	}
	q := placing.Request{Cluster: cluster, ClientToken: ask.ClientToken, Definition: ask.TaskDefinition, Count: ask.Count, Tier: ask.Tier,
		Group: ask.Group, Mode: ask.Mode, Overrides: ask.Overrides}
	if ask.DryRun {
		if q.ClientToken == "" {
			q.ClientToken = "dry-run"
		}
		rec, err := a.Placing.DryRun(r.Context(), q, by)
		return placementDoc(rec, true), err
	}
	rec, err := a.Placing.Submit(r.Context(), q, by)
	return placementDoc(rec, false), err
}

func (a *API) placement(r *http.Request) (any, error) {
	id := r.PathValue("id")
	rec, err := a.Placing.Get(r.Context(), id)
	if errors.Is(err, ledger.ErrNotFound) {
		return nil, problem(http.StatusNotFound, ReasonUnknownPlacement, "There is no placement "+quote(id)+"; they are kept for 24 hours.")
	}
	return placementDoc(rec, false), err
}

func placementDoc(r placing.Record, dry bool) PlacementDoc {
	q := r.Request
	d := PlacementDoc{ID: r.ID, ClusterARN: q.Cluster, TaskDefinition: q.Definition, Tier: q.Tier, Mode: q.Mode, Count: q.Count, By: r.By,
		MadeAt: r.MadeAt, DryRun: dry, Done: r.Done() || dry, Copies: []CopyDoc{}}
	if dry {
		d.ID = ""
	}
	for _, c := range r.Copies {
		d.Copies = append(d.Copies, CopyDoc{Reservation: c.Reservation, State: c.State, ContainerInstanceARN: c.Host.Instance, TaskARN: c.Task,
			GPUs: c.GPUs, Tries: c.Tries, Reason: c.Reason, Text: c.Text, Explanation: c.Explanation})
	}
	return d
}
