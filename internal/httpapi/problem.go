package httpapi

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

// Problem is an error answer (RFC 9457). Reason is a stable token; Detail is one
// sentence that says what to do.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	Reason string `json:"reason"`
	// DidYouMean lists known names near an unknown one.
	DidYouMean []string `json:"didYouMean,omitempty"`
}

// Error makes a Problem an error, so that handlers return it.
func (p Problem) Error() string { return p.Reason + ": " + p.Detail }

// Reason tokens.
const (
	ReasonUnknownCluster = "UnknownCluster"
	ReasonUnknownHost    = "UnknownHost"
	ReasonUnknownGPU     = "UnknownGPU"
	ReasonUnknownTask    = "UnknownTask"
	ReasonBeforeJournal  = "TimeBeforeJournal"
	ReasonBadCursor      = "BadCursor"
	ReasonBadParameter   = "BadParameter"
	ReasonNoRoute        = "NoSuchRoute"
	ReasonMethod         = "MethodNotAllowed"
	ReasonBusy           = "StoreThrottled"
	ReasonInternal       = "Internal"
)

func problem(status int, reason, detail string) Problem {
	return Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail, Reason: reason}
}

// problemOf maps an error to its answer. What is not expected is not shown: it is
// logged by the caller and answered with a sentence without inner detail.
func problemOf(err error) Problem {
	var p Problem
	switch {
	case errors.As(err, &p):
		return p
	case errors.Is(err, ledger.ErrCursor):
		return problem(http.StatusBadRequest, ReasonBadCursor, "This cursor is not one of this listing; start again without a cursor.")
	case errors.Is(err, ledger.ErrThrottled):
		return problem(http.StatusServiceUnavailable, ReasonBusy, "The ledger's table is throttled; try again in a few seconds.")
	}
	return problem(http.StatusInternalServerError, ReasonInternal, "The ledger could not be read; the function's log has the error.")
}

func writeProblem(w http.ResponseWriter, p Problem) {
	w.Header().Set("Content-Type", "application/problem+json")
	if p.Status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "2")
	}
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p)
}
