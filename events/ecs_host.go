package events

// ContainerInstanceState is the detail of "ECS Container Instance State Change".
// It tells the registered cards as the GPU string set, never their memory.
type ContainerInstanceState struct {
	ClusterArn           Text        `json:"clusterArn"`
	ContainerInstanceArn Text        `json:"containerInstanceArn"`
	EC2InstanceID        Text        `json:"ec2InstanceId"`
	CapacityProviderName Text        `json:"capacityProviderName"`
	Status               Text        `json:"status"`
	StatusReason         Text        `json:"statusReason"`
	AgentConnected       Bool        `json:"agentConnected"`
	Version              Int         `json:"version"`
	RegisteredAt         Time        `json:"registeredAt"`
	UpdatedAt            Time        `json:"updatedAt"`
	VersionInfo          VersionInfo `json:"versionInfo"`
	Attributes           []Attribute `json:"attributes"`
	RegisteredResources  []Resource  `json:"registeredResources"`
}

// VersionInfo is of the agent on the instance.
type VersionInfo struct {
	AgentVersion  Text `json:"agentVersion"`
	DockerVersion Text `json:"dockerVersion"`
}

// Attribute of a container instance.
type Attribute struct {
	Name  Text `json:"name"`
	Value Text `json:"value"`
}

// Resource of a container instance; only string sets are read.
type Resource struct {
	Name           Text  `json:"name"`
	Type           Text  `json:"type"`
	StringSetValue Texts `json:"stringSetValue"`
}

func (ContainerInstanceState) isDetail() {}

// ContainerInstanceHealth is the detail of "ECS Container Instance Health Change".
// It has no version: each check is ordered by its own lastStatusChange.
type ContainerInstanceHealth struct {
	ClusterArn           Text          `json:"clusterArn"`
	ContainerInstanceArn Text          `json:"containerInstanceArn"`
	CapacityProviderName Text          `json:"capacityProviderName"`
	EC2InstanceID        Text          `json:"ec2InstanceId"`
	OverallStatus        Text          `json:"overallStatus"`
	HealthChecks         []HealthCheck `json:"healthChecks"`
}

// HealthCheck is one check of it.
type HealthCheck struct {
	Type             Text `json:"type"`
	Status           Text `json:"status"`
	StatusReason     Text `json:"statusReason"`
	LastStatusChange Time `json:"lastStatusChange"`
	LastUpdated      Time `json:"lastUpdated"`
}

func (ContainerInstanceHealth) isDetail() {}

// ServiceAction is the detail of "ECS Service Action"; its resource is the service.
type ServiceAction struct {
	EventType             Text  `json:"eventType"`
	EventName             Text  `json:"eventName"`
	ClusterArn            Text  `json:"clusterArn"`
	CreatedAt             Time  `json:"createdAt"`
	Reason                Text  `json:"reason"`
	DesiredCount          Int   `json:"desiredCount"`
	TaskArns              Texts `json:"taskArns"`
	ContainerInstanceArns Texts `json:"containerInstanceArns"`
	CapacityProviderArns  Texts `json:"capacityProviderArns"`
}

func (ServiceAction) isDetail() {}

// DeploymentState is the detail of "ECS Deployment State Change".
type DeploymentState struct {
	EventType    Text `json:"eventType"`
	EventName    Text `json:"eventName"`
	DeploymentID Text `json:"deploymentId"`
	UpdatedAt    Time `json:"updatedAt"`
	Reason       Text `json:"reason"`
}

func (DeploymentState) isDetail() {}
