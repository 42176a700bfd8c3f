package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/aws/aws-lambda-go/events"

	bulkhead "github.com/bulkhead-ecs/bulkhead/events"
	"github.com/bulkhead-ecs/bulkhead/internal/fleet"
	"github.com/bulkhead-ecs/bulkhead/internal/httpapi"
)

type (
	request  = events.APIGatewayV2HTTPRequest
	response = events.APIGatewayV2HTTPResponse
)

// handler answers POST /v1/hosts/{id}/reports. The signer is what API Gateway's IAM
// authorizer proved, never what the request says of itself.
func handler(r *fleet.Reports) func(context.Context, request) (response, error) {
	return func(ctx context.Context, in request) (response, error) {
		body := []byte(in.Body)
		if in.IsBase64Encoded {
			var err error
			if body, err = base64.StdEncoding.DecodeString(in.Body); err != nil {
				return refuse(http.StatusBadRequest, "BadBody", "The body is not the base64 that it claims to be."), nil //nolint:nilerr // told to the caller
			}
		}
		iam := in.RequestContext.Authorizer
		if iam == nil || iam.IAM == nil {
			return refuse(http.StatusForbidden, "NoSigner", "Reports are signed by the instance's role: this route needs the IAM authorizer."), nil
		}
		who, ok := fleet.SignerOf(iam.IAM.UserARN)
		if !ok || who.Account != iam.IAM.AccountID {
			return refuse(http.StatusForbidden, "NoInstance", "Reports are signed by an instance profile's session, and this signer is none."), nil
		}
		answer, err := r.Accept(ctx, who, in.PathParameters["id"], body)
		if err != nil {
			return problemOf(ctx, r, err), nil
		}
		b, err := json.Marshal(answer)
		return response{StatusCode: http.StatusOK, Headers: map[string]string{"content-type": "application/json"}, Body: string(b)}, err
	}
}

// problemOf maps a refusal to a status. The agent drops a report at 400, 413 and
// 422 and keeps it at everything else, so only what can never be right is one.
func problemOf(ctx context.Context, r *fleet.Reports, err error) response {
	switch {
	case errors.Is(err, fleet.ErrReportForbidden):
		r.Log.WarnContext(ctx, "report forbidden", "reason", err.Error())
		return refuse(http.StatusForbidden, "NotYourInstance", "This signer may not speak for this instance.")
	case errors.Is(err, fleet.ErrReportInvalid), errors.Is(err, bulkhead.ErrHostReport):
		return refuse(http.StatusUnprocessableEntity, "BadReport", err.Error())
	case errors.Is(err, fleet.ErrReportSkewed):
		return refuse(http.StatusConflict, "ClockSkew", err.Error())
	case errors.Is(err, fleet.ErrReportUnknown):
		return refuse(http.StatusConflict, "UnknownInstance", err.Error())
	}
	r.Log.ErrorContext(ctx, "report not taken", "error", err.Error())
	return refuse(http.StatusServiceUnavailable, "NotTaken", "The report could not be kept; send it again.")
}

func refuse(status int, reason, detail string) response {
	b, _ := json.Marshal(httpapi.Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Reason: reason, Detail: detail})
	return response{StatusCode: status, Headers: map[string]string{"content-type": "application/problem+json"}, Body: string(b)}
}
