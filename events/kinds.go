package events

import "encoding/json"

// kinds is the closed set.
var kinds = map[kind]func(json.RawMessage) (Detail, error){
	{"aws.ecs", "ECS Task State Change"}:                               readTask,
	{"aws.ecs", "ECS Container Instance State Change"}:                 detailAs[ContainerInstanceState],
	{"aws.ecs", "ECS Container Instance Health Change"}:                detailAs[ContainerInstanceHealth],
	{"aws.ecs", "ECS Service Action"}:                                  detailAs[ServiceAction],
	{"aws.ecs", "ECS Deployment State Change"}:                         detailAs[DeploymentState],
	{"aws.ecs", "AWS API Call via CloudTrail"}:                         detailAs[APICall],
	{"aws.ec2", "EC2 Instance State-change Notification"}:              detailAs[EC2State],
	{"aws.ec2", "EC2 Spot Instance Interruption Warning"}:              detailAs[SpotInterruption],
	{"aws.ec2", "EC2 Instance Rebalance Recommendation"}:               detailAs[Rebalance],
	{"aws.autoscaling", "EC2 Instance-terminate Lifecycle Action"}:     detailAs[Lifecycle],
	{"aws.autoscaling", "EC2 Instance-launch Lifecycle Action"}:        detailAs[Lifecycle],
	{"aws.ssm", "EC2 Command Status-change Notification"}:              detailAs[SSMCommand],
	{"aws.ssm", "EC2 Command Invocation Status-change Notification"}:   detailAs[SSMCommand],
	{"aws.ssm", "EC2 State Manager Instance Association State Change"}: detailAs[SSMAssociation],
	{"aws.health", "AWS Health Event"}:                                 detailAs[AWSHealth],
	{SourceBulkhead, TypeShare}:                                        detailAs[ShareChange],
	{SourceBulkhead, TypeHost}:                                         detailAs[HostChange],
	{SourceBulkhead, TypeFinding}:                                      detailAs[FindingChange],
	{SourceBulkhead, TypePlacement}:                                    detailAs[PlacementChange],
	{SourceBulkhead, TypeCase}:                                         detailAs[CaseChange],
	{SourceBulkhead, TypeAdmission}:                                    detailAs[AdmissionFinding],
	{SourceBulkhead, TypeBreaker}:                                      detailAs[BreakerChange],
}
