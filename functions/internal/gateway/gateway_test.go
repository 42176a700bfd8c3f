package gateway

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/aws/aws-lambda-go/events"
)

func TestARequestArrivesAsItWasSentAndTheAnswerGoesBackWhole(t *testing.T) {
	h := Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("ETag", `"x"`)
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprintf(w, "%s %s %s %s %q", r.Method, r.URL.Path, r.URL.Query().Get("a"), r.Header.Get("If-None-Match"), body)
	}))
	for name, c := range map[string]struct {
		in   events.APIGatewayV2HTTPRequest
		want string
	}{
		"plain":         {request2("GET", "/v1/clusters", "a=b%20c", "", false, "$default"), `GET /v1/clusters b c "tag" ""`},
		"stage":         {request2("GET", "/prod/v1/clusters", "", "", false, "prod"), `GET /v1/clusters  "tag" ""`},
		"escaped slash": {request2("GET", "/v1/clusters/arn%3Aaws%2Fx/hosts", "", "", false, "$default"), `GET /v1/clusters/arn:aws/x/hosts  "tag" ""`},
		"base64":        {request2("POST", "/v1/x", "", base64.StdEncoding.EncodeToString([]byte{0, 1}), true, "$default"), `POST /v1/x  "tag" "\x00\x01"`},
	} {
		out, err := h(context.Background(), c.in)
		if err != nil || out.StatusCode != http.StatusTeapot || out.Body != c.want || out.Headers["etag"] != `"x"` {
			t.Errorf("%s: %v %+v, want %s", name, err, out, c.want)
		}
	}
	bad, err := h(context.Background(), request2("GET", "/", "", "%%%", true, "$default"))
	if err != nil || bad.StatusCode != http.StatusBadRequest {
		t.Errorf("unreadable body: %v %+v", err, bad)
	}
}

func request2(method, path, query, body string, base64 bool, stage string) events.APIGatewayV2HTTPRequest {
	return events.APIGatewayV2HTTPRequest{RawPath: path, RawQueryString: query, Body: body, IsBase64Encoded: base64, Headers: map[string]string{"if-none-match": `"tag"`},
		RequestContext: events.APIGatewayV2HTTPRequestContext{Stage: stage, HTTP: events.APIGatewayV2HTTPRequestContextHTTPDescription{Method: method}}}
}
