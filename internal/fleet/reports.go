package fleet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/bulkhead-ecs/bulkhead/events"
	"github.com/bulkhead-ecs/bulkhead/internal/drift"
	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/health"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/sizing"
	"github.com/bulkhead-ecs/bulkhead/internal/vitals"
)

// Signer is who signed a report: the session of an assumed role. For an instance
// profile the session's name is the instance's id, which nobody else can have.
type Signer struct {
	Account, Role, Session string
}

// SignerOf reads the signer out of an assumed-role ARN, such as
// arn:aws:sts::111122223333:assumed-role/ecsInstanceRole/i-0a1b2c3d4e5f60718.
func SignerOf(arn string) (Signer, bool) {
	parts := strings.SplitN(arn, ":", 6)
	if len(parts) != 6 || parts[0] != "arn" || parts[2] != "sts" || len(arn) > 2048 {
		return Signer{}, false
	}
	path := strings.Split(parts[5], "/")
	if len(path) != 3 || path[0] != "assumed-role" || path[1] == "" || path[2] == "" {
		return Signer{}, false
	}
	return Signer{Account: parts[4], Role: path[1], Session: path[2]}, true
}

// Reports takes what hosts say of themselves.
type Reports struct {
	Records vitals.Store
	Store   ledger.Store // to know the instance
	Policy  health.Policy
	// Accounts and Roles that may report. An empty list of accounts accepts none:
	// who may speak is never a default.
	Accounts []string
	Roles    []string
	// Usage keeps memory peaks for sizing; nil keeps none.
	Usage sizing.Store
	// Settings are what agents are asked to apply; nil asks nothing.
	Settings *events.HostSettings
	Clock    Clock
	Log      *slog.Logger
}

// Reasons for refusing a report. Forbidden and Invalid never change by trying
// again; Skewed and Unknown do.
var (
	ErrReportForbidden = errors.New("this signer may not speak for this instance")
	ErrReportInvalid   = errors.New("not a report")
	ErrReportSkewed    = errors.New("the host's clock is off: set it right, the report is kept meanwhile")
	ErrReportUnknown   = errors.New("no host of the ledger has this instance yet: the report is kept until ECS tells of it")
)

// MaxSkew is how far a report's sending time may be from ours. A signature is good
// for five minutes by itself; this catches one that was kept and sent again.
const MaxSkew = 15 * time.Minute

// Accept takes one report. A repeat is answered like the first time, so a report
// whose answer was lost counts once.
func (r *Reports) Accept(ctx context.Context, who Signer, instance string, body []byte) (events.HostReportAnswer, error) {
	if err := r.maySpeak(who, instance); err != nil {
		return events.HostReportAnswer{}, err
	}
	rep, err := events.ReadHostReport(body)
	if err != nil {
		return events.HostReportAnswer{}, fmt.Errorf("%w: %w", ErrReportInvalid, err)
	}
	now := r.Clock()
	switch skew := now.Sub(rep.SentAt).Abs(); {
	case rep.InstanceID != instance:
		return events.HostReportAnswer{}, fmt.Errorf("%w: it names %q", ErrReportForbidden, rep.InstanceID)
	case skew > MaxSkew:
		return events.HostReportAnswer{}, fmt.Errorf("%w (by %s)", ErrReportSkewed, skew.Round(time.Second))
	}
	id, err := r.Store.HostOfInstance(ctx, instance)
	if errors.Is(err, ledger.ErrNotFound) {
		return events.HostReportAnswer{}, ErrReportUnknown
	}
	if err != nil {
		return events.HostReportAnswer{}, err
	}
	for attempt := 0; ; attempt++ {
		rec, err := r.take(ctx, id, rep, now)
		if err == nil {
			return events.HostReportAnswer{Schema: events.HostReportSchema, Accepted: rec.Sequence, Settings: r.Settings}, nil
		}
		if !errors.Is(err, ledger.ErrConflict) || attempt+1 >= MaxAttempts {
			return events.HostReportAnswer{}, err
		}
	}
}

func (r *Reports) maySpeak(who Signer, instance string) error {
	switch {
	case !strings.HasPrefix(instance, "i-") || len(instance) > 32:
		return fmt.Errorf("%w: %.32q is no instance id", ErrReportInvalid, instance)
	case who.Session != instance:
		return fmt.Errorf("%w: signed by session %.64q", ErrReportForbidden, who.Session)
	case !slices.Contains(r.Accounts, who.Account):
		return fmt.Errorf("%w: account %.16q is not watched", ErrReportForbidden, who.Account)
	case len(r.Roles) > 0 && !slices.Contains(r.Roles, who.Role):
		return fmt.Errorf("%w: role %.64q is not one of the instances' roles", ErrReportForbidden, who.Role)
	}
	return nil
}

// take merges a report into the instance's record.
func (r *Reports) take(ctx context.Context, id ledger.HostID, rep events.HostReport, now time.Time) (vitals.Record, error) {
	rec, err := r.Records.Health(ctx, rep.InstanceID)
	if errors.Is(err, ledger.ErrNotFound) {
		rec, err = vitals.Record{EC2: rep.InstanceID}, nil
	}
	if err != nil {
		return rec, err
	}
	if rec.BootID == rep.BootID && rep.Sequence <= rec.Sequence {
		return rec, nil
	}
	host, err := r.Store.Host(ctx, id)
	switch {
	case errors.Is(err, ledger.ErrNotFound): // the index is there before the host
		return rec, ErrReportUnknown
	case err != nil:
		return rec, err
	}
	before, last := rec.Verdict.Host.Level, rec
	rec.State.Facts = factsOf(host, rep, rec.State.Facts)
	signals, refused := reportSignals(rep)
	var odd []error
	rec.State, rec.Verdict, odd = health.Assess(rec.State, signals, r.Policy, now)
	rec.BootID, rec.Sequence, rec.ReceivedAt = rep.BootID, rep.Sequence, now
	rep.Signals = nil // they are in the state now
	rec.Report = rep
	gaps := drift.Compare(host.View(now), reportOf(rec), drift.DefaultPolicy(), now)
	rec.Since = drift.Since(rec.Since, gaps, now)
	rec, err = r.Records.SaveHealth(ctx, rec)
	if err != nil {
		return rec, err
	}
	r.recordUsage(ctx, id.Cluster, last, rep)
	if refused = append(refused, odd...); len(refused) > 0 {
		r.Log.WarnContext(ctx, "signals refused", "instance", rep.InstanceID, "refused", len(refused), "first", refused[0].Error())
	}
	r.Log.InfoContext(ctx, "report accepted", "instance", rep.InstanceID, "boot", rep.BootID, "sequence", rep.Sequence, "cause", rep.Cause,
		"signals", len(signals), "level", rec.Verdict.Host.Level.String(), "was", before.String(), "reasons", len(rec.Verdict.Reasons), "gaps", len(gaps))
	return rec, nil
}

// factsOf is what health must know of the host besides signals.
func factsOf(h ledger.Host, rep events.HostReport, old health.Facts) health.Facts {
	f := old
	f.Host, f.AMI, f.DriverRelease = h.ID.Instance, h.Fixed.AMI, rep.Driver
	f.Devices = len(h.Cards())
	f.AgentExpected, f.AgentLease = true, time.Duration(rep.LeaseSeconds)*time.Second
	if rep.UptimeSeconds > 0 && rep.UptimeSeconds < 1e9 {
		f.BootAt = rep.ObservedAt.Add(-time.Duration(rep.UptimeSeconds * float64(time.Second))).UTC().Truncate(time.Second)
	}
	f.MultiGPUTasks = slices.ContainsFunc(h.Tasks, func(t ledger.Task) bool {
		cards := 0
		for _, s := range t.Shares {
			cards += len(s.GPUs)
		}
		return t.Phase != ledger.PhaseStopped && cards > len(t.Shares)
	})
	return f
}

// reportSignals are a report's signals in the words of health, and the report
// itself as the sign that the agent lives.
func reportSignals(rep events.HostReport) ([]health.Signal, []error) {
	in := []health.Signal{{Kind: health.KindReport, Witness: health.WitnessAgent, BootID: rep.BootID, LastSeen: rep.ObservedAt}}
	for _, s := range rep.Signals {
		x := health.Signal{Kind: health.Kind(s.Kind), Device: gpu.UUID(s.GPU), Witness: health.Witness(s.Witness), BootID: rep.BootID, Code: s.Code, PID: s.PID,
			Task: s.TaskArn, Family: s.Family, Unit: s.Unit, Text: s.Text, Reading: health.Reading(s.Reading), Expected: s.Expected, Count: s.Count,
			FirstSeen: s.FirstSeen, LastSeen: s.LastSeen}
		if s.Value != nil {
			x.Value, x.HasValue = *s.Value, true
		}
		in = append(in, x)
	}
	return health.FromAgent(in)
}
