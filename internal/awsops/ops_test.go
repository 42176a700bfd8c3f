package awsops

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"
	"github.com/aws/smithy-go"

	"github.com/bulkhead-ecs/bulkhead/internal/health"
	"github.com/bulkhead-ecs/bulkhead/internal/remedy"
)

func TestEveryAnswerIsDoneGoneTransientOrRefused(t *testing.T) {
	api := func(code, text string) error {
		return fmt.Errorf("operation error: %w", &smithy.GenericAPIError{Code: code, Message: text})
	}
	for name, c := range map[string]struct {
		err  error
		want remedy.Result
	}{
		"no error":                     {nil, remedy.Done},
		"a throttle of ECS":            {api("ThrottlingException", "Rate exceeded"), remedy.Transient},
		"a throttle of EC2":            {api("RequestLimitExceeded", ""), remedy.Transient},
		"a throttle of Auto Scaling":   {api("Throttling", "Rate exceeded"), remedy.Transient},
		"a group that is busy":         {api("ScalingActivityInProgress", ""), remedy.Transient},
		"no answer":                    {context.DeadlineExceeded, remedy.Transient},
		"a connection that broke off":  {errors.New("EOF"), remedy.Transient},
		"SSM cannot reach it":          {api("InvalidInstanceId", "Instances [[i-0a]] not in a valid state for account 1"), remedy.Transient},
		"ended long ago":               {api("InvalidInstanceID.NotFound", ""), remedy.NotFound},
		"no container instance":        {api("TargetNotFoundException", ""), remedy.NotFound},
		"not in its group":             {api("ValidationError", "The instance i-0a is not part of Auto Scaling group g."), remedy.NotFound},
		"in no group":                  {api("ValidationError", "Instance Id not found - No managed instance found for instance ID: i-0a"), remedy.NotFound},
		"the hook is over":             {api("ValidationError", "No active Lifecycle Action found with instance ID i-0a"), remedy.NotFound},
		"the task is over":             {api("InvalidParameterException", "The referenced task was not found."), remedy.NotFound},
		"the group is gone":            {api("ValidationError", "AutoScalingGroup name not found - AutoScalingGroup g not found"), remedy.Refused},
		"protected from termination":   {api("OperationNotPermitted", "may not be terminated"), remedy.Refused},
		"no permission":                {api("AccessDeniedException", ""), remedy.Refused},
		"no such document":             {api("InvalidDocument", ""), remedy.Refused},
		"another invalid parameter":    {api("InvalidParameterException", "Container instances cannot be more than 10."), remedy.Refused},
		"a validation of another kind": {api("ValidationError", "ShouldDecrementDesiredCapacity must not be null"), remedy.Refused},
	} {
		t.Run(name, func(t *testing.T) {
			if got := outcome("x", c.err); got.Result != c.want {
				t.Errorf("%s, want %s: %s", got.Result, c.want, got.Detail)
			}
		})
	}
}

func TestACommandThatNeverCameMayBeSentAgainAndOneThatRanMayNot(t *testing.T) {
	for details, want := range map[string]bool{"DeliveryTimedOut": true, "Undeliverable": true, "Terminated": true, "Success": false, "Failed": false, "ExecutionTimedOut": false, "Cancelled": false} {
		if got := undelivered(ssmtypes.CommandInvocation{StatusDetails: aws.String(details)}); got != want {
			t.Errorf("%s: %v", details, got)
		}
	}
}

func TestStatusChecksSpeakOnlyWhenSomebodyLooked(t *testing.T) {
	now := time.Date(2026, 12, 1, 3, 0, 0, 0, time.UTC)
	since := now.Add(-7 * time.Minute)
	ok := &types.InstanceStatusSummary{Status: types.SummaryStatusOk}
	bad := &types.InstanceStatusSummary{Status: types.SummaryStatusImpaired, Details: []types.InstanceStatusDetails{{Name: types.StatusNameReachability, Status: types.StatusTypeFailed, ImpairedSince: &since}}}
	unsure := &types.InstanceStatusSummary{Status: types.SummaryStatusInitializing}
	retire := types.InstanceStatusEvent{Code: types.EventCodeInstanceRetirement, NotBefore: aws.Time(now.Add(time.Hour))}
	over := types.InstanceStatusEvent{Code: types.EventCodeInstanceRetirement, Description: aws.String("[Completed] The instance is retired")}
	reboot := types.InstanceStatusEvent{Code: types.EventCodeInstanceReboot}
	for name, c := range map[string]struct {
		in             types.InstanceStatus
		check, leaving health.Reading
	}{
		"well":                    {types.InstanceStatus{InstanceStatus: ok, SystemStatus: ok}, health.Clear, health.Clear},
		"the instance is ill":     {types.InstanceStatus{InstanceStatus: bad, SystemStatus: ok}, health.Seen, health.Clear},
		"the hardware is ill":     {types.InstanceStatus{InstanceStatus: ok, SystemStatus: bad}, health.Seen, health.Clear},
		"it starts":               {types.InstanceStatus{InstanceStatus: unsure, SystemStatus: ok}, health.Unreadable, health.Clear},
		"nobody looked":           {types.InstanceStatus{}, health.Unreadable, health.Clear},
		"it is retired soon":      {types.InstanceStatus{InstanceStatus: ok, SystemStatus: ok, Events: []types.InstanceStatusEvent{retire}}, health.Clear, health.Seen},
		"that is over":            {types.InstanceStatus{InstanceStatus: ok, SystemStatus: ok, Events: []types.InstanceStatusEvent{over}}, health.Clear, health.Clear},
		"a reboot is no farewell": {types.InstanceStatus{InstanceStatus: ok, SystemStatus: ok, Events: []types.InstanceStatusEvent{reboot}}, health.Clear, health.Clear},
	} {
		t.Run(name, func(t *testing.T) {
			got := statusSignals(c.in, now)
			if got[0].Reading != c.check || got[1].Reading != c.leaving || c.check == health.Seen && !got[0].FirstSeen.Equal(since) {
				t.Errorf("%+v", got)
			}
			for _, s := range got {
				if _, err := s.Normalize(now); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
