package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3filter"
)

func TestLintAnswersByTheContractAndRefusesWithAReason(t *testing.T) {
	api, router := (&API{}).Handler(), contract(t)
	breach := `{"containerDefinitions":[{"name":"a","resourceRequirements":[{"type":"GPU","sharingStrategy":{"nvidiaMps":{"memory":0}}}]}]}`
	many := `{"containerDefinitions":[{"environment":[` + strings.Repeat(`{"name":"CUDA_VISIBLE_DEVICES"},`, 1500) + `{}],"resourceRequirements":[{"type":"GPU","sharingStrategy":{"nvidiaMps":{"memory":900}}}]}]}`
	for _, c := range []struct {
		name, path, body string
		status           int
		says             string
	}{
		{"a breach", "/v1/lint?name=x.json", breach, 200, `"rule":"BH101"`},
		{"the file's name", "/v1/lint?name=x.json", breach, 200, `"file":"x.json"`},
		{"nothing to say", "/v1/lint", `{"containerDefinitions":[{"name":"a"}]}`, 200, `"findings":[]`},
		{"YAML", "/v1/lint", "containerDefinitions: [{name: a}]", 200, `"taskDefinitions":1`},
		{"more than are given", "/v1/lint", many, 200, `"truncated":true`},
		{"too large", "/v1/lint", strings.Repeat(" ", 1<<20+1), 413, ReasonBodyTooLarge},
		{"too many values", "/v1/lint", "[" + strings.Repeat("1,", 100_001) + "1]", 413, ReasonBodyTooLarge},
		{"no JSON", "/v1/lint", `{"a":`, 422, ReasonUnreadable},
		{"nested deeply", "/v1/lint", strings.Repeat("[", 10_000), 422, ReasonUnreadable},
		{"no task definition", "/v1/lint", `{}`, 422, ReasonNoTasks},
		{"empty", "/v1/lint", "", 422, ReasonUnreadable},
		{"an unknown parameter", "/v1/lint?title=x", breach, 400, ReasonBadParameter},
		{"a long name", "/v1/lint?name=" + strings.Repeat("x", 256), breach, 400, ReasonBadParameter},
	} {
		req := httptest.NewRequest(http.MethodPost, "http://localhost"+c.path, strings.NewReader(c.body))
		req.Header.Set("Content-Type", "application/octet-stream")
		rec := httptest.NewRecorder()
		api.ServeHTTP(rec, req)
		if rec.Code != c.status || !strings.Contains(rec.Body.String(), c.says) {
			t.Errorf("%s: %d %.300s, want %d with %s", c.name, rec.Code, rec.Body, c.status, c.says)
		}
		if !json.Valid(rec.Body.Bytes()) {
			t.Errorf("%s: no JSON", c.name)
		}
		route, path, err := router.FindRoute(req)
		if err != nil {
			t.Fatal(err)
		}
		in := &openapi3filter.RequestValidationInput{Request: req, PathParams: path, Route: route}
		out := &openapi3filter.ResponseValidationInput{RequestValidationInput: in, Status: rec.Code, Header: rec.Header(),
			Body: io.NopCloser(bytes.NewReader(rec.Body.Bytes())), Options: &openapi3filter.Options{IncludeResponseStatus: true}}
		if err := openapi3filter.ValidateResponse(context.Background(), out); err != nil {
			t.Errorf("%s: the answer breaks the contract: %v", c.name, err)
		}
	}
}
