package httpapi

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/fleet"
	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

// MaxPage is the most hosts whose items one answer reads.
const MaxPage = 500

// page reads cursor and limit of a request.
func page(r *http.Request) (ledger.Cursor, int, error) {
	q := r.URL.Query()
	limit, err := number(q, "limit", 100, MaxPage)
	return ledger.Cursor(q.Get("cursor")), limit, err
}

// list reads one page of hosts and turns each into documents. A page is counted
// in hosts, since a host is what is read; an empty page with a cursor goes on.
func list[T any](a *API, r *http.Request, key string, each func(ledger.View) []T) (any, error) {
	cluster, err := a.cluster(r)
	if err != nil {
		return nil, err
	}
	after, limit, err := page(r)
	if err != nil {
		return nil, err
	}
	views, next, err := a.Query.Hosts(r.Context(), cluster, after, limit)
	if err != nil {
		return nil, err
	}
	out := []T{}
	for _, v := range views {
		out = append(out, each(v)...)
	}
	return map[string]any{key: out, "nextCursor": string(next)}, nil
}

// wants reports whether a filter is unset or met. Filters take several words,
// parted by commas.
func wants(filter, value string) bool {
	return filter == "" || slices.ContainsFunc(strings.Split(filter, ","), func(f string) bool { return strings.EqualFold(strings.TrimSpace(f), value) })
}

func (a *API) hosts(r *http.Request) (any, error) {
	q := r.URL.Query()
	return list(a, r, "hosts", func(v ledger.View) []HostDoc {
		h := v.Host
		if !wants(q.Get("status"), h.Registration.Status) || !wants(q.Get("capacityType"), string(h.Fixed.CapacityType)) ||
			!wants(q.Get("instanceType"), h.Fixed.InstanceType) {
			return nil
		}
		return []HostDoc{DocOf(v)}
	})
}

func (a *API) gpus(r *http.Request) (any, error) {
	q := r.URL.Query()
	return list(a, r, "gpus", func(v ledger.View) []GPUDoc {
		if !wants(q.Get("status"), v.Host.Registration.Status) {
			return nil
		}
		return slices.DeleteFunc(gpuDocs(v), func(d GPUDoc) bool { return !wants(q.Get("mode"), string(d.Mode)) })
	})
}

func (a *API) tasks(r *http.Request) (any, error) {
	q := r.URL.Query()
	return list(a, r, "tasks", func(v ledger.View) []TenantDoc {
		var out []TenantDoc
		for _, t := range fleet.Tenants(v) {
			if wants(q.Get("tier"), string(t.Share.Tier)) && wants(q.Get("service"), serviceOf(t.Share.Group)) &&
				wants(q.Get("state"), string(t.Share.State)) {
				out = append(out, tenantDoc(t))
			}
		}
		return out
	})
}

// shortID is how many letters of a task's id tables show and requests may give.
const shortID = 8

func (a *API) task(r *http.Request) (any, error) {
	cluster, err := a.cluster(r)
	if err != nil {
		return nil, err
	}
	want := r.PathValue("task")
	var out []TenantDoc
	var ids []string
	err = fleet.EachHost(r.Context(), a.Query.Store, cluster, func(h ledger.Host) error {
		for _, t := range h.Tasks {
			id := lastPart(t.ARN)
			ids = append(ids, id)
			if t.ARN != want && id != want && (len(want) < shortID || !strings.HasPrefix(id, want)) {
				continue
			}
			for _, x := range fleet.Tenants(h.View(a.Query.Clock())) {
				if x.Share.TaskARN == t.ARN {
					out = append(out, tenantDoc(x))
				}
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case len(out) == 0:
		p := problem(http.StatusNotFound, ReasonUnknownTask, "No task "+quote(want)+" holds anything of a GPU in this cluster, now or lately.")
		p.DidYouMean = near(want, ids)
		return nil, p
	}
	return map[string]any{"tasks": out}, nil
}

func (a *API) findings(r *http.Request) (any, error) {
	cluster, err := a.cluster(r)
	if err != nil {
		return nil, err
	}
	fs, err := a.Query.Findings(r.Context(), cluster)
	if err != nil {
		return nil, err
	}
	q := r.URL.Query()
	fs = slices.DeleteFunc(fs, func(f ledger.Finding) bool {
		return !wants(q.Get("kind"), string(f.Kind)) || !wants(q.Get("severity"), string(f.Severity))
	})
	return map[string]any{"findings": FindingDocs(fs)}, nil
}

func (a *API) card(ctx context.Context, r *http.Request) (ledger.View, ledger.Device, error) {
	u := gpu.UUID(r.PathValue("uuid"))
	v, d, err := a.Query.Card(ctx, u)
	if errors.Is(err, ledger.ErrNotFound) {
		err = problem(http.StatusNotFound, ReasonUnknownGPU, "No card "+quote(string(u))+" is in the ledger: give the whole UUID, as bulkhead gpus -o json or GET /v1/clusters/{cluster}/gpus shows it.")
	}
	return v, d, err
}

func (a *API) gpu(r *http.Request) (any, error) {
	v, d, err := a.card(r.Context(), r)
	if err != nil {
		return nil, err
	}
	docs := gpuDocs(v)
	i := slices.IndexFunc(docs, func(x GPUDoc) bool { return x.UUID == d.UUID })
	return docs[i], nil
}

// tenants is the blast radius of a fault on the card: everything that holds it.
func (a *API) tenants(r *http.Request) (any, error) {
	v, d, err := a.card(r.Context(), r)
	if err != nil {
		return nil, err
	}
	out := []TenantDoc{}
	for _, t := range fleet.Tenants(v) {
		if t.Device == d.UUID && t.Share.State.Holds() {
			out = append(out, tenantDoc(t))
		}
	}
	return map[string]any{"uuid": d.UUID, "containerInstanceArn": v.Host.ID.Instance, "ec2InstanceId": v.Host.Fixed.EC2InstanceID, "tenants": out}, nil
}

func (a *API) history(r *http.Request) (any, error) {
	cluster, err := a.cluster(r)
	if err != nil {
		return nil, err
	}
	id, err := a.hostID(r, cluster)
	if err != nil {
		return nil, err
	}
	at, err := moment(r.URL.Query().Get("at"), a.Query.Clock())
	if err != nil {
		return nil, err
	}
	v, asOf, err := a.Query.At(r.Context(), id, at)
	if errors.Is(err, ledger.ErrNotFound) {
		return nil, problem(http.StatusNotFound, ReasonBeforeJournal, "The journal of this host has nothing at or before "+at.UTC().Format(time.RFC3339)+"; it begins later, or is older than the 90 days kept.")
	}
	if err != nil {
		return nil, err
	}
	return map[string]any{"at": at.UTC(), "asOf": asOf.UTC(), "host": DocOf(v)}, nil
}

// moment reads a time, or an age: 10m, 3h, 90d.
func moment(s string, now time.Time) (time.Time, error) {
	if s == "" {
		return now, nil
	}
	bad := func(why string) (time.Time, error) {
		return now, problem(http.StatusBadRequest, ReasonBadParameter, "at is a time like 2026-12-01T03:12:00Z, or an age like 10m, 3h or 90d; "+quote(s)+" "+why+".")
	}
	var age time.Duration
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.Atoi(days)
		if err != nil || n < 0 || n > 10_000 {
			return bad("is neither")
		}
		age = time.Duration(n) * 24 * time.Hour
	} else if d, err := time.ParseDuration(s); err == nil {
		age = d
	} else {
		at, err := time.Parse(time.RFC3339, s)
		if err != nil {
			return bad("is neither")
		}
		age = now.Sub(at)
	}
	if age < 0 {
		return bad("is ahead of the clock, which is at " + now.UTC().Format(time.RFC3339))
	}
	return now.Add(-age), nil
}
