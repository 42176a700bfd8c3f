package events

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// EC2State is the detail of "EC2 Instance State-change Notification".
type EC2State struct {
	InstanceID Text `json:"instance-id"`
	State      Text `json:"state"`
}

func (EC2State) isDetail() {}

// SpotInterruption is the detail of "EC2 Spot Instance Interruption Warning", two
// minutes ahead, best effort.
type SpotInterruption struct {
	InstanceID Text `json:"instance-id"`
	Action     Text `json:"instance-action"`
}

func (SpotInterruption) isDetail() {}

// Rebalance is the detail of "EC2 Instance Rebalance Recommendation".
type Rebalance struct {
	InstanceID Text `json:"instance-id"`
}

func (Rebalance) isDetail() {}

// Lifecycle is the detail of Auto Scaling's lifecycle actions, launch and
// terminate. Best effort.
type Lifecycle struct {
	Token                Text `json:"LifecycleActionToken"`
	AutoScalingGroupName Text `json:"AutoScalingGroupName"`
	HookName             Text `json:"LifecycleHookName"`
	EC2InstanceID        Text `json:"EC2InstanceId"`
	Transition           Text `json:"LifecycleTransition"`
	Metadata             Text `json:"NotificationMetadata"`
	Origin               Text `json:"Origin"`
	Destination          Text `json:"Destination"`
}

func (Lifecycle) isDetail() {}

// Terminating reports whether the instance is on its way out.
func (l Lifecycle) Terminating() bool { return l.Transition == "autoscaling:EC2_INSTANCE_TERMINATING" }

// SSMCommand is the detail of Run Command's status changes, of the command as a
// whole (InstanceID empty) or of one instance. Best effort.
type SSMCommand struct {
	CommandID    Text       `json:"command-id"`
	DocumentName Text       `json:"document-name"`
	InstanceID   Text       `json:"instance-id"`
	Status       Text       `json:"status"`
	ExpireAfter  Time       `json:"expire-after"`
	RequestedAt  Time       `json:"requested-date-time"`
	Parameters   Parameters `json:"parameters"`
}

func (SSMCommand) isDetail() {}

// SSMAssociation is the detail of State Manager's association state changes.
type SSMAssociation struct {
	AssociationID Text `json:"association-id"`
	InstanceID    Text `json:"instance-id"`
	Status        Text `json:"status"`
	DocumentName  Text `json:"document-name"`
}

func (SSMAssociation) isDetail() {}

// Parameters reads the parameters of a command, which come as an object or as the
// same object in text, depending on their age.
type Parameters map[string]Texts

// UnmarshalJSON reads them.
func (p *Parameters) UnmarshalJSON(b []byte) error {
	*p = nil
	if len(b) > 0 && b[0] == '"' {
		var s string
		if err := json.Unmarshal(b, &s); err != nil {
			return err
		}
		if b = []byte(s); len(bytes.TrimSpace(b)) == 0 {
			return nil
		}
	}
	var m map[string]Texts
	if err := json.Unmarshal(b, &m); err != nil {
		return fmt.Errorf("neither an object of lists nor one in text")
	}
	*p = m
	return nil
}

// AWSHealth is the detail of "AWS Health Event". The event's Region is here, not
// in the envelope; doubles have the same EventArn and CommunicationID.
type AWSHealth struct {
	EventArn        Text             `json:"eventArn"`
	Service         Text             `json:"service"`
	TypeCode        Text             `json:"eventTypeCode"`
	TypeCategory    Text             `json:"eventTypeCategory"`
	CommunicationID Text             `json:"communicationId"`
	StatusCode      Text             `json:"statusCode"`
	EventRegion     Text             `json:"eventRegion"`
	StartTime       Time             `json:"startTime"`
	EndTime         Time             `json:"endTime"`
	LastUpdatedTime Time             `json:"lastUpdatedTime"`
	Entities        []AffectedEntity `json:"affectedEntities"`
}

// AffectedEntity is what the event is about, such as an instance id.
type AffectedEntity struct {
	Value  Text `json:"entityValue"`
	Status Text `json:"status"`
}

func (AWSHealth) isDetail() {}

// APICall is the detail of "AWS API Call via CloudTrail". TaskDefinition is set for
// a RegisterTaskDefinition that succeeded, as ECS answered it.
type APICall struct {
	EventSource      Text            `json:"eventSource"`
	EventName        Text            `json:"eventName"`
	ErrorCode        Text            `json:"errorCode"`
	Region           Text            `json:"awsRegion"`
	RequestID        Text            `json:"requestID"`
	Request          json.RawMessage `json:"requestParameters"`
	ResponseElements struct {
		TaskDefinition json.RawMessage `json:"taskDefinition"`
	} `json:"responseElements"`
}

func (APICall) isDetail() {}
