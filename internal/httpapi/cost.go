package httpapi

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/sizing"
)

// MaxCostSpan bounds how much of the journal one answer adds up.
const MaxCostSpan = 31 * 24 * time.Hour

var costParams = params{"from": anyText, "to": anyText, "team": anyText, "price": anyText}

// CostDoc is what a cluster's cards did in a span, and for whom. GPU-seconds are
// cards × seconds; used, idle, free, stranded and unknown add up to all of them.
type CostDoc struct {
	From       time.Time     `json:"from"`
	To         time.Time     `json:"to"`
	Lines      []sizing.Line `json:"lines"`
	GPUSeconds float64       `json:"gpuSeconds"`
	Used       sizing.Part   `json:"used"`
	Idle       sizing.Part   `json:"idle"`
	Free       sizing.Part   `json:"free"`
	Stranded   sizing.Part   `json:"stranded"`
	Unknown    sizing.Part   `json:"unknown"`
	// GPUsSaved is how many whole cards, on average over the span, sharing saved against
	// one card for each sharing task. It is below zero when tasks share with nobody.
	GPUsSaved float64   `json:"gpusSaved"`
	Unpriced  []string  `json:"unpricedTypes"`
	Prices    PricesDoc `json:"prices"`
}

// cost adds up the journal of a span, a day by default.
func (a *API) cost(r *http.Request) (any, error) {
	cluster, err := a.cluster(r)
	if err != nil {
		return nil, err
	}
	q := r.URL.Query()
	now := a.Query.Clock()
	to, err := moment(q.Get("to"), now)
	if err != nil {
		return nil, err
	}
	from, err := moment(cmp.Or(q.Get("from"), "24h"), now)
	if err != nil {
		return nil, err
	}
	if !from.Before(to) || to.Sub(from) > MaxCostSpan {
		return nil, problem(http.StatusBadRequest, ReasonBadParameter, "from must be before to, by at most 31 days; they are "+from.UTC().Format(time.RFC3339)+" and "+to.UTC().Format(time.RFC3339)+".")
	}
	prices, err := pricesOf(q["price"])
	if err != nil {
		return nil, err
	}
	team, err := teamsOf(q["team"])
	if err != nil {
		return nil, err
	}
	m := sizing.Meter{From: from, To: to, Prices: prices, Team: team}
	if err := a.Query.Meter(r.Context(), cluster, &m); err != nil {
		return nil, err
	}
	return costDoc(m.Bill(), prices), nil
}

func costDoc(b sizing.Bill, prices sizing.Prices) CostDoc {
	doc := CostDoc{From: b.From.UTC(), To: b.To.UTC(), Lines: b.Lines, GPUSeconds: b.CardSeconds, Used: b.Used, Idle: b.Idle, Free: b.Free, Stranded: b.Stranded,
		Unknown: b.Unknown, GPUsSaved: b.Saved() / b.To.Sub(b.From).Seconds(), Unpriced: b.Unpriced, Prices: pricesDoc(prices)}
	if doc.Lines == nil {
		doc.Lines = []sizing.Line{}
	}
	if doc.Unpriced == nil {
		doc.Unpriced = []string{}
	}
	return doc
}

// teamsOf reads SERVICE=TEAM; a service ending in * stands for all that begin so. The
// longest one that fits counts.
func teamsOf(texts []string) (func(service string) string, error) {
	type rule struct{ service, team string }
	var rules []rule
	for _, s := range texts {
		service, team, ok := strings.Cut(s, "=")
		if !ok || service == "" || team == "" {
			return nil, problem(http.StatusBadRequest, ReasonBadParameter, "team is SERVICE=TEAM, or PREFIX*=TEAM; "+quote(s)+" is neither.")
		}
		rules = append(rules, rule{service, team})
	}
	slices.SortStableFunc(rules, func(a, b rule) int { return cmp.Compare(len(b.service), len(a.service)) })
	return func(service string) string {
		for _, r := range rules {
			prefix, any := strings.CutSuffix(r.service, "*")
			if r.service == service || any && strings.HasPrefix(service, prefix) {
				return r.team
			}
		}
		return ""
	}, nil
}
