package events

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
