package httpapi

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/health"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

// params are the query parameters of a route: for each the words that it may have,
// or none where it takes any text. A parameter or a word that is not among them is
// refused: a filter with a slip of the pen must not look like a healthy fleet.
type params map[string][]string

// Words of filters.
var (
	modeWords     = []string{string(gpu.ModeIdle), string(gpu.ModeShared), string(gpu.ModeDedicated), string(gpu.ModeUnknown)}
	statusWords   = []string{"ACTIVE", "DRAINING", "REGISTERING", "DEREGISTERING", "REGISTRATION_FAILED", "INACTIVE"}
	capacityWords = []string{string(ledger.CapacityEC2), string(ledger.CapacityManaged)}
	severityWords = []string{string(ledger.Error), string(ledger.Warning), string(ledger.Info)}
	stateWords    = []string{string(ledger.StateReserved), string(ledger.StateBound), string(ledger.StateReleasing), string(ledger.StateReleased), string(ledger.StateExpired), string(ledger.StateLost)}
	levelWords    = []string{health.Healthy.String(), health.Suspect.String(), health.Unknown.String(), health.Degraded.String(), health.Failed.String()}
)

// anyText is a parameter that takes any text.
var anyText []string

// paged are the parameters of every listing that is read page by page.
func paged(own params) params {
	own["cursor"], own["limit"] = anyText, anyText
	return own
}

func kindWords() []string {
	var out []string
	for _, k := range ledger.Kinds() {
		out = append(out, string(k))
	}
	return out
}

// check refuses what a route does not know.
func (p params) check(r *http.Request) error {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return problem(http.StatusBadRequest, ReasonBadParameter, "The query string cannot be read: a % must be followed by two hexadecimal digits.")
	}
	for _, name := range slices.Sorted(keys(q)) {
		words, known := p[name]
		if !known {
			return p.unknown(name)
		}
		for _, value := range q[name] {
			for word := range strings.SplitSeq(value, ",") {
				word = strings.TrimSpace(word)
				if len(words) == 0 || word == "" || slices.ContainsFunc(words, func(w string) bool { return strings.EqualFold(w, word) }) {
					continue
				}
				bad := problem(http.StatusBadRequest, ReasonBadParameter, name+" "+quote(word)+" is not known: it is one of "+strings.Join(words, ", ")+".")
				bad.DidYouMean = near(word, words)
				return bad
			}
		}
	}
	return nil
}

func (p params) unknown(name string) error {
	var names []string
	for n := range p {
		names = append(names, n)
	}
	slices.Sort(names)
	text := "There is no parameter " + quote(name) + " here; this route takes none."
	if len(names) > 0 {
		text = "There is no parameter " + quote(name) + " here: known are " + strings.Join(names, ", ") + "."
	}
	bad := problem(http.StatusBadRequest, ReasonBadParameter, text)
	bad.DidYouMean = near(name, names)
	return bad
}

func keys(q url.Values) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for k := range q {
			if !yield(k) {
				return
			}
		}
	}
}

// number reads a parameter that is a number from 1 to most.
func number(q url.Values, name string, otherwise, most int) (int, error) {
	s := q.Get(name)
	if s == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > most {
		return 0, problem(http.StatusBadRequest, ReasonBadParameter, name+" is a number from 1 to "+strconv.Itoa(most)+".")
	}
	return n, nil
}
