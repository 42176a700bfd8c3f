package remedy

// State is where a case stands.
type State string

// The states of a case. Closed and Cancelled are final. Blocked remembers the
// state it came from and is judged again at every Next.
const (
	Open        State = "Open"
	Quarantined State = "Quarantined"
	Draining    State = "Draining"
	Evidence    State = "Evidence"
	Replacing   State = "Replacing"
	Verifying   State = "Verifying"
	Closed      State = "Closed"
	Cancelled   State = "Cancelled"
	Blocked     State = "Blocked"
)

// Final reports whether nothing follows.
func (s State) Final() bool { return s == Closed || s == Cancelled }

// Mode says how far Bulkhead may go.
type Mode string

// From seeing only to acting. The global mode is a ceiling: a rule's own mode can
// lower it for that rule and never raise it.
const (
	Observe   Mode = "observe"
	Recommend Mode = "recommend"
	Act       Mode = "act"
)

var modeRank = map[Mode]int{Observe: 0, Recommend: 1, Act: 2}

// lower returns the more careful of the two modes.
func (m Mode) lower(o Mode) Mode {
	if modeRank[o] < modeRank[m] {
		return o
	}
	return m
}

// Blocker says, in one stable word, why a case does not move.
type Blocker string

// The closed set of blockers. Text with names and numbers goes beside them.
const (
	BlockObserve        Blocker = "ObserveMode"
	BlockRecommend      Blocker = "RecommendMode"
	BlockPaused         Blocker = "Paused"
	BlockHeld           Blocker = "HeldByPerson"
	BlockOptOut         Blocker = "OptedOut"
	BlockNoRule         Blocker = "NoRule"
	BlockManaged        Blocker = "ManagedByECS"
	BlockBreaker        Blocker = "BreakerOpen"
	BlockBudget         Blocker = "BudgetSpent"
	BlockMinHealthy     Blocker = "BelowMinHealthy"
	BlockPerson         Blocker = "NeedsPerson"
	BlockDrain          Blocker = "DrainDeadline"
	BlockProtected      Blocker = "TaskProtected"
	BlockStandalone     Blocker = "StandaloneTask"
	BlockEvidence       Blocker = "EvidenceMissing"
	BlockGroupVanished  Blocker = "GroupVanished"
	BlockNotInGroup     Blocker = "NotInGroup"
	BlockLaunch         Blocker = "LaunchSuspended"
	BlockTerminate      Blocker = "TerminationProtected"
	BlockNewcomer       Blocker = "NewcomerMissing"
	BlockNewcomerFailed Blocker = "NewcomerFailed"
	BlockStep           Blocker = "StepFails"
	BlockHook           Blocker = "HookLimit"
)

// Besides blockers, what Confirm can answer.
const (
	RefuseOver     Blocker = "CaseOver"
	RefuseMoved    Blocker = "CaseMoved"
	RefuseCured    Blocker = "Cured"
	RefuseNotOurs  Blocker = "NotOurs"
	RefuseOccupied Blocker = "StillOccupied"
	RefuseIdentity Blocker = "OtherHost"
)

// Outcome says how a case ended.
type Outcome string

// The ends of a case.
const (
	Recovered  Outcome = "Recovered"  // the fault cleared; the host serves again
	CordonLeft Outcome = "CordonLeft" // cleared, and a cordon that may be a person's stays
	Replaced   Outcome = "Replaced"   // a newcomer serves in its place
	Departed   Outcome = "Departed"   // a planned departure is done
	Gone       Outcome = "Gone"       // somebody else ended the instance
	ByPerson   Outcome = "ByPerson"   // cancelled, uncordoned or opted out
)

// StepKind names one thing that an adapter can do.
type StepKind string

// The steps. Those that notify change nothing but people's minds.
const (
	StepDrain            StepKind = "Drain"            // UpdateContainerInstancesState DRAINING
	StepUndrain          StepKind = "Undrain"          // … ACTIVE, only where the cordon is ours
	StepMark             StepKind = "Mark"             // PutAttributes bulkhead.cordon = case id, bulkhead.admit = false
	StepUnmark           StepKind = "Unmark"           // DeleteAttributes of our own marks
	StepRestartMPS       StepKind = "RestartMps"       // SSM document Bulkhead-MpsRestart
	StepTerminateClients StepKind = "TerminateClients" // SSM document Bulkhead-TerminateClients
	StepStopTask         StepKind = "StopTask"         // ECS StopTask
	StepEvidence         StepKind = "CollectEvidence"  // SSM document Bulkhead-Evidence
	StepReboot           StepKind = "Reboot"           // EC2 RebootInstances
	StepDetach           StepKind = "Detach"           // DetachInstances, desired capacity kept: the group launches
	StepTerminateInGroup StepKind = "TerminateInGroup" // TerminateInstanceInAutoScalingGroup, desired capacity kept
	StepTerminate        StepKind = "Terminate"        // TerminateInstances of a detached one
	StepHeartbeat        StepKind = "HookHeartbeat"    // RecordLifecycleActionHeartbeat
	StepCompleteHook     StepKind = "CompleteHook"     // CompleteLifecycleAction CONTINUE
	StepRecommend        StepKind = "Recommend"        // notify: what would be done
	StepPage             StepKind = "Page"             // notify: a person must look
)

// notifies reports whether the step touches nothing.
func (k StepKind) notifies() bool { return k == StepRecommend || k == StepPage }
