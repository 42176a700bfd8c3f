package events

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func wholeReport() HostReport {
	at := time.Date(2026, 11, 30, 3, 12, 10, 0, time.UTC)
	n, c, pct, clients, f := int64(4096), int32(25), 30.0, 2, 71.5
	return HostReport{
		Schema: HostReportSchema, InstanceID: "i-0a", BootID: "b1", Sequence: 7, AgentVersion: "1.2.3",
		ObservedAt: at, SentAt: at, UptimeSeconds: 12.5, Cause: "change", LeaseSeconds: 300, NVML: "ok", Driver: "580.126.09", CUDA: 13000,
		Devices: []ReportDevice{{UUID: "GPU-1", Name: "NVIDIA L4", TotalMiB: 23034, UsedMiB: &n, Compute: &c, Clients: &clients}},
		MPS: ReportMPS{State: "fault", Since: at, PipeDir: "/run/mps-ecs", Protocol: 2, Percentage: &pct, Servers: []ReportMPSServer{{PID: 9, Clients: []int{10}}},
			Holders: []ReportMPSHolder{{PID: 10, TaskArn: "t", Container: "c"}}, Culprit: &ReportMPSHolder{PID: 11}, Exits: 1, Answer: "ok",
			Decision: &ReportMPSDecision{At: at, Action: "restart", Hurt: 1, Reason: "one healthy client"}},
		Shares:    []ReportShare{{TaskArn: "t", Container: "c", GPU: "GPU-1", UsedMiB: &n, PeakMiB: &n, LimitMiB: &n, Percent: &c, Processes: 1, MPS: true}},
		Processes: []ReportProcess{{PID: 12, GPU: "GPU-1", Kind: "foreign", Command: "python", UsedMiB: &n}},
		Signals:   []ReportSignal{{Kind: "Xid", GPU: "GPU-1", Witness: "kernel-log", Code: 31, Value: &f, Count: 1, FirstSeen: at, LastSeen: at}},
		Drops:     ReportDrops{Reports: 2, Corrupt: 3, Signals: 4, KernelLog: 5, Shares: 6}, Settings: "v3",
		Preflight: &ReportPreflight{State: PreflightFailed, Since: at, Failed: []ReportCheck{{Check: "shm", Found: "3 MiB free", Fix: "free some"}}},
	}
}

func TestAWholeReportObeysItsSchemaAndReadsBack(t *testing.T) {
	want := wholeReport()
	raw, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate(t, schemaOf(t, "host report"), raw); err != nil {
		t.Error(err)
	}
	got, err := ReadHostReport(raw)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAReportOutOfBoundsIsRefusedByCheckAndByName(t *testing.T) {
	for member, spoil := range map[string]func(*HostReport){
		"schema":       func(r *HostReport) { r.Schema = 2 },
		"instanceId":   func(r *HostReport) { r.InstanceID = "" },
		"bootId":       func(r *HostReport) { r.BootID = strings.Repeat("b", MaxReportIDBytes+1) },
		"sequence":     func(r *HostReport) { r.Sequence = 0 },
		"agentVersion": func(r *HostReport) { r.AgentVersion = strings.Repeat("v", MaxReportVersionSize+1) },
		"observedAt":   func(r *HostReport) { r.ObservedAt = time.Time{} },
		"devices":      func(r *HostReport) { r.Devices = make([]ReportDevice, MaxReportDevices+1) },
		"totalMiB":     func(r *HostReport) { r.Devices[0].TotalMiB = -1 },
		"shares":       func(r *HostReport) { r.Shares = make([]ReportShare, MaxReportShares+1) },
		"shares[0]":    func(r *HostReport) { r.Shares[0].TaskArn = strings.Repeat("a", MaxReportARNBytes+1) },
		"processes":    func(r *HostReport) { r.Processes = make([]ReportProcess, MaxReportProcesses+1) },
		"signals":      func(r *HostReport) { r.Signals = make([]ReportSignal, MaxReportSignals+1) },
		"signals[0]":   func(r *HostReport) { r.Signals[0].Text = strings.Repeat("x", MaxReportTextBytes+1) },
		"preflight":    func(r *HostReport) { r.Preflight.State = "maybe" },
		"failed[0]":    func(r *HostReport) { r.Preflight.Failed[0].Fix = strings.Repeat("x", MaxReportTextBytes+1) },
		"MPS servers":  func(r *HostReport) { r.MPS.Servers = make([]ReportMPSServer, MaxReportServers+1) },
	} {
		r := wholeReport()
		spoil(&r)
		if err := r.Check(); !errors.Is(err, ErrHostReport) || !strings.Contains(err.Error(), member) {
			t.Errorf("%s: %v", member, err)
		}
	}
	if _, err := ReadHostReport(make([]byte, MaxHostReportBytes+1)); !errors.Is(err, ErrHostReport) {
		t.Error("too large a body was read")
	}
	if _, err := ReadHostReport([]byte(`{"schema":"one"}`)); !errors.Is(err, ErrHostReport) {
		t.Error("a wrong type was read")
	}
}

func TestSettingsOutOfRangeAreRefusedWhole(t *testing.T) {
	zero, high, short := 0.0, 100.5, 29
	for _, s := range []HostSettings{{}, {Version: "1", ThreadPercentage: &zero}, {Version: "1", ThreadPercentage: &high}, {Version: "1", LeaseSeconds: &short}, {Version: "1", SampleSeconds: new(int)}} {
		if err := s.Check(); !errors.Is(err, ErrHostReport) {
			t.Errorf("%+v: %v", s, err)
		}
	}
	thirty := 30.0
	if err := (HostSettings{Version: "1", ThreadPercentage: &thirty}).Check(); err != nil {
		t.Error(err)
	}
}

func FuzzReadHostReport(f *testing.F) {
	b, _ := json.Marshal(wholeReport())
	f.Add(b)
	f.Add([]byte(`{}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := ReadHostReport(b)
		if err == nil && r.Check() != nil {
			t.Fatal("read, but not sound")
		}
	})
}
