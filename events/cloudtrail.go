package events

import "encoding/json"

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

// RegisteredDefinition is the task definition as the caller of
// RegisterTaskDefinition wrote it, unread; ok is false for any other call and for
// one that ECS refused.
func (c APICall) RegisteredDefinition() (definition json.RawMessage, ok bool) {
	if c.EventName != "RegisterTaskDefinition" || c.ErrorCode != "" || len(c.Request) == 0 || c.Request[0] != '{' {
		return nil, false
	}
	return c.Request, true
}
