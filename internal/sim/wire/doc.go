// Package wire is the HTTP face of a simulated fleet: it answers real AWS SDK
// clients of ECS, Auto Scaling, EC2 and Systems Manager that are pointed at it by
// BaseEndpoint, all four at one address.
//
// ECS and Systems Manager are spoken as AWS JSON 1.1, Auto Scaling and EC2 in the
// query protocol, with their pages, limits and error codes; ECS has its token buckets
// besides. What a call does is decided by the fleet; here it is only read and
// written. Calls can be troubled one by one (Fault) and reads be late (Lag). A Server
// serves one fleet and holds its lock, since a Fleet belongs to one
// caller at a time: use Do to touch the fleet while calls are served.
//
// The calls:
//
//   - ECS: ListClusters, DescribeClusters, ListContainerInstances,
//     DescribeContainerInstances, UpdateContainerInstancesState,
//     DeregisterContainerInstance, PutAttributes, DeleteAttributes, ListAttributes,
//     ListTasks, DescribeTasks, RunTask, StartTask, StopTask, GetTaskProtection,
//     UpdateTaskProtection, RegisterTaskDefinition, DescribeTaskDefinition,
//     CreateService, UpdateService, DeleteService, DescribeServices, ListServices,
//     DescribeCapacityProviders
//   - Auto Scaling: DescribeAutoScalingGroups, DescribeAutoScalingInstances,
//     DescribeLifecycleHooks, PutLifecycleHook, DetachInstances,
//     TerminateInstanceInAutoScalingGroup, SetInstanceProtection,
//     CompleteLifecycleAction, RecordLifecycleActionHeartbeat, SetDesiredCapacity,
//     UpdateAutoScalingGroup, SuspendProcesses, ResumeProcesses
//   - EC2: DescribeInstances, DescribeInstanceStatus, DescribeInstanceAttribute and
//     ModifyInstanceAttribute (disableApiTermination), TerminateInstances,
//     StopInstances, StartInstances, RebootInstances, CreateTags
//   - Systems Manager: SendCommand, GetCommandInvocation, ListCommandInvocations,
//     ListCommands, CancelCommand, DescribeInstanceInformation. A document does what
//     the caller gave to Fleet.RegisterDocument.
package wire
