package drift

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bulkhead-ecs/bulkhead/events"
	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger/ledgertest"
)

var now = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

const chatARN = "arn:aws:ecs:us-east-1:111122223333:task/gpu-prod/chat"

// fleetHost is a host of one card with one task of 6,000 MiB and 40 % on it.
func fleetHost(change func(*ledger.Task)) ledger.View {
	h := ledgertest.Full(1, 1, 0)
	t := ledger.Task{ARN: chatARN, Version: 1, LastStatus: "RUNNING", Shares: []ledger.TaskShare{{Container: "app", Need: ledger.NeedShare, Sized: true,
		Memory: 6000, Compute: 40, GPUs: []gpu.UUID{h.Devices[0].UUID}}}}
	if change != nil {
		change(&t)
	}
	h, _ = ledger.ObserveTask(h, t)
	return h.View(now)
}

// seen is the report of a host on which everything is as the ledger says.
func seen(v ledger.View, change func(*events.HostReport)) Report {
	card := string(v.Devices[0].UUID)
	n := func(x int64) *int64 { return &x }
	percent := int32(40)
	r := events.HostReport{NVML: "ok", LeaseSeconds: 300, ObservedAt: now, UptimeSeconds: 3600,
		Devices: []events.ReportDevice{{UUID: card, TotalMiB: int64(v.Devices[0].Total)}},
		Shares:  []events.ReportShare{{TaskArn: chatARN, Container: "app", GPU: card, UsedMiB: n(5000), LimitMiB: n(6000), Percent: &percent, Processes: 1, MPS: true}}}
	if change != nil {
		change(&r)
	}
	return Report{HostReport: r, ReceivedAt: now}
}

func kinds(fs []ledger.Finding) string {
	var out []string
	for _, f := range fs {
		out = append(out, string(f.Kind))
	}
	return strings.Join(out, " ")
}

func TestEachGapHasItsName(t *testing.T) {
	n := func(x int64) *int64 { return &x }
	other := string(ledgertest.Card(77))
	for name, c := range map[string]struct {
		task   func(*ledger.Task)
		report func(*events.HostReport)
		want   string
	}{
		"all as it should be": {nil, nil, ""},
		"a card that ECS does not list": {nil, func(r *events.HostReport) {
			r.Devices = append(r.Devices, events.ReportDevice{UUID: other, TotalMiB: 1})
		}, "DeviceNotRegistered"},
		"a card that the driver does not show": {nil, func(r *events.HostReport) { r.Devices[0].UUID = other }, "DeviceNotSeen DeviceNotRegistered"},
		"a lost card is told as health": {nil, func(r *events.HostReport) {
			r.Devices = append(r.Devices, events.ReportDevice{UUID: other, Lost: true})
		}, ""},
		"another total":                  {nil, func(r *events.HostReport) { r.Devices[0].TotalMiB -= 1000 }, "TotalMismatch"},
		"totals that differ by little":   {nil, func(r *events.HostReport) { r.Devices[0].TotalMiB -= 60 }, ""},
		"NVML could not be read":         {nil, func(r *events.HostReport) { r.NVML, r.Devices = "hung", nil }, ""},
		"a task that nobody told of":     {nil, func(r *events.HostReport) { r.Shares[0].TaskArn += "2" }, "TaskNotInLedger"},
		"stopped, and still there":       {func(x *ledger.Task) { x.Phase, x.StoppedAt = ledger.PhaseStopped, now.Add(-2*time.Minute) }, nil, "HeldAfterStop"},
		"stopped a moment ago":           {func(x *ledger.Task) { x.Phase, x.StoppedAt = ledger.PhaseStopped, now.Add(-30*time.Second) }, nil, ""},
		"no limit in force":              {nil, func(r *events.HostReport) { r.Shares[0].LimitMiB = nil }, "LimitMismatch"},
		"a looser limit in force":        {nil, func(r *events.HostReport) { r.Shares[0].LimitMiB = n(8000) }, "LimitMismatch"},
		"a tighter limit in force":       {nil, func(r *events.HostReport) { r.Shares[0].LimitMiB = n(2000) }, ""},
		"no ceiling in force":            {nil, func(r *events.HostReport) { r.Shares[0].Percent = nil }, "CeilingMismatch"},
		"no ceiling declared":            {func(x *ledger.Task) { x.Shares[0].Compute = 0 }, func(r *events.HostReport) { r.Shares[0].Percent = nil }, ""},
		"more than it declares":          {nil, func(r *events.HostReport) { r.Shares[0].UsedMiB = n(6500) }, "OverShare"},
		"memory that NVML does not tell": {nil, func(r *events.HostReport) { r.Shares[0].UsedMiB = nil }, ""},
		"beside MPS": {nil, func(r *events.HostReport) {
			r.Processes = []events.ReportProcess{{PID: 7, GPU: r.Devices[0].UUID, Kind: "bypass", TaskArn: chatARN, Container: "app"}}
		}, "MPSBypass"},
		"of no task": {nil, func(r *events.HostReport) {
			r.Processes = []events.ReportProcess{{PID: 7, GPU: r.Devices[0].UUID, Kind: "foreign", Command: "miner"}}
		}, "ForeignProcess"},
		"a neighbour on a whole card": {func(x *ledger.Task) {
			x.ARN, x.Shares[0].Need = chatARN+"-whole", ledger.NeedWhole
		}, func(r *events.HostReport) { r.Shares[0].TaskArn = chatARN + "-none" }, "TaskNotInLedger"},
	} {
		v := fleetHost(c.task)
		if got := kinds(Compare(v, seen(v, c.report), DefaultPolicy(), now)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestATaskOnACardThatAnotherHoldsWholeIsNamed(t *testing.T) {
	v := fleetHost(func(x *ledger.Task) { x.Shares[0].Need, x.Shares[0].Compute = ledger.NeedWhole, 0 })
	h, _ := ledger.ObserveTask(v.Host, ledger.Task{ARN: chatARN + "-b", Version: 1, LastStatus: "RUNNING"})
	v = h.View(now)
	r := seen(v, func(r *events.HostReport) { r.Shares[0].TaskArn += "-b" })
	if got := kinds(Compare(v, r, DefaultPolicy(), now)); got != "ModeMismatch" {
		t.Errorf("%q", got)
	}
}

func TestAnOldReportOrAnEndedHostNamesNothing(t *testing.T) {
	v := fleetHost(nil)
	r := seen(v, func(r *events.HostReport) { r.Shares[0].LimitMiB = nil })
	if got := Compare(v, r, DefaultPolicy(), now.Add(16*time.Minute)); got != nil {
		t.Errorf("a report of three leases ago: %v", got)
	}
	v.Host.EC2.State = "terminated"
	if got := Compare(v, r, DefaultPolicy(), now); got != nil {
		t.Errorf("a host that has ended: %v", got)
	}
}

func TestAGapKeepsWhenItWasFirstSeen(t *testing.T) {
	v := fleetHost(nil)
	r := seen(v, func(r *events.HostReport) { r.Shares[0].LimitMiB = nil })
	first := Compare(v, r, DefaultPolicy(), now)
	r.Since = Since(nil, first, now)
	r.ReceivedAt = now.Add(10 * time.Minute)
	later := Compare(v, r, DefaultPolicy(), now.Add(10*time.Minute))
	if len(later) != 1 || !strings.HasSuffix(later[0].Reason, "(for 10m0s)") {
		t.Errorf("%+v", later)
	}
	if got := Since(r.Since, later, now.Add(10*time.Minute)); !got[Key(first[0])].Equal(now) {
		t.Errorf("%v", got)
	}
	if got := Since(r.Since, nil, now); got != nil {
		t.Errorf("what went is remembered: %v", got)
	}
}

// Whatever a host says, nothing panics and every gap is about this host.
func TestAHostileReportIsComparedAndNamesOnlyItsHost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := ledgertest.Hosts().Draw(t, "host")
		v := h.View(now)
		ids := []string{"", "GPU-1", chatARN, "arn:", "\x00", string(ledgertest.Card(1))}
		for _, task := range h.Tasks {
			ids = append(ids, task.ARN)
		}
		for _, d := range h.Devices {
			ids = append(ids, string(d.UUID))
		}
		id := rapid.SampledFrom(ids)
		amount := rapid.Ptr(rapid.Int64(), true)
		r := Report{ReceivedAt: now, HostReport: events.HostReport{LeaseSeconds: rapid.Int().Draw(t, "lease"), NVML: rapid.SampledFrom([]string{"ok", "", "hung"}).Draw(t, "nvml"), ObservedAt: now, UptimeSeconds: 1e9}}
		for range rapid.IntRange(0, 4).Draw(t, "n") {
			r.Devices = append(r.Devices, events.ReportDevice{UUID: id.Draw(t, "card"), TotalMiB: rapid.Int64().Draw(t, "total")})
			r.Shares = append(r.Shares, events.ReportShare{TaskArn: id.Draw(t, "task"), Container: "app", GPU: id.Draw(t, "on"), UsedMiB: amount.Draw(t, "used"), LimitMiB: amount.Draw(t, "limit"), Percent: rapid.Ptr(rapid.Int32(), true).Draw(t, "percent"), Processes: rapid.Int().Draw(t, "processes")})
			r.Processes = append(r.Processes, events.ReportProcess{Kind: rapid.SampledFrom([]string{"bypass", "foreign", "x"}).Draw(t, "kind"), GPU: id.Draw(t, "at"), TaskArn: id.Draw(t, "of")})
		}
		for _, f := range Compare(v, r, DefaultPolicy(), now) {
			if f.Host != h.ID.Instance || f.Kind == "" || f.Reason == "" {
				t.Fatalf("%+v", f)
			}
		}
	})
}
