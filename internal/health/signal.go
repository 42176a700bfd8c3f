package health

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
)

// Bounds of what is believed of one signal. Reports come from hosts that may be
// broken or hostile; what is longer is cut (text) or refused (all else).
const (
	MaxTextBytes  = 512
	MaxTaskBytes  = 512 // a task ARN
	MaxNameBytes  = 300 // family:revision
	MaxCount      = 1 << 40
	MaxXidCode    = 10_000
	maxSkewFuture = 5 * time.Minute
)

// Signal is one thing that one witness said about one card or one host.
type Signal struct {
	Kind    Kind
	Device  gpu.UUID // empty: the host
	Witness Witness
	BootID  string // empty where the witness cannot know it: the boot then current

	Code   int    // Xid number, 0 for other kinds
	PID    int    // host process id named by the signal, 0 unknown
	Task   string // task ARN behind the PID, when attributed
	Family string // "family:revision" behind the PID, when attributed
	Unit   string // GPC/TPC or other place on the card, when the text names one
	Text   string // the line as seen, bounded

	Reading  Reading
	Value    float64 // for kinds with a limit: °C, pages, rows …
	HasValue bool    // false: Value means nothing, whatever it holds
	Expected bool    // Xid 45: the process was being stopped anyway

	Count     int64 // how many raw occurrences this stands for, at least 1
	FirstSeen time.Time
	LastSeen  time.Time
}

// ErrSignal is what every refusal of a signal wraps: drop it, count it.
var ErrSignal = errors.New("signal refused")

// Normalize returns s with its text bounded and its count and times made whole,
// or an error that wraps ErrSignal and names the field at fault.
func (s Signal) Normalize(now time.Time) (Signal, error) {
	switch {
	case s.Kind != KindXid && s.Kind != KindReport && s.Kind != KindSetHealthy && !slices.Contains(kinds, s.Kind):
		return s, fmt.Errorf("%w: kind %q is not known", ErrSignal, clip(string(s.Kind), 64))
	case !slices.Contains(witnesses, s.Witness):
		return s, fmt.Errorf("%w: witness %q is not known", ErrSignal, clip(string(s.Witness), 64))
	case s.Kind == KindSilenceConfirmed:
		return s, fmt.Errorf("%w: %s is concluded here, never reported", ErrSignal, s.Kind)
	case (s.Kind == KindSetHealthy) != (s.Witness == WitnessPerson):
		return s, fmt.Errorf("%w: %s by %s: only a person says %s, and a person says nothing else", ErrSignal, s.Kind, s.Witness, KindSetHealthy)
	case (s.Kind == KindAgentSilent) != (s.Witness == WitnessLedger):
		return s, fmt.Errorf("%w: %s by %s: only the ledger knows of our agent's silence", ErrSignal, s.Kind, s.Witness)
	case s.Device != "" && !s.Device.Valid():
		return s, fmt.Errorf("%w: device %q is no GPU id", ErrSignal, clip(string(s.Device), 64))
	case s.Kind == KindXid && (s.Code <= 0 || s.Code > MaxXidCode):
		return s, fmt.Errorf("%w: Xid code %d is out of 1..%d", ErrSignal, s.Code, MaxXidCode)
	case s.Kind != KindXid && s.Code != 0:
		return s, fmt.Errorf("%w: kind %s carries code %d", ErrSignal, s.Kind, s.Code)
	case s.Reading > Unreadable:
		return s, fmt.Errorf("%w: reading %d is not known", ErrSignal, s.Reading)
	case s.PID < 0 || s.Count < 0 || s.Count > MaxCount:
		return s, fmt.Errorf("%w: pid %d or count %d is impossible", ErrSignal, s.PID, s.Count)
	case len(s.BootID) > 128 || len(s.Task) > MaxTaskBytes || len(s.Family) > MaxNameBytes || len(s.Unit) > 128:
		return s, fmt.Errorf("%w: an id is too long", ErrSignal)
	case s.LastSeen.IsZero():
		return s, fmt.Errorf("%w: no time", ErrSignal)
	case s.LastSeen.After(now.Add(maxSkewFuture)):
		return s, fmt.Errorf("%w: seen %s ahead of now", ErrSignal, s.LastSeen.Sub(now).Round(time.Second))
	case s.HasValue && s.Value != s.Value:
		return s, fmt.Errorf("%w: value is not a number", ErrSignal)
	}
	if s.FirstSeen.IsZero() || s.FirstSeen.After(s.LastSeen) {
		s.FirstSeen = s.LastSeen
	}
	s.Count = max(s.Count, 1)
	s.Text = clip(s.Text, MaxTextBytes)
	return s, nil
}

// FromAgent returns the signals that an agent's report may carry, and one error
// for each other: a host speaks for its own kernel log, NVML and agent, never for
// ECS, EC2, AWS Health or a person, and all of its signals name its boot.
func FromAgent(signals []Signal) ([]Signal, []error) {
	var kept []Signal
	var refused []error
	for _, s := range signals {
		switch {
		case !s.Witness.OnHost():
			refused = append(refused, fmt.Errorf("%w: a host cannot be the witness %q", ErrSignal, clip(string(s.Witness), 64)))
		case s.BootID == "":
			refused = append(refused, fmt.Errorf("%w: %s without a boot id", ErrSignal, clip(string(s.Kind), 64)))
		default:
			kept = append(kept, s)
		}
	}
	return kept, refused
}

// clip cuts text to at most n bytes at a rune's border and drops what is no text.
func clip(text string, n int) string {
	text = strings.ToValidUTF8(text, "?")
	text = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' {
			return ' '
		}
		return r
	}, text)
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}
