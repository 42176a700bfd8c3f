package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/bulkhead-ecs/bulkhead/events"
	"github.com/bulkhead-ecs/bulkhead/internal/health"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

const reporter = "i-00000000000000001"

func reports(t *testing.T, w *world) *Reports {
	t.Helper()
	policy, err := health.Default()
	if err != nil {
		t.Fatal(err)
	}
	w.registers(1)
	sweepOnce(t, w)
	return &Reports{Records: w.Store, Store: w, Policy: policy, Accounts: []string{"111122223333"}, Roles: []string{"ecsInstanceRole"}, Clock: w.clock, Log: slog.New(slog.DiscardHandler)}
}

func signer() Signer {
	return Signer{Account: "111122223333", Role: "ecsInstanceRole", Session: reporter}
}

// report writes a report of the instance as its agent does.
func report(w *world, boot string, sequence uint64, signals ...events.ReportSignal) []byte {
	b, _ := json.Marshal(events.HostReport{Schema: 1, InstanceID: reporter, BootID: boot, Sequence: sequence, ObservedAt: w.now, SentAt: w.now, UptimeSeconds: 3600,
		LeaseSeconds: 300, Cause: "lease", NVML: "ok", MPS: events.ReportMPS{State: "serving"}, Signals: signals})
	return b
}

func xid(w *world, code int) events.ReportSignal {
	return events.ReportSignal{Kind: "Xid", GPU: string(card), Witness: string(health.WitnessKernelLog), Code: code, Count: 1, FirstSeen: w.now, LastSeen: w.now}
}

func TestAReportBecomesAVerdictAndARepeatCountsOnce(t *testing.T) {
	w := newWorld()
	r := reports(t, w)
	ctx := context.Background()
	if _, err := r.Accept(ctx, signer(), reporter, report(w, "boot-1", 1)); err != nil {
		t.Fatal(err)
	}
	rec, _ := w.Health(ctx, reporter)
	if rec.Verdict.Host.Level != health.Healthy {
		t.Errorf("a good host is %v: %+v", rec.Verdict.Host.Level, rec.Verdict.Reasons)
	}
	w.now = w.now.Add(time.Minute)
	fell := report(w, "boot-1", 2, xid(w, 79))
	for range 2 {
		answer, err := r.Accept(ctx, signer(), reporter, fell)
		if err != nil || answer.Accepted != 2 {
			t.Fatalf("%+v, %v", answer, err)
		}
	}
	rec, _ = w.Health(ctx, reporter)
	if rec.Verdict.Host.Level != health.Failed || rec.Verdict.Host.Action != health.Replace || rec.Verdict.Host.AcceptsTasks || rec.Revision != 2 {
		t.Errorf("after Xid 79: %+v at revision %d", rec.Verdict.Host, rec.Revision)
	}
	late, err := r.Accept(ctx, signer(), reporter, report(w, "boot-1", 1))
	if err != nil || late.Accepted != 2 {
		t.Errorf("an older report: %+v, %v", late, err)
	}
}

func TestAnInstanceSpeaksForItselfAlone(t *testing.T) {
	w := newWorld()
	r := reports(t, w)
	for name, c := range map[string]struct {
		change func(*Signer) string
		want   error
	}{
		"another instance's session": {func(s *Signer) string { s.Session = "i-00000000000000002"; return reporter }, ErrReportForbidden},
		"another instance's path":    {func(*Signer) string { return "i-00000000000000002" }, ErrReportForbidden},
		"another account":            {func(s *Signer) string { s.Account = "999999999999"; return reporter }, ErrReportForbidden},
		"another role":               {func(s *Signer) string { s.Role = "taskRole"; return reporter }, ErrReportForbidden},
		"a person":                   {func(s *Signer) string { s.Session = "alice"; return "alice" }, ErrReportInvalid},
	} {
		s := signer()
		path := c.change(&s)
		if _, err := r.Accept(context.Background(), s, path, report(w, "b", 1)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	other := report(w, "b", 1)
	var doc map[string]any
	_ = json.Unmarshal(other, &doc)
	doc["instanceId"] = "i-00000000000000002"
	forged, _ := json.Marshal(doc)
	if _, err := r.Accept(context.Background(), signer(), reporter, forged); !errors.Is(err, ErrReportForbidden) {
		t.Errorf("a body that names another: %v", err)
	}
	if _, err := w.Health(context.Background(), reporter); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("a refused report left something: %v", err)
	}
}

func TestWhatIsRefusedSaysWhetherToTryAgain(t *testing.T) {
	w := newWorld()
	r := reports(t, w)
	kept := report(w, "b", 1)
	w.now = w.now.Add(MaxSkew + time.Second)
	if _, err := r.Accept(context.Background(), signer(), reporter, kept); !errors.Is(err, ErrReportSkewed) {
		t.Errorf("sent again much later: %v", err)
	}
	for _, body := range []string{"", "{", `{"schema":99}`, `[]`} {
		if _, err := r.Accept(context.Background(), signer(), reporter, []byte(body)); !errors.Is(err, ErrReportInvalid) {
			t.Errorf("%q: %v", body, err)
		}
	}
	unknown := newWorld()
	r.Store = unknown
	if _, err := r.Accept(context.Background(), signer(), reporter, report(w, "b", 1)); !errors.Is(err, ErrReportUnknown) {
		t.Errorf("before ECS told of it: %v", err)
	}
}

func TestAHostCannotSpeakWithAnothersVoice(t *testing.T) {
	w := newWorld()
	r := reports(t, w)
	forged := []events.ReportSignal{
		{Kind: "SetHealthy", Witness: "person", Count: 1, LastSeen: w.now},
		{Kind: "Ec2StatusImpaired", Witness: "ec2-status", Count: 1, LastSeen: w.now},
		{Kind: "Nonsense", Witness: "agent", Count: 1, LastSeen: w.now},
	}
	if _, err := r.Accept(context.Background(), signer(), reporter, report(w, "b", 1, forged...)); err != nil {
		t.Fatal(err)
	}
	rec, _ := w.Health(context.Background(), reporter)
	if len(rec.Verdict.Reasons) != 0 {
		t.Errorf("believed: %+v", rec.Verdict.Reasons)
	}
}

func TestASignerIsReadOutOfAnAssumedRole(t *testing.T) {
	for arn, want := range map[string]Signer{
		"arn:aws:sts::111122223333:assumed-role/ecsInstanceRole/i-0a":        {"111122223333", "ecsInstanceRole", "i-0a"},
		"arn:aws-us-gov:sts::111122223333:assumed-role/ecsInstanceRole/i-0a": {"111122223333", "ecsInstanceRole", "i-0a"},
		"arn:aws:iam::111122223333:user/alice":                               {},
		"arn:aws:sts::111122223333:assumed-role/i-0a":                        {},
		"arn:aws:sts::111122223333:assumed-role/a/b/i-0a":                    {},
		"arn:aws:sts::111122223333:federated-user/i-0a":                      {},
		"": {},
	} {
		if got, ok := SignerOf(arn); got != want || ok != (want != Signer{}) {
			t.Errorf("%s: %+v %v", arn, got, ok)
		}
	}
}
