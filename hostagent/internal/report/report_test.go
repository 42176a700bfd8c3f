package report

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/bulkhead-ecs/bulkhead/events"
	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/spool"
)

var (
	t0    = time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC)
	quiet = slog.New(slog.DiscardHandler)
	keys  = aws.CredentialsProvider(credentials.NewStaticCredentialsProvider("AKID", "SECRET", "TOKEN"))
)

func sample(n int) events.HostReport {
	return events.HostReport{Schema: 1, InstanceID: "i-0a", BootID: "b", Sequence: uint64(n), AgentVersion: "1", ObservedAt: t0, SentAt: t0, Cause: CauseLease, NVML: "ok", MPS: events.ReportMPS{State: "ready", Since: t0}}
}

// api is an API that can be away, slow of mind, or deaf after it took a report.
type api struct {
	mu     sync.Mutex
	script []int // status of each next request; 0 closes the connection; -200 takes it and loses the answer
	high   map[string]uint64
	got    []uint64
	auth   []string
	head   http.Header
	date   time.Time
	answer *events.HostSettings
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	status := 200
	if len(a.script) > 0 {
		status, a.script = a.script[0], a.script[1:]
	}
	a.auth = append(a.auth, r.Header.Get("Authorization"))
	if !a.date.IsZero() {
		w.Header().Set("Date", a.date.UTC().Format(http.TimeFormat))
	}
	for k, v := range a.head {
		w.Header()[k] = v
	}
	body, _ := io.ReadAll(r.Body)
	rep, err := events.ReadHostReport(body)
	if err != nil || r.URL.Path != "/prod/v1/hosts/i-0a/reports" {
		http.Error(w, fmt.Sprint(r.URL.Path, err), 400)
		return
	}
	if (status == 200 || status == -200) && rep.Sequence > a.high[rep.BootID] {
		a.high[rep.BootID] = rep.Sequence
		a.got = append(a.got, rep.Sequence)
	}
	switch status {
	case 0, -200:
		panic(http.ErrAbortHandler)
	case 200:
		json.NewEncoder(w).Encode(events.HostReportAnswer{Schema: 1, Accepted: a.high[rep.BootID], Settings: a.answer})
	default:
		http.Error(w, "scripted", status)
	}
}

func start(t testing.TB, a *api) *Sender {
	srv := httptest.NewServer(a)
	t.Cleanup(srv.Close)
	s, err := NewSender(srv.URL+"/prod", "eu-west-1", keys)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Client.CloseIdleConnections)
	return s
}

func openSpool(t testing.TB, dir string) *spool.Spool {
	q, err := spool.Open(dir, "b", spool.DefaultLimits(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func put(t testing.TB, q *spool.Spool) uint64 {
	seq, err := q.Append(t0, func(n uint64) ([]byte, error) { return json.Marshal(sample(int(n))) })
	if err != nil {
		t.Fatal(err)
	}
	return seq
}

func pump(q *spool.Spool, s API) *Pump {
	p := NewPump(q, s, nil, quiet, func() float64 { return 0.5 })
	p.Backoff = Backoff{First: time.Microsecond, Most: time.Millisecond}
	return p
}

// Over any script of API failures, lost answers and restarts, each acknowledged
// report is taken once and in order.
func TestEveryAcknowledgedReportIsTakenOnce(t *testing.T) {
	a := &api{}
	s := start(t, a)
	rapid.Check(t, func(rt *rapid.T) {
		a.mu.Lock()
		a.high, a.got = map[string]uint64{}, nil
		a.script = rapid.SliceOfN(rapid.SampledFrom([]int{200, 200, 500, 503, 403, 429, 0, -200}), 0, 12).Draw(rt, "api")
		a.mu.Unlock()
		dir := t.TempDir()
		q := openSpool(t, dir)
		var want []uint64
		for range rapid.IntRange(1, 5).Draw(rt, "lives") {
			for range rapid.IntRange(0, 5).Draw(rt, "reports") {
				want = append(want, put(t, q))
			}
			p := pump(q, s)
			for range rapid.IntRange(0, 6).Draw(rt, "sends") {
				p.once(rt.Context(), 0)
			}
			q.Close()
			q = openSpool(t, dir)
		}
		p := pump(q, s)
		for i := 0; q.Len() > 0; i++ {
			if p.once(rt.Context(), 0); i > 200 {
				rt.Fatal("the queue does not empty")
			}
		}
		q.Close()
		if fmt.Sprint(a.got) != fmt.Sprint(want) {
			rt.Fatalf("got %v, want %v", a.got, want)
		}
	})
}

func TestARunningPumpRidesOutAnOutageAndStopsClean(t *testing.T) {
	a := &api{high: map[string]uint64{}, script: []int{500, 0, 503, 500}}
	s := start(t, a)
	q := openSpool(t, t.TempDir())
	defer q.Close()
	before := goleak.IgnoreCurrent()
	p := pump(q, s)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { p.Run(ctx); close(done) }()
	for range 20 {
		put(t, q)
		p.Wake()
	}
	for range 400 {
		if q.Len() == 0 {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	cancel()
	<-done
	if sent, _, failures := p.Counts(); sent != 20 || failures != 4 || len(a.got) != 20 {
		t.Errorf("sent %d, failures %d, got %v", sent, failures, a.got)
	}
	s.Client.CloseIdleConnections()
	goleak.VerifyNone(t, before)
}

func TestAnAnswerTellsLaterOrNever(t *testing.T) {
	a := &api{high: map[string]uint64{}, head: http.Header{"Retry-After": {"7"}}}
	s := start(t, a)
	for status, permanent := range map[int]bool{400: true, 413: true, 422: true, 401: false, 403: false, 409: false, 429: false, 500: false, 302: false} {
		a.script = []int{status}
		_, err := s.Send(t.Context(), sample(1))
		var f *Failure
		if !errors.As(err, &f) || f.Permanent != permanent || f.Status != status || f.After != 7*time.Second {
			t.Errorf("%d: %+v", status, err)
		}
	}
	if !strings.Contains(a.auth[0], "Credential=AKID/") || !strings.Contains(a.auth[0], "/eu-west-1/execute-api/aws4_request") {
		t.Errorf("signature: %s", a.auth[0])
	}
	q := openSpool(t, t.TempDir())
	defer q.Close()
	put(t, q)
	put(t, q)
	a.script = []int{422}
	p := pump(q, s)
	p.Flush(t.Context())
	if sent, refused, _ := p.Counts(); sent != 1 || refused != 1 || q.Len() != 0 {
		t.Errorf("a refused report stands in the way: sent %d, refused %d, %d wait", sent, refused, q.Len())
	}
}

func TestAHostWithAWrongClockSignsByTheAPIsClock(t *testing.T) {
	a := &api{high: map[string]uint64{}, date: time.Now().Add(3 * time.Hour)}
	s := start(t, a)
	for range 2 {
		if _, err := s.Send(t.Context(), sample(1)); err != nil {
			t.Fatal(err)
		}
	}
	if off := time.Duration(s.skew.Load()); off < 2*time.Hour {
		t.Errorf("skew %s", off)
	}
	a.date = time.Now()
	s.Send(t.Context(), sample(1))
	if s.skew.Load() != 0 {
		t.Error("a mended clock is still mistrusted")
	}
}

func TestSettingsOfAnAnswerAreApplied(t *testing.T) {
	lease := 60
	a := &api{high: map[string]uint64{}, answer: &events.HostSettings{Version: "v2", LeaseSeconds: &lease}}
	q := openSpool(t, t.TempDir())
	defer q.Close()
	put(t, q)
	var got events.HostSettings
	p := pump(q, start(t, a))
	p.Apply = func(s events.HostSettings) error { got = s; return nil }
	p.Flush(t.Context())
	if got.Version != "v2" || *got.LeaseSeconds != 60 {
		t.Errorf("%+v", got)
	}
}

func TestAnEndpointMustBeSafeToSignFor(t *testing.T) {
	for _, e := range []string{"", "ftp://x", "http://example.com", "https://", "://"} {
		if _, err := NewSender(e, "r", keys); err == nil {
			t.Errorf("%q was taken", e)
		}
	}
}

func TestAReportGoesAtAChangeAtOnceAndAtTheLeaseElse(t *testing.T) {
	r := sample(1)
	cause, p := Due(nil, r, Pace{}, t0)
	if cause != CauseStart {
		t.Fatal(cause)
	}
	p = p.Said(t0, 300*time.Second, 0.5)
	if cause, p = Due(&r, r, p, t0.Add(284*time.Second)); cause != "" {
		t.Errorf("early: %s", cause)
	}
	if cause, p = Due(&r, r, p, t0.Add(285*time.Second)); cause != CauseLease {
		t.Errorf("at the lease less jitter: %q", cause)
	}
	used := int64(5)
	moved := sample(1)
	moved.Devices = []events.ReportDevice{{UUID: "GPU-1", UsedMiB: &used}}
	same := sample(1)
	same.Devices = []events.ReportDevice{{UUID: "GPU-1"}}
	if Changed(moved, same) {
		t.Error("memory that moves is told at once")
	}
	changed := r
	changed.MPS.State = "fault"
	now, sent := t0.Add(time.Second), 0
	for range 100 { // a storm within a tenth of a second
		now = now.Add(time.Millisecond)
		if cause, p = Due(&r, changed, p, now); cause == CauseChange {
			sent++
			p = p.Said(now, 300*time.Second, 0)
		}
	}
	if sent != int(Burst) {
		t.Errorf("a storm sent %d", sent)
	}
	if cause, _ = Due(&r, changed, p, now.Add(time.Second)); cause != CauseChange {
		t.Error("what waited is not told after a second")
	}
}

func TestTheWaitGrowsStaysBoundedAndHeedsTheAPI(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := DefaultBackoff()
		n, c := rapid.IntRange(1, 1000).Draw(t, "n"), rapid.Float64Range(0, 0.999).Draw(t, "chance")
		asked := time.Duration(rapid.IntRange(0, 600).Draw(t, "asked")) * time.Second
		if w := b.Wait(n, c, asked); w < asked+b.First/10 || w > asked+b.Most {
			t.Fatalf("%s", w)
		}
	})
}
