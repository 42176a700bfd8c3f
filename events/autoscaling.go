package events

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
