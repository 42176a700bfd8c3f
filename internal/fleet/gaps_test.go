package fleet

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-ecs/bulkhead/events"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

// The three witnesses, ECS, ledger and host, are compared by the sweep, and what
// differs is a finding that tells since when.
func TestWhatTheHostSeesIsComparedWithTheLedger(t *testing.T) {
	w := newWorld()
	ctx := context.Background()
	w.registers(1)
	w.hosts[instance(1)] = func() SeenHost {
		h := w.hosts[instance(1)]
		h.Seen.Fixed.EC2InstanceID = reporter
		return h
	}()
	w.runs(1, 1, 2)
	sweep := w.sweep()
	sweep.Vitals = w.Store
	if rep, err := sweep.Cluster(ctx, cluster); err != nil || len(rep.Gaps) != 0 {
		t.Fatalf("without a report: %+v, %v", rep, err)
	}
	r := reports(t, w)
	seen := func(sequence uint64) []byte {
		b, err := json.Marshal(events.HostReport{Schema: 1, InstanceID: reporter, BootID: "boot-1", Sequence: sequence, ObservedAt: w.now, SentAt: w.now, UptimeSeconds: 3600,
			LeaseSeconds: 300, Cause: "lease", NVML: "ok", MPS: events.ReportMPS{State: "serving"}, Devices: []events.ReportDevice{{UUID: string(card), TotalMiB: 22563}},
			Shares:    []events.ReportShare{{TaskArn: taskARN(1), Container: "app", GPU: string(card), Processes: 1, MPS: true}},
			Processes: []events.ReportProcess{{PID: 41, GPU: string(card), Kind: "foreign", Command: "miner\x1b[2J"}}})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for n := range uint64(2) {
		w.now = w.now.Add(4 * time.Minute)
		if _, err := r.Accept(ctx, signer(), reporter, seen(n+1)); err != nil {
			t.Fatal(err)
		}
	}
	rep, err := sweep.Cluster(ctx, cluster)
	if err != nil || rep.Gaps[ledger.LimitMismatch] != 1 || rep.Gaps[ledger.CeilingMismatch] != 1 || rep.Gaps[ledger.ForeignProcess] != 1 {
		t.Errorf("the sweep counts %v, %v", rep.Gaps, err)
	}
	q := Query{Store: w.Store, Vitals: w.Store, Clock: w.clock}
	fs, err := q.Findings(ctx, cluster)
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	for _, f := range fs {
		if f.Kind == ledger.LimitMismatch && strings.Contains(f.Reason, "no limit in force") && strings.HasSuffix(f.Reason, "(for 4m0s)") {
			told++
		}
	}
	if told != 1 {
		t.Errorf("%+v", fs)
	}
	w.now = w.now.Add(time.Hour)
	if fs, err = q.Findings(ctx, cluster); err != nil {
		t.Fatal(err)
	}
	for _, f := range fs {
		if f.Kind == ledger.LimitMismatch {
			t.Errorf("an old report is still compared: %+v", f)
		}
	}
}
