package events

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
