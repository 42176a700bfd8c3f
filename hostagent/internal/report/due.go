package report

import (
	"reflect"
	"time"

	"github.com/bulkhead-ecs/bulkhead/events"
)

// Causes of a report.
const (
	CauseStart  = "start"
	CauseLease  = "lease"
	CauseChange = "change"
	CauseStop   = "stop"
)

// Pace is when the host spoke last and how many changes it may still tell at
// once. A storm is told in one report a second; a lone change without delay.
type Pace struct {
	Last    time.Time // zero: never
	Next    time.Time // when the lease must be renewed
	Tokens  float64
	Refresh time.Time
}

// Burst and Refill bound the reports of changes.
const (
	Burst  = 8.0
	Refill = 1.0 // a second
)

// Due tells whether r must go now, and why; "" is not yet.
func Due(prev *events.HostReport, r events.HostReport, p Pace, now time.Time) (cause string, _ Pace) {
	if prev == nil {
		return CauseStart, p
	}
	if now.Sub(p.Refresh) > 0 {
		p.Tokens = min(Burst, p.Tokens+now.Sub(p.Refresh).Seconds()*Refill)
	}
	p.Refresh = now
	switch {
	case Changed(*prev, r) && p.Tokens >= 1:
		p.Tokens--
		return CauseChange, p
	case !now.Before(p.Next):
		return CauseLease, p
	}
	return "", p
}

// Said is the pace after a report went. jitter, in [0, 1), takes up to a tenth off
// the lease so that hosts of one launch do not speak at once. A clock that was set back cannot make the
// host silent for longer than a lease: Next is always within one of now.
func (p Pace) Said(now time.Time, lease time.Duration, jitter float64) Pace {
	if p.Last.IsZero() {
		p.Tokens, p.Refresh = Burst, now
	}
	p.Last = now
	p.Next = now.Add(lease - time.Duration(jitter*float64(lease)/10))
	return p
}

// Changed tells whether two reports differ in more than readings that always
// move: times, use of memory and compute, counters of the log tail.
func Changed(a, b events.HostReport) bool {
	return len(b.Signals) > 0 || !reflect.DeepEqual(still(a), still(b))
}

func still(r events.HostReport) events.HostReport {
	r.Sequence, r.ObservedAt, r.SentAt, r.UptimeSeconds, r.Cause, r.Signals = 0, time.Time{}, time.Time{}, 0, "", nil
	r.Devices = append([]events.ReportDevice(nil), r.Devices...)
	for i := range r.Devices {
		r.Devices[i].UsedMiB, r.Devices[i].Compute = nil, nil
	}
	r.Shares = append([]events.ReportShare(nil), r.Shares...)
	for i := range r.Shares {
		r.Shares[i].UsedMiB, r.Shares[i].PeakMiB = nil, nil
	}
	r.Processes = append([]events.ReportProcess(nil), r.Processes...)
	for i := range r.Processes {
		r.Processes[i].UsedMiB = nil
	}
	r.MPS.LogDropped, r.MPS.Reason, r.MPS.Answer = 0, "", ""
	return r
}
