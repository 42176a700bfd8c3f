// Package gateway lets an http.Handler answer API Gateway HTTP API requests
// (payload version 2.0). Who signed is what the gateway's IAM authorizer proved.
package gateway

import (
	"bytes"
	"context"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"github.com/bulkhead-ecs/bulkhead/internal/httpapi"
)

// MaxBody bounds a request's body.
const MaxBody = 1 << 20

// Handler makes a Lambda handler of an http.Handler. An answer over Lambda's
// 6 MB is refused by API Gateway; lists are paged well under it.
func Handler(h http.Handler) func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
	return func(ctx context.Context, in events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		req, err := request(ctx, in)
		if err != nil {
			return events.APIGatewayV2HTTPResponse{StatusCode: http.StatusBadRequest, Body: "the request cannot be read"}, nil //nolint:nilerr // the caller is told; an error here would be our own failure
		}
		w := &recorder{header: http.Header{}, status: http.StatusOK}
		h.ServeHTTP(w, req)
		out := events.APIGatewayV2HTTPResponse{StatusCode: w.status, Headers: map[string]string{}, Body: w.body.String()}
		for k := range w.header {
			out.Headers[strings.ToLower(k)] = w.header.Get(k)
		}
		return out, nil
	}
}

func request(ctx context.Context, in events.APIGatewayV2HTTPRequest) (*http.Request, error) {
	body := []byte(in.Body)
	if in.IsBase64Encoded {
		var err error
		if body, err = base64.StdEncoding.DecodeString(in.Body); err != nil {
			return nil, err
		}
	}
	if len(body) > MaxBody {
		body = body[:MaxBody+1] // the handler's own bound refuses it
	}
	path := in.RawPath
	if stage := in.RequestContext.Stage; stage != "" && stage != "$default" {
		path = strings.TrimPrefix(path, "/"+stage)
	}
	u := &url.URL{Path: path, RawQuery: in.RawQueryString}
	if plain, err := url.PathUnescape(path); err == nil {
		u.Path, u.RawPath = plain, path
	}
	req, err := http.NewRequestWithContext(ctx, in.RequestContext.HTTP.Method, "http://api"+u.RequestURI(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for k, v := range in.Headers {
		req.Header.Set(k, v)
	}
	req.RemoteAddr = in.RequestContext.HTTP.SourceIP
	if who := in.RequestContext.Authorizer; who != nil && who.IAM != nil && who.IAM.UserARN != "" {
		req = req.WithContext(httpapi.WithActor(req.Context(), who.IAM.UserARN))
	}
	return req, nil
}

// recorder keeps an answer.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) Write(b []byte) (int, error) { return r.body.Write(b) }
func (r *recorder) WriteHeader(status int)      { r.status = status }
