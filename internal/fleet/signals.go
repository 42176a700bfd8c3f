package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/health"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/vitals"
)

// Signals judges hosts from what AWS told of them, with or without an agent: the
// events that the ledger keeps (health changes, notices of leaving, the reasons of
// stopped tasks, the ECS agent's connection) and EC2's status checks. What the
// host's own agent reported is in the same record and is judged with it.
type Signals struct {
	Records vitals.Store
	Policy  health.Policy
	Clock   Clock
	Log     *slog.Logger
}

// Assess folds what AWS says into the instance's record and judges it as of now. The
// record is written only when that changed anything, so a healthy fleet costs no
// writes. checks are EC2's status checks of the instance, where they were asked.
func (s *Signals) Assess(ctx context.Context, h ledger.Host, checks []health.Signal) (vitals.Record, error) {
	for attempt := 0; ; attempt++ {
		rec, err := s.assess(ctx, h, checks)
		if !errors.Is(err, ledger.ErrConflict) || attempt+1 >= MaxAttempts {
			return rec, err
		}
	}
}

func (s *Signals) assess(ctx context.Context, h ledger.Host, checks []health.Signal) (vitals.Record, error) {
	rec, err := s.Records.Health(ctx, h.Fixed.EC2InstanceID)
	if errors.Is(err, ledger.ErrNotFound) {
		rec, err = vitals.Record{EC2: h.Fixed.EC2InstanceID}, nil
	}
	if err != nil {
		return rec, err
	}
	now := s.Clock()
	before := rec
	if rec.Sequence == 0 { // a report fills these better
		rec.State.Facts.Host, rec.State.Facts.AMI, rec.State.Facts.Devices = h.ID.Instance, h.Fixed.AMI, len(h.Cards())
	}
	signals := append(HostSignals(h, rec.Sequence > 0, now), checks...)
	var odd []error
	rec.State, rec.Verdict, odd = health.Assess(rec.State, signals, s.Policy, now)
	if len(odd) > 0 {
		s.Log.WarnContext(ctx, "signals refused", "instance", rec.EC2, "refused", len(odd), "first", odd[0].Error())
	}
	if sameHealth(before, rec) {
		return rec, nil
	}
	saved, err := s.Records.SaveHealth(ctx, rec)
	if err != nil {
		return rec, err
	}
	if before.Verdict.Host.Level != saved.Verdict.Host.Level {
		s.Log.InfoContext(ctx, "verdict", "instance", rec.EC2, "level", saved.Verdict.Host.Level.String(), "was", before.Verdict.Host.Level.String(),
			"reasons", len(saved.Verdict.Reasons), "signals", len(signals), "action", string(saved.Verdict.Host.Action))
	}
	return saved, nil
}

// sameHealth reports whether nothing that is remembered differs. A host of which
// nothing is known but that it is well has no record at all.
func sameHealth(a, b vitals.Record) bool {
	if a.Revision == 0 && len(b.State.Conditions) == 0 {
		return true
	}
	x, errA := json.Marshal(a.State)
	y, errB := json.Marshal(b.State)
	return errA == nil && errB == nil && string(x) == string(y) && a.Verdict.Host.Level == b.Verdict.Host.Level && len(a.Verdict.Reasons) == len(b.Verdict.Reasons)
}

// HostSignals are a host's facts in the words of health, as of now. States are said
// anew at each call, events at their own time, so that saying them again is no second
// event. agent tells whether our agent reports from the host: then its kernel log is
// the better witness of an Xid.
func HostSignals(h ledger.Host, agent bool, now time.Time) []health.Signal {
	if h.Gone() {
		return nil
	}
	var out []health.Signal
	for _, c := range h.Health {
		out = append(out, checkSignals(c, agent, now)...)
	}
	out = append(out, connection(h, now))
	for _, l := range h.Leaving {
		if s, ok := leavingSignal(l, now); ok {
			out = append(out, s)
		}
	}
	for _, t := range h.Tasks {
		if kind, ok := health.StartGate(t.StopReason); ok && t.Phase == ledger.PhaseStopped && !t.StoppedAt.IsZero() {
			at := earlier(t.StoppedAt, now)
			out = append(out, health.Signal{Kind: kind, Witness: health.WitnessTaskStopped, Task: t.ARN, Family: familyOf(t.Definition), Text: t.StopReason, FirstSeen: at, LastSeen: at})
		}
	}
	return out
}

// checkSignals are ECS's health of the instance's accelerated compute, and the Xid
// that its reason names.
func checkSignals(c ledger.HealthCheck, agent bool, now time.Time) []health.Signal {
	if c.Type != "ACCELERATED_COMPUTE" {
		return nil
	}
	s := health.Signal{Kind: health.KindECSImpaired, Witness: health.WitnessECSHealth, Text: c.Reason, FirstSeen: earlier(c.Changed, now), LastSeen: now}
	switch c.Status {
	case "IMPAIRED":
	case "OK":
		s.Reading = health.Clear
	default: // INSUFFICIENT_DATA, INITIALIZING: nobody looked
		s.Reading = health.Unreadable
	}
	out := []health.Signal{s}
	if code, ok := health.XidOfHealthReason(c.Reason); ok && c.Status == "IMPAIRED" && !agent && !c.Changed.IsZero() {
		at := earlier(c.Changed, now)
		out = append(out, health.Signal{Kind: health.KindXid, Code: code, Witness: health.WitnessECSHealth, Text: c.Reason, FirstSeen: at, LastSeen: at})
	}
	return out
}

// connection is the ECS agent's connection. Its age counts from the event that told
// of it; the agent reconnects several times an hour, so the table waits.
func connection(h ledger.Host, now time.Time) health.Signal {
	s := health.Signal{Kind: health.KindAgentDisconnected, Witness: health.WitnessAgentConnected, FirstSeen: now, LastSeen: now, Reading: health.Clear}
	up := h.Registration.Status == "ACTIVE" || h.Registration.Status == "DRAINING"
	if up && !h.Registration.AgentConnected {
		s.Reading = health.Seen
		if !h.Registration.At.IsZero() {
			s.FirstSeen = earlier(h.Registration.At, now)
		}
	}
	return s
}

func leavingSignal(l ledger.Leaving, now time.Time) (health.Signal, bool) {
	at := earlier(l.At, now)
	s := health.Signal{FirstSeen: at, LastSeen: at}
	switch l.Cause {
	case "spot-interruption":
		s.Kind, s.Witness = health.KindSpotInterruption, health.WitnessSpot
	case "rebalance":
		s.Kind, s.Witness = health.KindSpotRebalance, health.WitnessSpot
	case "lifecycle-terminating":
		s.Kind, s.Witness = health.KindASGTerminating, health.WitnessASG
	case "scheduled-event":
		s.Kind, s.Witness, s.LastSeen = health.KindRetirement, health.WitnessAWSHealth, now
	default:
		return s, false
	}
	return s, !l.At.IsZero()
}

// earlier keeps a time of another clock from lying ahead of ours.
func earlier(t, now time.Time) time.Time {
	if t.After(now) || t.IsZero() {
		return now
	}
	return t
}

// familyOf is "family:revision" of a task definition ARN.
func familyOf(arn string) string { return arn[strings.LastIndexByte(arn, '/')+1:] }

// Demands reports whether a verdict asks that something be done to the host: then a
// pass of remedies need not wait for its schedule.
func Demands(v health.Verdict) bool {
	return slices.ContainsFunc(v.Reasons, func(r health.Reason) bool {
		return slices.Contains(r.Actions, health.CloseGPU) || slices.Contains(r.Actions, health.Replace)
	})
}
