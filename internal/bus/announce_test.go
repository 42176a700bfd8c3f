package bus

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"github.com/bulkhead-ecs/bulkhead/events"
)

// refusing takes entries and refuses the one with this text in it.
type refusing struct {
	text  string
	calls []int
}

func (r *refusing) PutEvents(_ context.Context, in *eventbridge.PutEventsInput, _ ...func(*eventbridge.Options)) (*eventbridge.PutEventsOutput, error) {
	r.calls = append(r.calls, len(in.Entries))
	out := &eventbridge.PutEventsOutput{}
	for _, e := range in.Entries {
		res := types.PutEventsResultEntry{EventId: aws.String("1")}
		if r.text != "" && strings.Contains(*e.Detail, r.text) {
			res = types.PutEventsResultEntry{ErrorCode: aws.String("InternalFailure")}
			out.FailedEntryCount++
		}
		if *e.DetailType != events.TypeAdmission || *e.Source != events.SourceBulkhead {
			return nil, fmt.Errorf("%s of %s", *e.DetailType, *e.Source)
		}
		out.Entries = append(out.Entries, res)
	}
	return out, nil
}

func TestAnnouncementsGoByTenAndOneRefusedFailsTheCall(t *testing.T) {
	var details []events.Own
	for i := range 23 {
		details = append(details, events.AdmissionFinding{OwnHead: events.OwnHead{ID: fmt.Sprintf("id-%d", i)}, TaskDefinitionArn: "d", Rule: "BH101"})
	}
	api := &refusing{}
	b := &Bus{API: api, Name: "n"}
	if err := b.Announce(t.Context(), time.Unix(0, 0), details); err != nil || fmt.Sprint(api.calls) != "[10 10 3]" {
		t.Errorf("%v %v", api.calls, err)
	}
	api.text = "id-15"
	if err := b.Announce(t.Context(), time.Unix(0, 0), details); err == nil || !strings.Contains(err.Error(), "InternalFailure") {
		t.Errorf("%v", err)
	}
}
