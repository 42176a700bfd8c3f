package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/remediate"
	"github.com/bulkhead-ecs/bulkhead/internal/remedy"
)

// Reason tokens of remedies.
const (
	ReasonUnknownCase     = "UnknownCase"
	ReasonUnknownBreaker  = "UnknownBreaker"
	ReasonUnknownDecision = "UnknownDecision"
	ReasonNoRemedies      = "NoRemedies"
	ReasonBadBody         = "BadBody"
	ReasonNoActor         = "NobodySigned"
	ReasonNotDone         = "NotDone"
)

// caseWords are the values of the filter of cases.
var caseWords = []string{"open", "closed", "all"}

// actorKey is where a request's signer is kept.
type actorKey struct{}

// WithActor says who signed a request: the ARN that the gateway's IAM authorizer
// proved, never what the request says of itself.
func WithActor(ctx context.Context, arn string) context.Context {
	return context.WithValue(ctx, actorKey{}, arn)
}

// remedyRoutes are what is asked and said about cases.
func (a *API) remedyRoutes(mux *http.ServeMux) {
	get := func(pattern string, f answer, p params) {
		mux.HandleFunc("GET /v1/clusters/{cluster}/"+pattern, a.serve(func(r *http.Request) (any, error) {
			if err := p.check(r); err != nil {
				return nil, err
			}
			if a.Cases == nil {
				return nil, noRemedies
			}
			return f(r)
		}))
	}
	get("cases", a.cases, paged(params{"state": caseWords, "host": anyText})) // given whole: what pages is accepted
	get("cases/{case}", a.case_, nil)
	get("hosts/{host}/why", a.whyHost, nil)
	get("breakers", a.breakers, nil)
	get("decisions", a.decisions, paged(params{}))
	get("decisions/{decision}", a.decision, nil)
	post := func(pattern string, f func(*http.Request, said) (remediate.Decision, error)) {
		mux.HandleFunc("POST /v1/clusters/{cluster}/"+pattern, a.serve(func(r *http.Request) (any, error) { return a.say(r, f) }))
	}
	post("pause", a.pause)
	post("resume", a.resume)
	post("breakers/reset", a.resetBreaker)
	post("cases/{case}/cancel", a.onCase((*remediate.Desk).Cancel))
	post("cases/{case}/hold", a.onCase((*remediate.Desk).Hold))
	post("cases/{case}/release", a.onCase((*remediate.Desk).Release))
	post("hosts/{host}/cordon", a.onHost((*remediate.Desk).Cordon))
	post("hosts/{host}/uncordon", a.onHost((*remediate.Desk).Uncordon))
	post("hosts/{host}/set-healthy", a.setHealthy)
}

var noRemedies = problem(http.StatusNotFound, ReasonNoRemedies, "No remedies run here: this answers from the ledger alone.")

// said is the body of what a person says.
type said struct {
	Reason string   `json:"reason"`
	Key    string   `json:"key,omitempty"` // of a breaker
	GPU    gpu.UUID `json:"gpu,omitempty"` // of set-healthy: one card instead of all
	by     string
}

// maxSaid bounds the body.
const maxSaid = 8 << 10

// say reads who says what, does it, and answers with the decision.
func (a *API) say(r *http.Request, f func(*http.Request, said) (remediate.Decision, error)) (any, error) {
	if a.Desk == nil {
		return nil, noRemedies
	}
	// A page of another origin can post a form, but no JSON, without being asked first.
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return nil, problem(http.StatusUnsupportedMediaType, ReasonBadBody, "Send the body as application/json.")
	}
	var s said
	body, err := io.ReadAll(io.LimitReader(r.Body, maxSaid+1))
	if err != nil || len(body) > maxSaid {
		return nil, problem(http.StatusBadRequest, ReasonBadBody, "The body is longer than 8 KiB, or it broke off.")
	}
	dec := json.NewDecoder(strings.NewReader(string(body)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&s); err != nil {
		return nil, problem(http.StatusBadRequest, ReasonBadBody, `The body is not like {"reason": "why"}; some routes take key or gpu besides.`)
	}
	if s.by, _ = r.Context().Value(actorKey{}).(string); s.by == "" {
		return nil, problem(http.StatusForbidden, ReasonNoActor, "Nobody signed this request, and an audit trail needs a name: this route needs the IAM authorizer.")
	}
	if strings.TrimSpace(s.Reason) == "" {
		return nil, problem(http.StatusBadRequest, ReasonBadBody, "A reason is required: it is kept in the audit trail beside your name.")
	}
	d, err := f(r, s)
	if errors.Is(err, remediate.ErrWord) && !errors.Is(err, ledger.ErrNotFound) {
		return nil, problem(http.StatusConflict, ReasonNotDone, err.Error()+".")
	}
	if err != nil {
		return nil, err
	}
	a.Log.InfoContext(r.Context(), "person's word", "id", d.ID, "by", d.Actor, "action", d.Action, "subject", d.Subject, "reason", d.Reason, "result", d.Result)
	return decisionDoc(d), nil
}

func (a *API) pause(r *http.Request, s said) (remediate.Decision, error) {
	cluster, err := a.cluster(r)
	if err != nil {
		return remediate.Decision{}, err
	}
	return a.Desk.Pause(r.Context(), cluster, s.by, s.Reason)
}

func (a *API) resume(r *http.Request, s said) (remediate.Decision, error) {
	cluster, err := a.cluster(r)
	if err != nil {
		return remediate.Decision{}, err
	}
	return a.Desk.Resume(r.Context(), cluster, s.by, s.Reason)
}

func (a *API) resetBreaker(r *http.Request, s said) (remediate.Decision, error) {
	cluster, err := a.cluster(r)
	if err != nil {
		return remediate.Decision{}, err
	}
	d, err := a.Desk.ResetBreaker(r.Context(), cluster, s.Key, s.by, s.Reason)
	if errors.Is(err, ledger.ErrNotFound) {
		p := problem(http.StatusNotFound, ReasonUnknownBreaker, "There is no breaker "+quote(s.Key)+"; GET …/breakers lists them.")
		if c, cerr := a.Cases.Control(r.Context(), cluster); cerr == nil {
			var keys []string
			for _, b := range c.Breakers {
				keys = append(keys, b.Key.String())
			}
			p.DidYouMean = near(s.Key, keys)
		}
		return d, p
	}
	return d, err
}

func (a *API) onCase(f func(*remediate.Desk, context.Context, string, string, string, string) (remediate.Decision, error)) func(*http.Request, said) (remediate.Decision, error) {
	return func(r *http.Request, s said) (remediate.Decision, error) {
		rec, err := a.record(r)
		if err != nil {
			return remediate.Decision{}, err
		}
		return f(a.Desk, r.Context(), rec.Cluster, rec.Case.ID, s.by, s.Reason)
	}
}

func (a *API) onHost(f func(*remediate.Desk, context.Context, ledger.Host, string, string) (remediate.Decision, error)) func(*http.Request, said) (remediate.Decision, error) {
	return func(r *http.Request, s said) (remediate.Decision, error) {
		v, err := a.view(r.Context(), r)
		if err != nil {
			return remediate.Decision{}, err
		}
		return f(a.Desk, r.Context(), v.Host, s.by, s.Reason)
	}
}

func (a *API) setHealthy(r *http.Request, s said) (remediate.Decision, error) {
	v, err := a.view(r.Context(), r)
	if err != nil {
		return remediate.Decision{}, err
	}
	if s.GPU != "" && !slices.Contains(v.Host.Cards(), s.GPU) {
		return remediate.Decision{}, problem(http.StatusNotFound, ReasonUnknownGPU, "The host has no card "+quote(string(s.GPU))+".")
	}
	d, err := a.Desk.SetHealthy(r.Context(), v.Host, s.GPU, s.by, s.Reason)
	if errors.Is(err, ledger.ErrNotFound) {
		return d, problem(http.StatusConflict, ReasonNotDone, "Nothing was ever found on this host, so there is nothing to clear.")
	}
	return d, err
}

// record finds the {case} of a path.
func (a *API) record(r *http.Request) (remediate.Record, error) {
	cluster, err := a.cluster(r)
	if err != nil {
		return remediate.Record{}, err
	}
	want := r.PathValue("case")
	rec, err := a.Cases.Case(r.Context(), cluster, want)
	if !errors.Is(err, ledger.ErrNotFound) {
		return rec, err
	}
	p := problem(http.StatusNotFound, ReasonUnknownCase, "There is no case "+quote(want)+" in this cluster; cases are kept for 30 days after their end.")
	all, err := a.Cases.Cases(r.Context(), cluster)
	if err != nil {
		return rec, err
	}
	var ids []string
	for _, x := range all {
		ids = append(ids, x.Case.ID)
	}
	p.DidYouMean = near(want, ids)
	return rec, p
}

func (a *API) cases(r *http.Request) (any, error) {
	cluster, err := a.cluster(r)
	if err != nil {
		return nil, err
	}
	all, err := a.Cases.Cases(r.Context(), cluster)
	if err != nil {
		return nil, err
	}
	control, err := a.Cases.Control(r.Context(), cluster)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(all, func(x, y remediate.Record) int { return y.Case.Opened.Compare(x.Case.Opened) })
	state, host := strings.ToLower(r.URL.Query().Get("state")), r.URL.Query().Get("host")
	docs := []CaseDoc{}
	for _, x := range all {
		shown := state == "all" || (state == "closed") == x.Case.State.Final()
		if shown && (host == "" || host == x.Case.Instance || host == x.Case.Host || host == lastPart(x.Case.Host)) {
			docs = append(docs, caseDoc(x.Case, false))
		}
	}
	return map[string]any{"mode": a.Mode, "paused": wordDoc(control.Paused), "cases": docs, "nextCursor": ""}, nil
}

func (a *API) case_(r *http.Request) (any, error) {
	rec, err := a.record(r)
	if err != nil {
		return nil, err
	}
	return caseDoc(rec.Case, true), nil
}

func (a *API) breakers(r *http.Request) (any, error) {
	cluster, err := a.cluster(r)
	if err != nil {
		return nil, err
	}
	c, err := a.Cases.Control(r.Context(), cluster)
	docs := []BreakerDoc{}
	for _, b := range c.Breakers {
		docs = append(docs, breakerDoc(b))
	}
	return map[string]any{"breakers": docs}, err
}

func (a *API) decisions(r *http.Request) (any, error) {
	cluster, err := a.cluster(r)
	if err != nil {
		return nil, err
	}
	after, limit, err := page(r)
	if err != nil {
		return nil, err
	}
	all, next, err := a.Cases.Decisions(r.Context(), cluster, after, limit)
	docs := []DecisionDoc{}
	for _, d := range all {
		docs = append(docs, decisionDoc(d))
	}
	return map[string]any{"decisions": docs, "nextCursor": string(next)}, err
}

func (a *API) decision(r *http.Request) (any, error) {
	cluster, err := a.cluster(r)
	if err != nil {
		return nil, err
	}
	d, err := a.Cases.Decision(r.Context(), cluster, r.PathValue("decision"))
	if errors.Is(err, ledger.ErrNotFound) {
		return nil, problem(http.StatusNotFound, ReasonUnknownDecision, "There is no decision "+quote(r.PathValue("decision"))+"; GET …/decisions lists them, newest first.")
	}
	return decisionDoc(d), err
}

// WhyDoc says why a host is as it is, and what is or is not done about it.
type WhyDoc struct {
	Health VitalsDoc `json:"health"`
	Mode   string    `json:"mode"`
	Paused *WordDoc  `json:"paused,omitempty"`
	Cordon *WordDoc  `json:"cordon,omitempty"` // a person's
	Cases  []CaseDoc `json:"cases"`            // of this instance, newest first
	// Why is one sentence a line, the most important first.
	Why []string `json:"why"`
}

func (a *API) whyHost(r *http.Request) (any, error) {
	v, err := a.view(r.Context(), r)
	if err != nil {
		return nil, err
	}
	doc := WhyDoc{Mode: a.Mode, Cases: []CaseDoc{}, Why: []string{}}
	if doc.Health, err = a.vitals(r.Context(), v); err != nil {
		return nil, err
	}
	all, err := a.Cases.Cases(r.Context(), v.Host.ID.Cluster)
	if err != nil {
		return nil, err
	}
	control, err := a.Cases.Control(r.Context(), v.Host.ID.Cluster)
	if err != nil {
		return nil, err
	}
	doc.Paused = wordDoc(control.Paused)
	for _, c := range control.Cordons {
		if c.Host == v.Host.ID.Instance && c.Want == remedy.StatusDraining {
			doc.Cordon = wordDoc(c.Word)
		}
	}
	slices.SortStableFunc(all, func(x, y remediate.Record) int { return y.Case.Opened.Compare(x.Case.Opened) })
	for _, x := range all {
		if x.Case.Instance == v.Host.Fixed.EC2InstanceID {
			doc.Cases = append(doc.Cases, caseDoc(x.Case, false))
		}
	}
	doc.Why = sentences(doc, v.Host)
	return doc, nil
}

// sentences are the answer to "why".
func sentences(d WhyDoc, h ledger.Host) []string {
	out := []string{}
	if d.Cordon != nil {
		out = append(out, "A person cordoned it: "+d.Cordon.By+": "+d.Cordon.Reason+".")
	}
	for _, r := range d.Health.Reasons {
		what := r.Token + " since " + r.FirstSeen.UTC().Format(time.RFC3339)
		if r.GPU != "" {
			what += " on " + string(r.GPU)
		}
		out = append(out, what+": "+r.Why+".")
	}
	open := slices.IndexFunc(d.Cases, func(c CaseDoc) bool { return c.Closed == nil })
	switch {
	case open >= 0:
		out = append(out, d.Cases[open].next()...)
	case len(d.Health.Reasons) == 0 && h.Registration.Status == remedy.StatusActive:
		out = append(out, "Nothing stands against it.")
	case len(d.Health.Reasons) > 0:
		out = append(out, "No case is open: what stands asks for nothing, or a case answered for it already.")
	}
	if h.Registration.Status == remedy.StatusDraining && d.Cordon == nil && open < 0 {
		out = append(out, "It is DRAINING, and not by a case that is open: set by a person, by ECS, or left by a case that was cancelled.")
	}
	return out
}
