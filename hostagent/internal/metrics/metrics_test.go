package metrics

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/bulkhead-ecs/bulkhead/events"
)

func page1(t *testing.T, s Snapshot) map[string]int {
	t.Helper()
	var b strings.Builder
	Write(&b, s)
	p := expfmt.NewTextParser(model.LegacyValidation)
	fams, err := p.TextToMetricFamilies(strings.NewReader(b.String()))
	if err != nil {
		t.Fatalf("%v\n%s", err, b.String())
	}
	n := map[string]int{}
	for name, f := range fams {
		n[name] = len(f.Metric)
	}
	return n
}

func TestThePageIsReadByTheFormatsParserAndSeriesGoWithTheirTask(t *testing.T) {
	used, pct := int64(5), int32(40)
	s := Snapshot{Version: "1", Xids: map[int]uint64{31: 2}, LastXid: time.Unix(1, 0), Report: events.HostReport{
		Devices: []events.ReportDevice{{UUID: "GPU-1", TotalMiB: 23034, UsedMiB: &used, Compute: &pct}},
		Shares:  []events.ReportShare{{TaskArn: "t\"1\n\\", Container: "\xff", GPU: "GPU-1", UsedMiB: &used, Processes: 1}},
		MPS:     events.ReportMPS{State: "serving"},
	}}
	n := page1(t, s)
	if n["ecsgpu_task_memory_bytes"] != 1 || n["ecsgpu_gpu_memory_bytes"] != 2 || n["ecsgpu_xid_total"] != 1 || n["ecsgpu_mps_server_state"] != len(phases) {
		t.Errorf("%v", n)
	}
	s.Report.Shares = nil
	if n := page1(t, s); n["ecsgpu_task_memory_bytes"] != 0 || n["ecsgpu_task_processes"] != 0 {
		t.Errorf("series outlive their task: %v", n)
	}
}

func TestItIsServed(t *testing.T) {
	srv, err := Serve("127.0.0.1:39464", func() Snapshot { return Snapshot{Version: "1"} })
	if err != nil {
		t.Skip(err)
	}
	defer srv.Close()
	resp, err := http.Get("http://127.0.0.1:39464/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, _ := io.ReadAll(resp.Body); !strings.Contains(string(b), `ecsgpu_build_info{version="1"} 1`) {
		t.Errorf("%s", b)
	}
}
