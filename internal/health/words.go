package health

import (
	"fmt"
	"slices"
)

// Level is how well a card or a host is, from best to worst.
type Level uint8

// The five levels. Unknown stands between suspect and degraded: nobody can say,
// so no new sharing task is placed, and nothing is destroyed either.
const (
	Healthy Level = iota
	Suspect
	Unknown
	Degraded
	Failed
)

var levelNames = [...]string{"healthy", "suspect", "unknown", "degraded", "failed"}

// String returns the word used in the API, in events and in tables.
func (l Level) String() string {
	if int(l) < len(levelNames) {
		return levelNames[l]
	}
	return "invalid"
}

// Action is what a reason asks for, from weak to strong.
type Action string

// The closed set of default actions.
const (
	Ignore      Action = "IGN"   // count only
	Application Action = "APP"   // the task is suspect: attribute, let ECS restart it
	Watch       Action = "WATCH" // a repeat rule decides
	Person      Action = "SUP"   // a person must look
	CloseGPU    Action = "QGPU"  // close this GPU to new tasks, move its tenants
	Replace     Action = "RPL"   // drain and replace the instance
)

// actionRank orders actions by strength; what is missing here is no action.
var actionRank = map[Action]int{Ignore: 0, Application: 1, Watch: 2, Person: 3, CloseGPU: 4, Replace: 5}

// Stronger reports whether a asks for more than b.
func (a Action) Stronger(b Action) bool { return actionRank[a] > actionRank[b] }

// Strongest returns the strongest of the actions, Ignore for none.
func Strongest(actions []Action) Action {
	best := Ignore
	for _, a := range actions {
		if a.Stronger(best) {
			best = a
		}
	}
	return best
}

// acts reports whether any of the actions touches a card or a host.
func acts(actions []Action) bool {
	return slices.Contains(actions, CloseGPU) || slices.Contains(actions, Replace)
}

// Class says whose fault a signal is, in the field's words.
type Class string

// The classes of the two tables.
const (
	ClassApplication  Class = "application"  // the program did it; the GPU is fine
	ClassMemory       Class = "memory"       // device memory, ECC, remap, retirement
	ClassLink         Class = "link"         // NVLink, NVSwitch, C2C, PCIe
	ClassBus          Class = "bus"          // the card is gone from the bus
	ClassFirmware     Class = "firmware"     // GSP, SEC2, micro-controllers, InfoROM
	ClassDriver       Class = "driver"       // driver, library, channel time-outs
	ClassPower        Class = "power"        // power and heat
	ClassLegacy       Class = "legacy"       // codes of old drivers
	ClassReport       Class = "report"       // reports and detail of another code
	ClassConfidential Class = "confidential" // confidential computing
	ClassMPS          Class = "mps"          // the MPS daemon, its servers and clients
	ClassMonitor      Class = "monitor"      // our own eyes, not the host
	ClassInstance     Class = "instance"     // EC2, Auto Scaling, AWS Health
	ClassUnknown      Class = "unknown"      // a code that no row names
)

var classes = []Class{ClassApplication, ClassMemory, ClassLink, ClassBus, ClassFirmware, ClassDriver,
	ClassPower, ClassLegacy, ClassReport, ClassConfidential, ClassMPS, ClassMonitor, ClassInstance, ClassUnknown}

// Witness is the source that saw a signal.
type Witness string

// The closed set of witnesses.
const (
	WitnessKernelLog      Witness = "kernel-log"
	WitnessNVML           Witness = "nvml"
	WitnessAgent          Witness = "agent"
	WitnessECSHealth      Witness = "ecs-health-event"
	WitnessTaskStopped    Witness = "task-stopped-reason"
	WitnessAgentConnected Witness = "ecs-agent-connected"
	WitnessEC2Status      Witness = "ec2-status-check"
	WitnessAWSHealth      Witness = "aws-health"
	WitnessSpot           Witness = "ec2-spot"
	WitnessASG            Witness = "auto-scaling"
	WitnessSSM            Witness = "ssm"
	WitnessLedger         Witness = "ledger"
	WitnessPerson         Witness = "person"
)

var witnesses = []Witness{WitnessKernelLog, WitnessNVML, WitnessAgent, WitnessECSHealth, WitnessTaskStopped,
	WitnessAgentConnected, WitnessEC2Status, WitnessAWSHealth, WitnessSpot, WitnessASG, WitnessSSM,
	WitnessLedger, WitnessPerson}

// OnHost reports whether w speaks through our agent, so that hearing it proves
// the agent alive.
func (w Witness) OnHost() bool {
	return w == WitnessKernelLog || w == WitnessNVML || w == WitnessAgent
}

// Reading is what a witness read of a state. Events use Seen.
type Reading uint8

// A bad state, a good one, one the hardware does not have, and one that could
// not be read. The last two say nothing of health: "not supported" is not
// "failed", and a broken reader is not a broken card.
const (
	Seen Reading = iota
	Clear
	NotSupported
	Unreadable
)

// Form says how a kind behaves in time.
type Form string

// An event happens; a state holds until another reading.
const (
	FormEvent Form = "event"
	FormState Form = "state"
)

// MarshalText writes the level as its word.
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText reads the word.
func (l *Level) UnmarshalText(text []byte) error {
	i := slices.Index(levelNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("level %q is not known", clip(string(text), 32))
	}
	*l = Level(i)
	return nil
}
