package kmsg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var shapes = []struct {
	text string
	want string // fields that matter, by brief; "" is no line of interest
}{
	{"NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, name=python3, GPU has fallen off the bus.", "xid 0000:3b:00 79 pid=1234 name=python3"},
	{"NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.", "xid 0000:3b:00 79"},
	{`NVRM: Xid (PCI:0000:3b:00): 31, pid="77", name=a b, Ch 00000008, intr 00000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_0 faulted @ 0x7f`, "xid 0000:3b:00 31 pid=77 name=a b unit=GPCCLIENT_T1_0"},
	{"NVRM: Xid (0000:01:00): 13, 0003 00000000 0000a0c0 00001b0c 00000000 00000000", "xid 0000:01:00 13"},
	{"NVRM: Xid (0000:01:00): 6, PE0000 0000", "xid 0000:01:00 6"},
	{"NVRM: Xid (PCI:0000:1b:00): 13, pid=9, name=t, Graphics SM Warp Exception on (GPC 0, TPC 1, SM 0): Out Of Range Address", "xid 0000:1b:00 13 pid=9 name=t unit=GPC 0, TPC 1, SM 0"},
	{"NVRM: Xid (PCI:0000:dc:00): 45, pid=1818990, name=python3, Ch 00000001 caused by previous Xid 149", "xid 0000:dc:00 45 pid=1818990 name=python3 cause=149"},
	{"NVRM: Xid (PCI:0000:18:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)", "xid 0000:18:00 154 recovery=1"},
	{"NVRM: Xid (PCI:0000:18:00): 154, pid='<unknown>', name=<unknown>, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)", "xid 0000:18:00 154 recovery=0"},
	{"NVRM: Xid (PCI:0000:18:00): 154, GPU recovery action changed from None to Drain and Reset", "xid 0000:18:00 154 recovery=4"},
	{"NVRM: Xid (PCI:0000:18:00): 154, GPU recovery action changed from None to Node Reboot Required", "xid 0000:18:00 154 recovery=2"},
	{"NVRM: Xid (PCI:0019:01:00): 149, NETIR Fatal XC0 i0 Link -1 (0x000fe406 0x00000000)", "xid 0019:01:00 149 fatal"},
	{"NVRM: Xid (PCI:0000:00:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 08 (0x025001c6)", "xid 0000:00:00 149 fatal link=8"},
	{"NVRM: Xid (PCI:0018:01:00): 145, RLW_RXPIPE Nonfatal XC0 i0 Link 13 (0x0409a0c2)", "xid 0018:01:00 145 link=13"},
	{"NVRM: Xid (PCI:0000:9b:00 GPU-I:05): 94, pid=1234, name=python3, Contained ECC error", "xid 0000:9b:00 94 pid=1234 name=python3 mig=GPU-I:05"},
	{"NVRM: Xid (PCI:0000:9b:00): 63, Row Remapper: New row marked for remapping, reset gpu to activate.", "xid 0000:9b:00 63"},
	{"nvidia-nvswitch3: SXid (PCI:0000:c5:00.0): 20034, Fatal, Link 30 LTSSM Fault Up", "sxid 0000:c5:00 20034 fatal link=30"},
	{"nvidia-nvswitch3: SXid (PCI:0000:04:00.0): 22013, Non-fatal, Link 44 Minion Link DLREQ interrupt", "sxid 0000:04:00 22013 link=44"},
	{"nvidia-nvswitch3: SXid (PCI:0000:04:00.0): 22013, Severity 0 Engine instance 44 Sub-engine instance 00", "detail 0000:04:00 22013"},
	{"nvidia-nvswitch1: SXid (PCI:0000:84:00.0): 12028, Data {0x000001c0, 0x00bd5c8a}", "detail 0000:84:00 12028"},
	{"NVRM: GPU at 0000:01:00.0 has fallen off the bus.", "off-bus 0000:01:00 0"},
	{"NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus.", "off-bus 0000:3b:00 0"},
	{"NVRM: The NVIDIA GPU 0000:3b:00.0 (PCI ID: 10de:27b8) installed in this system has fallen off the bus and is not responding to commands.", "off-bus 0000:3b:00 0"},
	{"NVRM: GPU at PCI:0000:3b:00: GPU-3f1c6b2e-0a5d-4b7e-9c38-2f6d1e7a9b40", "identity 0000:3b:00 0"},
	{"NVRM: API mismatch: the client has the version 535.1, but", "mismatch  0"},
	{"NVRM: Xid (PCI:0000:3b:00): 99999999999, pid=1", ""},
	{"NVRM: Xid (PCI:zz): 79, pid=1", ""},
	{"NVRM: Xid (PCI:0000:3b:00)", ""},
	{"NVRM: Xid (PCI:0000:3b:00): -79, x", ""},
	{"NVRM: Xid (PCI:0000:3b:00): 79x", ""},
	{"python3[12]: NVRM: Xid (PCI:0000:3b:00): 79, pid=1", ""},
	{"nvidia-nvswitchX: SXid (PCI:0000:c5:00.0): 20034, Fatal", ""},
	{"NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  570.195.03", ""},
	{"", ""},
}

func brief(l Line) string {
	s := fmt.Sprintf("%s %s %d", l.Kind, l.Address, l.Code)
	add := func(ok bool, f string, v any) {
		if ok {
			s += fmt.Sprintf(" "+f, v)
		}
	}
	add(l.PID != 0, "pid=%d", l.PID)
	add(l.Process != "", "name=%s", l.Process)
	add(l.Cause != 0, "cause=%d", l.Cause)
	add(l.Recovery >= 0, "recovery=%d", l.Recovery)
	if l.Fatal {
		s += " fatal"
	}
	add(l.Link >= 0 && l.Kind != Detail, "link=%d", l.Link)
	add(l.Unit != "", "unit=%s", l.Unit)
	add(l.Instance != "", "mig=%s", l.Instance)
	return s
}

func TestEveryKnownShapeOfLineIsRead(t *testing.T) {
	for _, c := range shapes {
		l, ok := ParseLine(c.text)
		got := ""
		if ok {
			got = brief(l)
		}
		if got != c.want {
			t.Errorf("%s\n got %q\nwant %q", c.text, got, c.want)
		}
	}
}

func FuzzNoLineBreaksTheParser(f *testing.F) {
	for _, c := range shapes {
		f.Add([]byte("3,42,1000,-;" + c.text))
	}
	f.Add([]byte("6,1,2,c;\x1b[31m\x00NVRM: Xid (PCI:0000:3b:00): 79\nKEY=value\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, ok := ParseRecord(b)
		if !ok {
			return
		}
		l, ok := ParseLine(r.Text)
		for _, s := range []string{r.Text, l.Text, l.Process, l.Unit, l.Instance, l.UUID, l.Address} {
			if len(s) > MaxText || strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c > '~' }) {
				t.Fatalf("text %q of %q", s, b)
			}
		}
		if ok && (l.Kind == "" || l.Code < 0 || l.Code > maxCode || l.PID < 0 || l.PID > 1<<22) {
			t.Fatalf("%+v", l)
		}
	})
}

// script is a source that gives its records and then blocks until closed.
type script struct {
	steps  []any // string: a record, error: a failure
	closed chan struct{}
}

func (s *script) Read(b []byte) (int, error) {
	if len(s.steps) == 0 {
		<-s.closed
		return 0, os.ErrClosed
	}
	step := s.steps[0]
	s.steps = s.steps[1:]
	if err, ok := step.(error); ok {
		return 0, err
	}
	return copy(b, step.(string)), nil
}

func (s *script) Close() error { close(s.closed); return nil }

func read(t *testing.T, after uint64, steps ...any) (lines []Seen, lost uint64, c Counters) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	r := &Reader{Source: &script{append(steps, nil)[:len(steps)], make(chan struct{})}, After: after,
		Now: func() time.Time { return now }, Uptime: func() time.Duration { return 100 * time.Second },
		OnLine: func(s Seen) { lines = append(lines, s) }, OnLoss: func(n uint64) { lost += n }}
	time.AfterFunc(50*time.Millisecond, cancel)
	c, err := r.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return lines, lost, c
}

func TestForgedLinesAreCountedAndNotBelieved(t *testing.T) {
	xid := ";NVRM: Xid (PCI:0000:3b:00): 79, pid=1, name=x, GPU has fallen off the bus.\n"
	lines, _, c := read(t, 0, "3,1,99000000,-"+xid, "12,2,99000000,-"+xid, "30,3,99000000,-"+xid, "junk", "6,4,1,-;hello\n")
	if len(lines) != 1 || lines[0].Sequence != 1 || c.Foreign != 2 || c.Refused != 1 || c.Records != 4 {
		t.Fatalf("%d lines, %+v", len(lines), c)
	}
	if want := time.Date(2026, 12, 1, 11, 59, 59, 0, time.UTC); !lines[0].At.Equal(want) {
		t.Errorf("time %s, want %s", lines[0].At, want)
	}
}

func TestOverrunIsCountedAndReadingGoesOn(t *testing.T) {
	xid := ";NVRM: Xid (PCI:0000:3b:00): 13, x\n"
	lines, lost, c := read(t, 0, "3,5,1,-"+xid, syscall.EPIPE, "3,105,1,-"+xid, syscall.EINVAL, syscall.EINTR, "3,106,1,-"+xid)
	if len(lines) != 3 || lost != 99 || c.Lost != 99 {
		t.Errorf("%d lines, lost %d, %+v", len(lines), lost, c)
	}
}

func TestARestartTellsOnlyWhatIsNew(t *testing.T) {
	xid := ";NVRM: Xid (PCI:0000:3b:00): 13, x\n"
	lines, _, _ := read(t, 6, "3,5,1,-"+xid, "3,6,1,-"+xid, "3,7,1,-"+xid)
	if len(lines) != 1 || lines[0].Sequence != 7 {
		t.Errorf("%+v", lines)
	}
}

func TestAFailingSourceIsAnErrorAndNoSpin(t *testing.T) {
	r := &Reader{Source: &script{[]any{syscall.EIO}, make(chan struct{})}, Now: time.Now, Uptime: func() time.Duration { return 0 }}
	if _, err := r.Run(t.Context()); err == nil {
		t.Error("no error")
	}
	r.Source = &script{[]any{io.EOF}, make(chan struct{})}
	if _, err := r.Run(t.Context()); err == nil {
		t.Error("no error at the end")
	}
}

func TestABurstIsCountedToTheLastLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var g Gate
		now := time.Unix(1000, 0)
		total, told, held := rapid.IntRange(1, 400).Draw(t, "lines"), int64(0), int64(0)
		take := func() {
			f, over := g.Take(now)
			held += over
			for _, x := range f {
				held += x.Count
			}
		}
		for i := range total {
			now = now.Add(time.Duration(rapid.IntRange(0, 3000).Draw(t, "ms")) * time.Millisecond)
			if g.Pass("", Line{Kind: Xid, Address: "0000:3b:00", Code: 13 + i%rapid.IntRange(1, 40).Draw(t, "codes")}, now) {
				told++
			}
			if i%50 == 49 {
				take()
			}
		}
		take()
		if told+held != int64(total) {
			t.Fatalf("%d told + %d held of %d", told, held, total)
		}
	})
}

func TestAStormTellsFewLines(t *testing.T) {
	var g Gate
	now, told := time.Unix(1000, 0), 0
	for range 10_000 {
		if g.Pass("", Line{Kind: Xid, Code: 31}, now) {
			told++
		}
		now = now.Add(time.Millisecond)
	}
	if told != gateBurst {
		t.Errorf("%d told in 10 s", told)
	}
}

// The law of the union: of each (card, code), as many events come out as the
// louder witness told, when all fall in one window.
func TestTheUnionHasNoDoublesAndLosesNothing(t *testing.T) {
	cards := []gpu.UUID{"GPU-0a", "GPU-0b"}
	rapid.Check(t, func(t *rapid.T) {
		var u Union
		type key struct {
			d gpu.UUID
			c int
		}
		kernel, nvml, out := map[key]int64{}, map[key]int64{}, map[key]int64{}
		now := time.Unix(1000, 0)
		for range rapid.IntRange(0, 40).Draw(t, "events") {
			now = now.Add(time.Duration(rapid.IntRange(0, 10).Draw(t, "ms")) * time.Millisecond)
			k := key{rapid.SampledFrom(cards).Draw(t, "card"), rapid.SampledFrom([]int{13, 79}).Draw(t, "code")}
			if rapid.Bool().Draw(t, "kernel") {
				kernel[k]++
				out[k] += u.Kernel(k.d, Line{Kind: Xid, Code: k.c}, 1, now).Count
			} else {
				nvml[k]++
				u.NVML(k.d, k.c, now)
			}
			if len(u.nvml) > 0 && u.Next().IsZero() {
				t.Fatal("something waits and nothing is due")
			}
		}
		for _, e := range u.Due(now.Add(unionHold)) {
			out[key{e.Device, e.Line.Code}] += e.Count
		}
		for _, d := range cards {
			for _, c := range []int{13, 79} {
				k := key{d, c}
				if want := max(kernel[k], nvml[k]); out[k] != want {
					t.Fatalf("%v: kernel %d nvml %d told %d", k, kernel[k], nvml[k], out[k])
				}
			}
		}
	})
}

func TestEventsFarApartAreNotOne(t *testing.T) {
	var u Union
	now := time.Unix(1000, 0)
	u.Kernel("GPU-0a", Line{Kind: Xid, Code: 13}, 1, now)
	u.NVML("GPU-0a", 13, now.Add(time.Minute))
	due := u.Due(now.Add(2 * time.Minute))
	if len(due) != 1 || !due[0].FromNVML {
		t.Errorf("%+v", due)
	}
	if !slices.ContainsFunc(due, func(e Event) bool { return e.At.Equal(now.Add(time.Minute)) }) {
		t.Error("the time of an event is when it came")
	}
}

func TestTheRealKernelLogCanBeReadAndLeft(t *testing.T) {
	src, err := Open(Path)
	if err != nil {
		t.Skipf("the kernel log cannot be opened here: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	r := &Reader{Source: src, Now: time.Now, Uptime: func() time.Duration { return 0 }, OnLine: func(Seen) {}}
	done := make(chan error, 1)
	var c Counters
	go func() {
		var err error
		c, err = r.Run(ctx)
		done <- err
	}()
	select {
	case err := <-done:
		if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EAGAIN) {
			t.Skipf("the kernel log cannot be read here: %v", err)
		}
		if err != nil || c.Refused > 0 {
			t.Errorf("%v %+v", err, c)
		}
		t.Logf("%d records", c.Records)
	case <-time.After(5 * time.Second):
		t.Fatal("Run did not end with its context")
	}
}

// The law of the stream: through limits and union, of each (card, code) as many
// events come out as the louder witness told.
func TestTheStreamCountsWhatTheLouderWitnessTold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s Stream
		var kernel, nvml, out int64
		now := time.Unix(1000, 0)
		add := func(events []Event) {
			for _, e := range events {
				if e.Device != "GPU-0a" || e.Line.Code != 31 || e.Count < 1 || e.First.After(e.At) {
					t.Fatalf("%+v", e)
				}
				out += e.Count
			}
		}
		for range rapid.IntRange(0, 90).Draw(t, "events") { // all within the time that an NVML event waits
			now = now.Add(time.Duration(rapid.IntRange(0, 5).Draw(t, "ms")) * time.Millisecond)
			if rapid.Bool().Draw(t, "kernel") {
				kernel++
				if e, ok := s.Kernel("GPU-0a", Line{Kind: Xid, Code: 31}, now); ok {
					add([]Event{e})
				}
			} else {
				nvml++
				s.NVML("GPU-0a", 31, now)
			}
			if rapid.IntRange(0, 9).Draw(t, "tick") == 0 {
				add(s.Tick(now))
			}
		}
		add(s.Tick(now.Add(unionHold)))
		add(s.Tick(now.Add(time.Hour)))
		if out != max(kernel, nvml) {
			t.Fatalf("kernel %d nvml %d told %d", kernel, nvml, out)
		}
	})
}

func TestAStormOfBothWitnessesIsToldOnceAndBriefly(t *testing.T) {
	var s Stream
	now, told, count := time.Unix(1000, 0), 0, int64(0)
	for range 2000 {
		if e, ok := s.Kernel("GPU-0a", Line{Kind: Xid, Code: 31, PID: 7}, now); ok {
			told, count = told+1, count+e.Count
		}
		s.NVML("GPU-0a", 31, now)
		now = now.Add(time.Millisecond)
	}
	for _, e := range s.Tick(now.Add(time.Second)) {
		told, count = told+1, count+e.Count
	}
	if told > gateBurst+1 || count != 2000 {
		t.Errorf("%d events that stand for %d", told, count)
	}
}

func BenchmarkRecordToEvent(b *testing.B) {
	var s Stream
	record := []byte("3,42,1000,-;NVRM: Xid (PCI:0000:3b:00): 31, pid=77, name=python3, Ch 00000008, intr 00000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_0 faulted\n")
	now := time.Unix(1000, 0)
	for b.Loop() {
		r, _ := ParseRecord(record)
		l, ok := ParseLine(r.Text)
		if !ok {
			b.Fatal("not read")
		}
		now = now.Add(time.Minute)
		s.Kernel("GPU-0a", l, now)
	}
}
