package httpapi

import (
	"errors"
	"io"
	"net/http"

	"github.com/bulkhead-ecs/bulkhead/internal/admission"
)

// Reasons of a file that cannot be linted.
const (
	ReasonBodyTooLarge = "BodyTooLarge"
	ReasonUnreadable   = "Unreadable"
	ReasonNoTasks      = "NoTaskDefinition"
)

// LintDoc is what admission says of a file.
type LintDoc struct {
	TaskDefinitions int                 `json:"taskDefinitions"`
	Findings        []admission.Finding `json:"findings"`
	Truncated       bool                `json:"truncated"` // there are more findings than are given
}

// lintLimits keep a request far below what a function has of memory and time, and its answer below what API
// Gateway takes.
var lintLimits = admission.Limits{Bytes: 1 << 20, Nodes: 100_000}

const (
	lintFindings = 1000
	lintName     = 255
)

// lintRoutes serve POST /v1/lint: the body is a file as bulkhead lint reads it. Nothing is kept of it.
func (a *API) lintRoutes(mux *http.ServeMux) {
	check := params{"name": anyText}
	mux.HandleFunc("POST /v1/lint", a.serve(func(r *http.Request) (any, error) {
		if err := check.check(r); err != nil {
			return nil, err
		}
		return lint(r)
	}))
}

func lint(r *http.Request) (any, error) {
	name := r.URL.Query().Get("name")
	if name == "" {
		name = "-"
	}
	if len(name) > lintName {
		return nil, problem(http.StatusBadRequest, ReasonBadParameter, "name is at most 255 bytes; it is only written into the findings.")
	}
	content, err := io.ReadAll(io.LimitReader(r.Body, int64(lintLimits.Bytes)+1))
	if err != nil {
		return nil, problem(http.StatusBadRequest, ReasonUnreadable, "The body could not be read to its end; send it again.")
	}
	doc, err := admission.Read(name, content, lintLimits)
	switch {
	case errors.Is(err, admission.ErrTooLarge):
		return nil, problem(http.StatusRequestEntityTooLarge, ReasonBodyTooLarge, err.Error()+": use bulkhead lint for larger files.")
	case errors.Is(err, admission.ErrNoTasks):
		return nil, problem(http.StatusUnprocessableEntity, ReasonNoTasks, err.Error()+".")
	case err != nil:
		return nil, problem(http.StatusUnprocessableEntity, ReasonUnreadable, err.Error()+".")
	}
	out := LintDoc{TaskDefinitions: doc.Tasks(), Findings: admission.Lint(doc, admission.DefaultPolicy())}
	if out.Findings == nil {
		out.Findings = []admission.Finding{}
	}
	if len(out.Findings) > lintFindings {
		out.Findings, out.Truncated = out.Findings[:lintFindings], true
	}
	return out, nil
}
