package health

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// startGates are the texts with which the ECS agent's gate stops an MPS task, as
// its source writes them (mpsdaemon.go); ECS puts them into stoppedReason, where
// other words may stand around them.
var startGates = []struct {
	text string
	kind Kind
}{
	{"mps control daemon is not available on this instance", KindGateUnavailable},
	{"mps control daemon is not responding on this instance", KindGateNotResponding},
	{"mps control daemon verification did not complete", KindGateUnverified},
}

// StartGate recognises a stopped task's reason as one of the three of the MPS
// start gate.
func StartGate(stoppedReason string) (Kind, bool) {
	text := strings.ToLower(clip(stoppedReason, 4096))
	for _, g := range startGates {
		if strings.Contains(text, g.text) {
			return g.kind, true
		}
	}
	return "", false
}

// XidOfHealthReason reads the Xid out of the statusReason of an ECS health change
// ("XID_46").
func XidOfHealthReason(statusReason string) (int, bool) {
	_, after, ok := strings.Cut(strings.ToUpper(clip(statusReason, MaxTextBytes)), "XID_")
	if !ok {
		return 0, false
	}
	end := strings.IndexFunc(after, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(after)
	}
	code, err := strconv.Atoi(after[:end])
	if err != nil || code <= 0 || code > MaxXidCode {
		return 0, false
	}
	return code, true
}

// RecoveryWord reads the driver's recovery action out of the line of an Xid 154:
// none, reset (also drain and reset), reboot, drain (P2P), or nothing. The last
// words count, because the line says from what to what.
func RecoveryWord(line string) string {
	text := strings.ToLower(clip(line, MaxTextBytes))
	if i := strings.LastIndex(text, " to "); i >= 0 {
		text = text[i:]
	}
	switch {
	case strings.Contains(text, "reboot"):
		return "reboot"
	case strings.Contains(text, "reset"):
		return "reset"
	case strings.Contains(text, "drain"):
		return "drain"
	case strings.Contains(text, "none"):
		return "none"
	}
	return ""
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
