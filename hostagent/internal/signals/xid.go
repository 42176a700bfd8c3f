package signals

import (
	"strings"

	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/kmsg"
	"github.com/bulkhead-ecs/bulkhead/internal/health"
)

// XidSignal is the signal of one Xid event. task and family are those behind its
// process, when attribution knows them; expected says that the task was being
// stopped anyway.
func XidSignal(e kmsg.Event, bootID, task, family string, expected bool) health.Signal {
	w := health.WitnessKernelLog
	if e.FromNVML {
		w = health.WitnessNVML
	}
	text := e.Line.Text
	if e.Line.Code == 154 {
		text = changedTo(text)
	}
	return health.Signal{Kind: health.KindXid, Device: e.Device, Witness: w, BootID: bootID, Code: e.Line.Code, PID: e.Line.PID,
		Task: task, Family: family, Unit: e.Line.Unit, Text: text, Expected: expected, Count: max(e.Count, 1), FirstSeen: e.First, LastSeen: e.At}
}

// changedTo keeps of an Xid 154 what the recovery action is now: rules that read
// its words must not find those of the action before ("from None to Reset").
func changedTo(text string) string {
	if i := strings.LastIndex(text, " to "); i >= 0 && strings.Contains(text[:i], " from ") {
		return text[:strings.Index(text, " from ")] + text[i:]
	}
	return text
}
