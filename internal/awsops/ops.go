package awsops

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/smithy-go"
	"golang.org/x/time/rate"

	"github.com/bulkhead-ecs/bulkhead/internal/remediate"
	"github.com/bulkhead-ecs/bulkhead/internal/remedy"
)

// DefaultHook is the name of the lifecycle hook that is Bulkhead's to hold.
const DefaultHook = "bulkhead-drain"

// Ops implements remediate.Eyes, Hands and Checks for one account and Region.
type Ops struct {
	ECS    *ecs.Client
	EC2    *ec2.Client
	Groups *autoscaling.Client
	SSM    *ssm.Client
	S3     *s3.Client // optional with Bucket: without, no evidence is kept
	Bucket string     // of the evidence
	Hook   string     // name of Bulkhead's own lifecycle hook
	Clock  func() time.Time
	// Modify bounds what is spent of ECS's modify bucket (100 at once, 40 a second, for
	// the whole account); nil does not.
	Modify *rate.Limiter
}

// ModifyBudget leaves most of ECS's modify bucket to services and people.
func ModifyBudget() *rate.Limiter { return rate.NewLimiter(8, 20) }

// callTimeout bounds one call with the SDK's retries.
const callTimeout = 15 * time.Second

// code is the API's word for an error; empty for one that is none of the API's.
func code(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}

func message(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorMessage()
	}
	return ""
}

// Codes by which services refuse for now. Source: "Common errors" of each API, and
// EC2's and Auto Scaling's own lists.
var transientCodes = []string{
	"Throttling", "ThrottlingException", "ThrottledException", "RequestLimitExceeded", "TooManyRequestsException", "SlowDown", "RequestThrottled",
	"InternalError", "InternalFailure", "InternalServerError", "ServerException", "ServiceUnavailable", "Unavailable", "RequestTimeout", "RequestExpired",
	"ResourceContention", "ScalingActivityInProgress", "ServiceLinkedRoleFailure", "IncorrectInstanceState", "InvalidInstanceId", "ExpiredTokenException", "ExpiredToken",
}

// Codes by which services say that what should go is gone.
var goneCodes = []string{"InvalidInstanceID.NotFound", "TargetNotFoundException", "MISSING"}

// outcome sorts the answer of a call.
func outcome(what string, err error) remediate.Outcome {
	if err == nil {
		return remediate.Outcome{Result: remedy.Done}
	}
	detail := fmt.Sprintf("%s: %s", what, describe(err))
	c, text := code(err), message(err)
	switch {
	case c == "" || slices.Contains(transientCodes, c): // no answer at all: its effect may be there
		return remediate.Outcome{Result: remedy.Transient, Detail: detail}
	case slices.Contains(goneCodes, c), goneText(c, text):
		return remediate.Outcome{Result: remedy.NotFound, Detail: detail}
	}
	return remediate.Outcome{Result: remedy.Refused, Detail: detail}
}

// goneText reads the errors whose code says too little. Auto Scaling answers all of
// these with ValidationError, ECS with InvalidParameterException.
func goneText(code, text string) bool {
	text = strings.ToLower(text)
	switch code {
	case "ValidationError":
		return strings.Contains(text, "instance id not found") || strings.Contains(text, "is not part of auto scaling group") ||
			strings.Contains(text, "not in auto scaling group") || strings.Contains(text, "no active lifecycle action found")
	case "InvalidParameterException":
		return strings.Contains(text, "task was not found")
	}
	return false
}

// describe is an error in one line, without the SDK's frame around it.
func describe(err error) string {
	if c := code(err); c != "" {
		return c + ": " + message(err)
	}
	return strings.Join(strings.Fields(err.Error()), " ")
}

// spend waits for room in ECS's modify bucket.
func (o *Ops) spend(ctx context.Context) error {
	if o.Modify == nil {
		return nil
	}
	return o.Modify.Wait(ctx)
}

var (
	_ remediate.Eyes   = (*Ops)(nil)
	_ remediate.Hands  = (*Ops)(nil)
	_ remediate.Checks = (*Ops)(nil)
)
