package health

// Kind names what a signal is about. The set is closed: conditions.yaml has one
// row for each kind but Xid, whose rows are by code in xid.yaml.
type Kind string

// KindXid is an Xid of the driver; Signal.Code holds the number.
const KindXid Kind = "Xid"

// KindReport is a heartbeat: it says only that its witness lives.
const KindReport Kind = "Report"

// KindSetHealthy is a person's word that a card or host is well: every condition
// of the subject last seen at or before it is cleared.
const KindSetHealthy Kind = "SetHealthy"

// Kinds of cards.
const (
	KindGPULost          Kind = "GpuLost"
	KindResetRequired    Kind = "ResetRequired"
	KindECCUncorrectable Kind = "EccUncorrectable"
	KindSRAMThreshold    Kind = "SramThreshold"
	KindRemapPending     Kind = "RowRemapPending"
	KindRemapFailure     Kind = "RowRemapFailure"
	KindRemapCount       Kind = "RowRemapCount"
	KindRetiredPending   Kind = "RetiredPagesPending"
	KindRetiredPages     Kind = "RetiredPages"
	KindNVLink           Kind = "NvLinkError"
	KindPCIe             Kind = "PcieDegraded"
	KindThrottle         Kind = "ClockThrottle"
	KindThermal          Kind = "ThermalMargin"
	KindPower            Kind = "PowerViolation"
	KindForeignProcess   Kind = "ForeignProcess"
	KindTotalChanged     Kind = "TotalMemoryChanged"
)

// Kinds of hosts.
const (
	KindCountMismatch     Kind = "GpuCountMismatch"
	KindFabricManager     Kind = "FabricManagerDown"
	KindDriverMismatch    Kind = "DriverMismatch"
	KindPersistenceOff    Kind = "PersistenceOff"
	KindECSImpaired       Kind = "EcsAcceleratedComputeImpaired"
	KindNVMLUnresponsive  Kind = "NvmlUnresponsive"
	KindDState            Kind = "DStateProcess"
	KindAgentSilent       Kind = "AgentSilent"
	KindAgentDisconnected Kind = "EcsAgentDisconnected"
	KindMonitorLost       Kind = "MonitorLost"
	KindSourceBroken      Kind = "EventSourceBroken"
	KindSSMLost           Kind = "SsmConnectionLost"
	KindEC2Status         Kind = "Ec2StatusCheckFailed"
	KindSilenceConfirmed  Kind = "SilenceConfirmed"
	KindRetirement        Kind = "AwsHealthRetirement"
	KindSpotInterruption  Kind = "SpotInterruption"
	KindSpotRebalance     Kind = "SpotRebalance"
	KindASGTerminating    Kind = "AsgTerminating"
)

// Kinds of MPS.
const (
	KindMPSControlDead    Kind = "MpsControlDead"
	KindMPSPipeDirectory  Kind = "MpsPipeDirectory"
	KindMPSBypass         Kind = "MpsBypass"
	KindMPSRecovering     Kind = "MpsRecovering"
	KindMPSFault          Kind = "MpsServerFault"
	KindMPSServerExits    Kind = "MpsServerExits"
	KindMPSWorkerHung     Kind = "MpsClientPending"
	KindMPSLimitUnset     Kind = "MpsLimitUnset"
	KindMPSSoftCeiling    Kind = "MpsSoftCeiling"
	KindMPSClientsFull    Kind = "MpsClientsFull"
	KindMPSClientKilled   Kind = "MpsClientKilled"
	KindMPSComputeMode    Kind = "MpsComputeMode"
	KindMPSLogGrowth      Kind = "MpsLogGrowth"
	KindMPSProtocol       Kind = "MpsProtocolVersion"
	KindGateUnavailable   Kind = "MpsStartGateUnavailable"
	KindGateNotResponding Kind = "MpsStartGateNotResponding"
	KindGateUnverified    Kind = "MpsStartGateUnverified"
)

var kinds = []Kind{
	KindGPULost, KindResetRequired, KindECCUncorrectable, KindSRAMThreshold, KindRemapPending,
	KindRemapFailure, KindRemapCount, KindRetiredPending, KindRetiredPages, KindNVLink, KindPCIe,
	KindThrottle, KindThermal, KindPower, KindForeignProcess, KindTotalChanged,
	KindCountMismatch, KindFabricManager, KindDriverMismatch, KindPersistenceOff, KindECSImpaired,
	KindNVMLUnresponsive, KindDState, KindAgentSilent, KindAgentDisconnected, KindMonitorLost,
	KindSourceBroken, KindSSMLost, KindEC2Status, KindSilenceConfirmed, KindRetirement,
	KindSpotInterruption, KindSpotRebalance, KindASGTerminating,
	KindMPSControlDead, KindMPSPipeDirectory, KindMPSBypass, KindMPSRecovering, KindMPSFault,
	KindMPSServerExits, KindMPSWorkerHung, KindMPSLimitUnset, KindMPSSoftCeiling, KindMPSClientsFull,
	KindMPSClientKilled, KindMPSComputeMode, KindMPSLogGrowth, KindMPSProtocol,
	KindGateUnavailable, KindGateNotResponding, KindGateUnverified,
}
