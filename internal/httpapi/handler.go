package httpapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"github.com/bulkhead-ecs/bulkhead/internal/fleet"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/placing"
	"github.com/bulkhead-ecs/bulkhead/internal/remediate"
)

// API answers questions about the ledger over HTTP.
type API struct {
	Query *fleet.Query
	Log   *slog.Logger
	Cases remediate.Store // optional: without, no remedies are answered for
	Desk  *remediate.Desk // optional: without, nothing that people say is taken
	Mode  string          // of remedies: observe, recommend or act
	// Placing answers for placements; optional: without, nothing is placed.
	Placing *placing.Desk
}

// answer is what a route returns: a document, or an error that becomes a problem.
type answer func(r *http.Request) (any, error)

// Handler builds the routes.
func (a *API) Handler() http.Handler {
	mux := http.NewServeMux()
	get := func(pattern string, f answer, p params) {
		mux.HandleFunc("GET /v1/"+pattern, a.serve(func(r *http.Request) (any, error) {
			if err := p.check(r); err != nil {
				return nil, err
			}
			return f(r)
		}))
	}
	get("clusters", a.clusters, nil)
	get("clusters/{cluster}/summary", a.summary, nil)
	get("clusters/{cluster}/hosts", a.hosts, paged(params{"status": statusWords, "capacityType": capacityWords, "instanceType": anyText}))
	get("clusters/{cluster}/hosts/{host}", a.host, nil)
	get("clusters/{cluster}/hosts/{host}/history", a.history, params{"at": anyText})
	get("clusters/{cluster}/hosts/{host}/health", a.hostHealth, nil)
	get("clusters/{cluster}/health", a.health, paged(params{"level": levelWords}))
	get("clusters/{cluster}/gpus", a.gpus, paged(params{"status": statusWords, "mode": modeWords}))
	get("clusters/{cluster}/tasks", a.tasks, paged(params{"tier": anyText, "service": anyText, "state": stateWords}))
	get("clusters/{cluster}/tasks/{task}", a.task, paged(params{})) // given whole: what pages is accepted
	get("clusters/{cluster}/advice", a.advice, adviceParams)
	get("clusters/{cluster}/shaping", a.shaping, shapingParams)
	get("clusters/{cluster}/cost", a.cost, costParams)
	get("clusters/{cluster}/readiness", a.readiness, readinessParams)
	get("clusters/{cluster}/findings", a.findings, paged(params{"kind": kindWords(), "severity": severityWords})) // given whole, too
	get("gpus/{uuid}", a.gpu, nil)
	get("gpus/{uuid}/tenants", a.tenants, nil)
	a.remedyRoutes(mux)
	a.placingRoutes(mux)
	a.lintRoutes(mux)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			writeProblem(w, problem(http.StatusMethodNotAllowed, ReasonMethod, "This route is not for "+quote(r.Method)+": what is read is asked by GET, and infra/openapi.yaml lists what takes POST."))
			return
		}
		writeProblem(w, problem(http.StatusNotFound, ReasonNoRoute, "There is no such route; GET /v1/clusters is a good start."))
	})
	return mux
}

// serve writes a route's answer with its ETag.
func (a *API) serve(f answer) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		doc, err := f(r)
		if err != nil {
			p := problemOf(err)
			if p.Reason == ReasonInternal || p.Reason == ReasonBusy {
				a.Log.ErrorContext(r.Context(), "request failed", "path", r.URL.Path, "error", err.Error())
			}
			writeProblem(w, p)
			return
		}
		var body bytes.Buffer
		if err := json.NewEncoder(&body).Encode(doc); err != nil {
			a.Log.ErrorContext(r.Context(), "answer not encoded", "path", r.URL.Path, "error", err.Error())
			writeProblem(w, problemOf(err))
			return
		}
		sum := sha256.Sum256(body.Bytes())
		tag := `"` + hex.EncodeToString(sum[:12]) + `"`
		w.Header().Set("ETag", tag)
		w.Header().Set("Cache-Control", "private, no-cache")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if matches(r.Header.Get("If-None-Match"), tag) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body.Bytes())
	}
}

func matches(header, tag string) bool {
	for _, t := range strings.Split(header, ",") {
		t = strings.TrimPrefix(strings.TrimSpace(t), "W/")
		if t == tag || t == "*" {
			return true
		}
	}
	return false
}

// cluster resolves the {cluster} of a path: an ARN or a name.
func (a *API) cluster(r *http.Request) (string, error) {
	want := r.PathValue("cluster")
	all, err := a.Query.Clusters(r.Context())
	if err != nil {
		return "", err
	}
	var names []string
	for _, arn := range all {
		name := lastPart(arn)
		if arn == want || name == want {
			return arn, nil
		}
		names = append(names, name)
	}
	p := problem(http.StatusNotFound, ReasonUnknownCluster, "No host of a cluster "+quote(want)+" is in the ledger; the clusters that are: bulkhead, or GET /v1/clusters.")
	p.DidYouMean = near(want, names)
	return "", p
}

// hostID resolves the {host} of a path: a container instance ARN or id, or an
// EC2 instance id.
func (a *API) hostID(r *http.Request, cluster string) (ledger.HostID, error) {
	want := r.PathValue("host")
	if strings.HasPrefix(want, "i-") {
		v, err := a.Query.HostOfInstance(r.Context(), want)
		if err == nil && v.Host.ID.Cluster == cluster {
			return v.Host.ID, nil
		}
		if err != nil && !errors.Is(err, ledger.ErrNotFound) {
			return ledger.HostID{}, err
		}
	}
	var ids []string
	found := ledger.HostID{}
	err := fleet.EachHost(r.Context(), a.Query.Store, cluster, func(h ledger.Host) error {
		if h.ID.Instance == want || lastPart(h.ID.Instance) == want || h.Fixed.EC2InstanceID == want {
			found = h.ID
		}
		ids = append(ids, lastPart(h.ID.Instance), h.Fixed.EC2InstanceID)
		return nil
	})
	if err != nil || found.Instance != "" {
		return found, err
	}
	p := problem(http.StatusNotFound, ReasonUnknownHost, "No host "+quote(want)+" is in this cluster's ledger; give a container instance id or an EC2 instance id.")
	p.DidYouMean = near(want, ids)
	return found, p
}

func lastPart(arn string) string { return arn[strings.LastIndexByte(arn, '/')+1:] }

func serviceOf(group string) string {
	name, _ := strings.CutPrefix(group, "service:")
	if name == group {
		return ""
	}
	return name
}

func (a *API) clusters(r *http.Request) (any, error) {
	arns, err := a.Query.Clusters(r.Context())
	if err != nil {
		return nil, err
	}
	type clusterDoc struct {
		ARN  string `json:"clusterArn"`
		Name string `json:"name"`
	}
	out := []clusterDoc{}
	for _, arn := range arns {
		out = append(out, clusterDoc{ARN: arn, Name: lastPart(arn)})
	}
	return map[string]any{"clusters": out}, nil
}

func (a *API) summary(r *http.Request) (any, error) {
	cluster, err := a.cluster(r)
	if err != nil {
		return nil, err
	}
	s, err := a.Query.Summary(r.Context(), cluster)
	return summaryDoc(s), err
}

func (a *API) host(r *http.Request) (any, error) {
	v, err := a.view(r.Context(), r)
	if err != nil {
		return nil, err
	}
	return DocOf(v), nil
}

func (a *API) view(ctx context.Context, r *http.Request) (ledger.View, error) {
	cluster, err := a.cluster(r)
	if err != nil {
		return ledger.View{}, err
	}
	id, err := a.hostID(r, cluster)
	if err != nil {
		return ledger.View{}, err
	}
	return a.Query.Host(ctx, id)
}
