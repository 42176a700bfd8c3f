package mps

import (
	"fmt"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/health"
)

// Teller turns states into health signals: the first readings after a turn one by
// one, so that their number counts, then one a minute while bad and none while
// well. The zero Teller is ready.
type Teller struct {
	told map[health.Kind]told
	last time.Time
}

type told struct {
	bad  bool
	n    int
	last time.Time
}

const (
	tellSingly = 3
	tellEvery  = time.Minute
)

// Tell returns what s has to say now.
func (t *Teller) Tell(s State, bootID string, now time.Time) []health.Signal {
	if t.told == nil {
		t.told = map[health.Kind]told{}
	}
	var out []health.Signal
	say := func(k health.Kind, bad bool, text string, pid int) {
		prev, known := t.told[k]
		if !known && !bad {
			return // nothing to take back
		}
		cur := told{bad: bad, n: prev.n + 1, last: prev.last}
		if prev.bad != bad || !known {
			cur.n = 1
		}
		if cur.n <= tellSingly || bad && now.Sub(cur.last) >= tellEvery {
			cur.last = now
			sig := health.Signal{Kind: k, Witness: health.WitnessAgent, BootID: bootID, Text: text, PID: pid, Reading: health.Clear, Count: 1, FirstSeen: now, LastSeen: now}
			if bad {
				sig.Reading, sig.FirstSeen = health.Seen, s.Since
			}
			out = append(out, sig)
		}
		t.told[k] = cur
	}
	if s.Phase == Unknown || s.Phase == Starting {
		return nil // neither well nor bad
	}
	failing := s.Strikes > 0
	say(health.KindMPSControlDead, s.Phase == Absent || s.Phase == Wedged, s.Reason, 0)
	if !failing { // what the daemon was before it fell silent is not news
		say(health.KindMPSFault, s.Phase == Fault, fmt.Sprintf("%s; culprit %s", s.Reason, pidText(s.Culprit)), s.Culprit)
		say(health.KindMPSRecovering, s.Phase == Recovering, s.Reason, 0)
	}
	for _, at := range s.Exits {
		if at.After(t.last) {
			out = append(out, health.Signal{Kind: health.KindMPSServerExits, Witness: health.WitnessAgent, BootID: bootID, Text: "an MPS server failed", Count: 1, FirstSeen: at, LastSeen: at})
		}
	}
	if n := len(s.Exits); n > 0 {
		t.last = s.Exits[n-1]
	}
	return out
}

func pidText(pid int) string {
	if pid == 0 {
		return "not named"
	}
	return fmt.Sprintf("pid %d", pid)
}
