// Package sim models an ECS fleet of shared GPUs in virtual time.
//
// It models ECS, EC2, Auto Scaling, Systems Manager, the ECS agent and the host, never
// Bulkhead: of this project it knows only the vocabulary. A Fleet is made with a seed
// and a start; Advance plays what is due in the order (time, sequence) and returns the
// events that EventBridge would carry. The same seed and calls give the same bytes.
// Nothing runs by itself: there is no goroutine, no wall clock and no global state.
//
// ECS's own books and what the agent holds are kept apart, since they differ: ECS
// frees a task's memory when its desired status becomes STOPPED, the agent only
// when its containers are gone. A task placed in between waits PENDING.
//
// What a caller uses, by theme:
//
//   - time: New, Advance, Now, Emitted
//   - hosts: Launch, Host, ContainerInstance, Hosts, Drain, Deregister; as EC2 instances: Instance, Instances,
//     Terminate, StopInstance, StartInstance, Reboot
//   - Auto Scaling: CreateGroup, Group, Groups, Group.Members, Resize, Suspend,
//     TerminateInGroup, Detach, ProtectFromScaleIn; its hooks: PutHook, Host.Waits,
//     CompleteLifecycle, Heartbeat. A Host tells its Group, Lifecycle and
//     ScaleInProtected.
//   - Run Command: RegisterDocument (what a document does is the caller's), Send,
//     Command, Commands, Cancel; Host.SSMOffline makes its agent deaf
//   - tasks: RegisterDefinition, Definition, Run (once a token: Ran, KeepRan), Start,
//     Stop, Protect, Task, Tasks, Stopped; services: CreateService, Service,
//     Services, UpdateService, Constrain, DeleteService; placement: Constraint, CheckConstraints, ParseQuery
//   - MPS and cards: Host.Server, Host.Processes, Card.Used, RestartMPS,
//     TerminateClients; what a container really does is in its Container
//   - capacity providers: CreateProvider, Providers, Provider.Hosts, Host.Managed
//   - faults: Inject, FaultKinds, FurtherKinds
//   - the truth to compare with: Truth, Host, Card.Booked
//
// Refusals are *Error with AWS's own code. README.md says what is modelled, and what
// is unknown and so can be chosen.
package sim
