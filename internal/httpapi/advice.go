package httpapi

import (
	"cmp"
	"errors"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/fleet"
	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/sizing"
)

// Parameters of the routes of this file.
var (
	adviceParams  = params{"family": anyText, "finding": findingWords, "margin": anyText, "overhead": anyText, "round": anyText, "budget": anyText}
	shapingParams = params{"task": anyText, "card": anyText, "budget": anyText, "tenants": anyText, "price": anyText}
	findingWords  = []string{string(sizing.UnderDeclared), string(sizing.TooLarge), string(sizing.Tight), string(sizing.OverDeclared), string(sizing.WholeGPU), string(sizing.Undeclared), string(sizing.Fine), string(sizing.NoEvidence)}
)

// AdviceDoc is what to declare for each container that hosts watched.
type AdviceDoc struct {
	At     time.Time       `json:"at"`
	Policy AdvicePolicyDoc `json:"policy"`
	Advice []sizing.Advice `json:"advice"`
}

// AdvicePolicyDoc is how cautious the advice is.
type AdvicePolicyDoc struct {
	MarginPercent gpu.Percent `json:"marginPercent"`
	OverheadMiB   gpu.MiB     `json:"overheadMiB"`
	RoundMiB      gpu.MiB     `json:"roundMiB"`
	BudgetPercent gpu.Percent `json:"budgetPercent"`
}

// advice recommends memory and maxComputePercent from the peaks that hosts reported.
func (a *API) advice(r *http.Request) (any, error) {
	cluster, err := a.cluster(r)
	if err != nil {
		return nil, err
	}
	q := r.URL.Query()
	p := sizing.DefaultPolicy()
	for _, x := range []struct {
		name string
		set  func(int)
	}{
		{"margin", func(n int) { p.Margin = gpu.Percent(n) }},
		{"overhead", func(n int) { p.Overhead = gpu.MiB(n) }},
		{"round", func(n int) { p.Round = gpu.MiB(n) }},
		{"budget", func(n int) { p.Budget = gpu.Percent(n) }},
	} {
		n, given, err := whole(q, x.name)
		if err != nil {
			return nil, err
		}
		if given {
			x.set(n)
		}
	}
	if err := p.Check(); err != nil {
		return nil, problem(http.StatusBadRequest, ReasonBadParameter, "The policy cannot be used: "+err.Error()+".")
	}
	series, err := a.Query.Series(r.Context(), cluster)
	if err != nil {
		return nil, err
	}
	now := a.Query.Clock()
	out := slices.DeleteFunc(sizing.Advise(series, p, now), func(x sizing.Advice) bool {
		return !wants(q.Get("family"), x.Family()) || !wants(q.Get("finding"), string(x.Finding))
	})
	return AdviceDoc{At: now, Policy: AdvicePolicyDoc{p.Margin, p.Overhead, p.Round, p.Budget}, Advice: out}, nil
}

// whole reads a parameter that is a number from 0 on.
func whole(q url.Values, name string) (int, bool, error) {
	s := q.Get(name)
	if s == "" {
		return 0, false, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > math.MaxInt32 {
		return 0, false, problem(http.StatusBadRequest, ReasonBadParameter, name+" is a whole number from 0 on; "+quote(s)+" is none.")
	}
	return n, true, nil
}

// ShapingDoc is the memory at which ECS cannot break the limits, and what carries the mix.
type ShapingDoc struct {
	Limits  sizing.Limits   `json:"limits"`
	Cards   []gpu.MiB       `json:"cardsMiB"`
	Shapes  []sizing.Shaped `json:"shapes"`
	Problem string          `json:"problem,omitempty"` // no memory makes the mix safe on these cards
	Prices  PricesDoc       `json:"prices"`
	Plans   []sizing.Plan   `json:"plans"` // cheapest first; each shaped for its own cards
}

// PricesDoc dates the prices that an answer rests on.
type PricesDoc struct {
	AsOf     string `json:"asOf"`
	Region   string `json:"region"`
	Currency string `json:"currency"`
	Source   string `json:"source"`
}

func pricesDoc(p sizing.Prices) PricesDoc { return PricesDoc{p.AsOf, p.Region, p.Currency, p.Source} }

// shaping shapes the services that run in the cluster, or those of the task parameters,
// for the cluster's cards, or those of the card parameters.
func (a *API) shaping(r *http.Request) (any, error) {
	cluster, err := a.cluster(r)
	if err != nil {
		return nil, err
	}
	q := r.URL.Query()
	limits, err := limitsOf(q)
	if err != nil {
		return nil, err
	}
	prices, err := pricesOf(q["price"])
	if err != nil {
		return nil, err
	}
	mix, cards, err := a.running(r, cluster)
	if err != nil {
		return nil, err
	}
	if len(q["task"]) > 0 {
		if mix, err = tasksOf(q["task"]); err != nil {
			return nil, err
		}
	}
	if len(q["card"]) > 0 {
		if cards, err = cardsOf(q["card"]); err != nil {
			return nil, err
		}
	}
	if len(mix) == 0 || len(cards) == 0 {
		return nil, problem(http.StatusBadRequest, ReasonBadParameter, "Nothing shares a sized card in this cluster yet: give task=NAME:MEMORY_MIB:COMPUTE_PERCENT:COUNT and card=MEMORY_MIB.")
	}
	return shapingDoc(mix, cards, limits, prices)
}

func shapingDoc(mix []sizing.Wanted, cards []gpu.MiB, l sizing.Limits, prices sizing.Prices) (any, error) {
	doc := ShapingDoc{Limits: l, Cards: cards, Prices: pricesDoc(prices), Shapes: []sizing.Shaped{}}
	services := make([]sizing.Service, len(mix))
	for i, w := range mix {
		services[i] = w.Service
	}
	shapes, err := sizing.Shape(services, cards, l)
	switch {
	case errors.Is(err, sizing.ErrShapeImpossible):
		doc.Problem = err.Error()
	case err != nil:
		return nil, problem(http.StatusBadRequest, ReasonBadParameter, err.Error()+".")
	default:
		doc.Shapes = shapes
	}
	if doc.Plans, err = sizing.Cheapest(mix, prices, l); err != nil {
		return nil, problem(http.StatusBadRequest, ReasonBadParameter, err.Error()+".")
	}
	return doc, nil
}

func limitsOf(q url.Values) (sizing.Limits, error) {
	budget, givenBudget, err := whole(q, "budget")
	if err != nil {
		return sizing.Limits{}, err
	}
	tenants, givenTenants, err := whole(q, "tenants")
	if err != nil {
		return sizing.Limits{}, err
	}
	l := sizing.Limits{Budget: gpu.Percent(budget), Tenants: tenants}
	if !givenBudget && !givenTenants {
		l.Budget = gpu.FullCompute
	}
	return l, nil
}

// tasksOf reads NAME:MEMORY[:COMPUTE[:COUNT]].
func tasksOf(texts []string) ([]sizing.Wanted, error) {
	var out []sizing.Wanted
	for _, s := range texts {
		parts := strings.Split(s, ":")
		bad := problem(http.StatusBadRequest, ReasonBadParameter, "task is NAME:MEMORY_MIB, and if wished :COMPUTE_PERCENT and :COUNT; "+quote(s)+" is not.")
		if len(parts) < 2 || len(parts) > 4 || parts[0] == "" {
			return nil, bad
		}
		numbers := [3]int{0, 0, 1}
		for i, p := range parts[1:] {
			n, err := strconv.Atoi(p)
			if err != nil || n < 0 || n > math.MaxInt32 {
				return nil, bad
			}
			numbers[i] = n
		}
		out = append(out, sizing.Wanted{Service: sizing.Service{Name: parts[0], Memory: gpu.MiB(numbers[0]), Compute: gpu.Percent(numbers[1])}, Count: numbers[2]})
	}
	return out, nil
}

func cardsOf(texts []string) ([]gpu.MiB, error) {
	var out []gpu.MiB
	for _, s := range texts {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || n < 1 || n > int64(sizing.MaxPeak) {
			return nil, problem(http.StatusBadRequest, ReasonBadParameter, "card is a card's memory in MiB; "+quote(s)+" is not.")
		}
		out = append(out, gpu.MiB(n))
	}
	return out, nil
}

// pricesOf is the table that comes with Bulkhead under the caller's own prices, each
// TYPE=USD_PER_HOUR or TYPE=USD_PER_HOUR/GPUS for a type that the table lacks.
func pricesOf(own []string) (sizing.Prices, error) {
	prices, err := sizing.DefaultPrices()
	if err != nil {
		return prices, err
	}
	for _, s := range own {
		bad := problem(http.StatusBadRequest, ReasonBadParameter, "price is TYPE=DOLLARS_PER_HOUR above 0, with /GPUS behind for a type that the table lacks; "+quote(s)+" is not.")
		name, rest, ok := strings.Cut(s, "=")
		dollars, cards, counted := strings.Cut(rest, "/")
		usd, err := strconv.ParseFloat(dollars, 64)
		if !ok || name == "" || err != nil || !(usd > 0 && usd < 1e6) {
			return prices, bad
		}
		i := slices.IndexFunc(prices.Types, func(t sizing.InstanceType) bool { return t.Type == name })
		switch {
		case i >= 0 && !counted:
			prices.Types[i].PerHour = usd
		case counted:
			n, err := strconv.Atoi(cards)
			if err != nil || n < 1 || n > 32 {
				return prices, bad
			}
			if i < 0 {
				prices.Types, i = append(prices.Types, sizing.InstanceType{Type: name}), len(prices.Types)
			}
			prices.Types[i].GPUs, prices.Types[i].PerHour = n, usd
		default:
			return prices, bad
		}
	}
	if len(own) > 0 {
		prices.Source = "the caller's own prices over: " + prices.Source
	}
	return prices, nil
}

// running is what shares cards in the cluster now: one entry a service and size, with
// the number of its tasks, and each size of card.
func (a *API) running(r *http.Request, cluster string) ([]sizing.Wanted, []gpu.MiB, error) {
	count := map[sizing.Service]int{}
	sizes := map[gpu.MiB]bool{}
	err := fleet.EachHost(r.Context(), a.Query.Store, cluster, func(h ledger.Host) error {
		if h.Gone() {
			return nil
		}
		for _, d := range h.Devices {
			if d.Total > 0 {
				sizes[d.Total] = true
			}
		}
		for _, t := range h.Tasks {
			if s, ok := sharingTask(t); ok {
				count[s]++
			}
		}
		return nil
	})
	var mix []sizing.Wanted
	for s, n := range count {
		mix = append(mix, sizing.Wanted{Service: s, Count: n})
	}
	slices.SortFunc(mix, func(a, b sizing.Wanted) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Memory, b.Memory), cmp.Compare(a.Compute, b.Compute))
	})
	var cards []gpu.MiB
	for c := range sizes {
		cards = append(cards, c)
	}
	slices.Sort(cards)
	return mix, cards, err
}

// sharingTask is a task's share of one card: ECS puts its sharing containers together.
func sharingTask(t ledger.Task) (sizing.Service, bool) {
	if t.Phase != ledger.PhaseActive || len(t.Shares) == 0 {
		return sizing.Service{}, false
	}
	s := sizing.Service{Name: t.Group}
	if name := serviceOf(t.Group); name != "" {
		s.Name = name
	}
	var compute gpu.Percent
	for _, c := range t.Shares {
		if c.Need != ledger.NeedShare || !c.Sized {
			return s, false
		}
		s.Memory, compute = s.Memory.Add(c.Memory), compute.Add(c.Compute.OrFull())
	}
	s.Compute = min(compute, gpu.FullCompute)
	return s, s.Memory > 0 && s.Memory <= sizing.MaxPeak
}
