package fleet

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/health"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/memstore"
)

var signalsAt = time.Date(2026, 12, 1, 3, 0, 0, 0, time.UTC)

func quietHost() ledger.Host {
	return ledger.Host{ID: ledger.HostID{Cluster: "arn:c", Instance: "arn:c/h"}, Fixed: ledger.Fixed{EC2InstanceID: "i-0a", AMI: "ami-1"},
		Registration: ledger.Registration{Status: "ACTIVE", AgentConnected: true, At: signalsAt},
		Health:       []ledger.HealthCheck{{Type: "ACCELERATED_COMPUTE", Status: "OK", Changed: signalsAt}},
		Devices:      []ledger.DeviceFacts{{UUID: "GPU-11111111-2222-3333-4444-555555555555"}}}
}

func stopped(n string, at time.Time, reason string) ledger.Task {
	return ledger.Task{ARN: "arn:aws:ecs:us-east-1:1:task/c/" + n, Phase: ledger.PhaseStopped, StoppedAt: at, StopReason: reason, Definition: "arn:aws:ecs:us-east-1:1:task-definition/chat:7"}
}

func TestAVerdictNeedsNoAgent(t *testing.T) {
	const gate = "CannotStartContainerError: MPS control daemon is not responding on this instance"
	const absent = "MPS control daemon is not available on this instance"
	at := signalsAt
	for name, c := range map[string]struct {
		change func(*ledger.Host)
		checks []health.Signal
		after  time.Duration
		token  string
		level  health.Level
	}{
		"well":                         {func(*ledger.Host) {}, nil, 0, "", health.Healthy},
		"ECS calls it impaired":        {func(h *ledger.Host) { h.Health[0].Status = "IMPAIRED" }, nil, 0, "EcsAcceleratedComputeImpaired", health.Degraded},
		"impaired by a dead card":      {func(h *ledger.Host) { h.Health[0].Status, h.Health[0].Reason = "IMPAIRED", "XID_79" }, nil, 0, "Xid79", health.Failed},
		"nobody looked":                {func(h *ledger.Host) { h.Health[0].Status = "INSUFFICIENT_DATA" }, nil, 0, "", health.Healthy},
		"the gate that tried and says": {func(h *ledger.Host) { h.Tasks = []ledger.Task{stopped("a", at, gate)} }, nil, 0, "MpsStartGateNotResponding", health.Degraded},
		"one task that met no daemon":  {func(h *ledger.Host) { h.Tasks = []ledger.Task{stopped("a", at, absent)} }, nil, 0, "MpsStartGateUnavailable", health.Suspect},
		"two tasks that met no daemon": {func(h *ledger.Host) {
			h.Tasks = []ledger.Task{stopped("a", at, absent), stopped("b", at.Add(time.Minute), absent)}
		}, nil, 2 * time.Minute, "MpsStartGateUnavailable", health.Degraded},
		"a short disconnection":         {func(h *ledger.Host) { h.Registration.AgentConnected = false }, nil, 5 * time.Minute, "", health.Healthy},
		"a long one, which is no proof": {func(h *ledger.Host) { h.Registration.AgentConnected = false }, nil, 11 * time.Minute, "EcsAgentDisconnected", health.Unknown},
		"Spot takes it":                 {func(h *ledger.Host) { h.Leaving = []ledger.Leaving{{Cause: "spot-interruption", At: at}} }, nil, 0, "SpotInterruption", health.Failed},
		"its group ends it":             {func(h *ledger.Host) { h.Leaving = []ledger.Leaving{{Cause: "lifecycle-terminating", At: at}} }, nil, 0, "AsgTerminating", health.Failed},
		"AWS Health retires it":         {func(h *ledger.Host) { h.Leaving = []ledger.Leaving{{Cause: "scheduled-event", At: at}} }, nil, 0, "AwsHealthRetirement", health.Failed},
		"EC2's own check fails": {func(*ledger.Host) {}, []health.Signal{{Kind: health.KindEC2Status, Witness: health.WitnessEC2Status, FirstSeen: at.Add(-6 * time.Minute), LastSeen: at}}, 0,
			"Ec2StatusCheckFailed", health.Failed},
		"gone": {func(h *ledger.Host) { h.Registration.Status, h.Health[0].Status = "INACTIVE", "IMPAIRED" }, nil, 0, "", health.Healthy},
	} {
		t.Run(name, func(t *testing.T) {
			policy, err := health.Default()
			if err != nil {
				t.Fatal(err)
			}
			h := quietHost()
			c.change(&h)
			s := &Signals{Records: memstore.New(), Policy: policy, Log: slog.New(slog.DiscardHandler), Clock: func() time.Time { return signalsAt.Add(c.after) }}
			rec, err := s.Assess(context.Background(), h, c.checks)
			if err != nil {
				t.Fatal(err)
			}
			token := ""
			if len(rec.Verdict.Reasons) > 0 {
				token = rec.Verdict.Reasons[0].Token
			}
			if token != c.token || rec.Verdict.Host.Level != c.level {
				t.Errorf("%s, %s; want %s, %s", token, rec.Verdict.Host.Level, c.token, c.level)
			}
		})
	}
}

func TestWhatWasSaidOnceIsNoSecondEventAndAHealthyHostIsNotWritten(t *testing.T) {
	policy, err := health.Default()
	if err != nil {
		t.Fatal(err)
	}
	ctx, store, now := context.Background(), memstore.New(), signalsAt
	s := &Signals{Records: store, Policy: policy, Log: slog.New(slog.DiscardHandler), Clock: func() time.Time { return now }}
	h := quietHost()
	for range 5 {
		now = now.Add(time.Minute)
		if _, err := s.Assess(ctx, h, nil); err != nil {
			t.Fatal(err)
		}
	}
	if r, err := store.Health(ctx, "i-0a"); err == nil {
		t.Errorf("a host of which nothing is known has a record at revision %d", r.Revision)
	}
	h.Tasks = []ledger.Task{stopped("a", signalsAt, "mps control daemon is not responding on this instance")}
	var fault string
	var revision int64
	for n := range 6 {
		now = now.Add(10 * time.Second)
		rec, err := s.Assess(ctx, h, nil)
		if err != nil || len(rec.Verdict.Reasons) != 1 || rec.Verdict.Reasons[0].Count != 1 {
			t.Fatalf("%v %+v", err, rec.Verdict)
		}
		if n > 0 && (rec.Verdict.Reasons[0].Fault != fault || rec.Revision != revision) {
			t.Errorf("fault %s at revision %d, before %s at %d", rec.Verdict.Reasons[0].Fault, rec.Revision, fault, revision)
		}
		fault, revision = rec.Verdict.Reasons[0].Fault, rec.Revision
	}
	now = now.Add(20 * time.Minute)
	if rec, err := s.Assess(ctx, h, nil); err != nil || Demands(rec.Verdict) {
		t.Errorf("the alarm has no all-clear: %v %+v", err, rec.Verdict)
	}
}
