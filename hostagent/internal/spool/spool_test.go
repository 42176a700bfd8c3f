package spool

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var t0 = time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC)

func body(text string) func(uint64) ([]byte, error) {
	return func(seq uint64) ([]byte, error) { return fmt.Appendf(nil, "%s#%d", text, seq), nil }
}

// crash lets go of the directory as the death of the process does.
func crash(s *Spool) {
	if s.file != nil {
		s.file.Close()
	}
	s.lock.Close()
}

// receiver is the API: it keeps the highest number of each boot.
type receiver struct {
	high map[string]uint64
	got  []string
}

func (a *receiver) accept(r Record) {
	if r.Seq > a.high[r.Boot] {
		a.high[r.Boot] = r.Seq
		a.got = append(a.got, fmt.Sprintf("%s/%d", r.Boot, r.Seq))
	}
}

// Whatever the order of crashes, reboots, torn writes and API failures: each
// report whose append was acknowledged arrives once, in its boot's order.
func TestEachReportArrivesOnceAndInOrderOverCrashesAndOutages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "spool")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		limits := Limits{Bytes: 1 << 20, Segment: int64(rapid.IntRange(60, 400).Draw(t, "segment"))}
		boot, api, want := 1, &receiver{high: map[string]uint64{}}, []string(nil)
		open := func() *Spool {
			s, err := Open(dir, fmt.Sprint("boot", boot), limits, 0)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		s := open()
		send := func(answered, acked bool) bool {
			r, p, ok, err := s.Peek()
			if err != nil {
				t.Fatal(err)
			}
			if ok && answered {
				api.accept(r)
				if acked && s.Ack(p) != nil {
					t.Fatal("ack failed")
				}
			}
			return ok
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"append", "append", "append", "send", "send", "fail", "lost", "crash", "torn", "reboot"}).Draw(t, "step") {
			case "append":
				seq, err := s.Append(t0, body(strings.Repeat("x", rapid.IntRange(0, 90).Draw(t, "size"))))
				if err != nil {
					t.Fatal(err)
				}
				want = append(want, fmt.Sprintf("boot%d/%d", boot, seq))
			case "send":
				send(true, true)
			case "fail": // the API did not take it
				send(false, false)
			case "lost": // it did, and the answer was lost with the process
				send(true, false)
				crash(s)
				s = open()
			case "crash":
				crash(s)
				s = open()
			case "torn": // killed within a write
				crash(s)
				b := encode(nil, Record{Seq: 1 << 40, Boot: "torn", Payload: []byte("never acknowledged")})
				if n := len(s.segs); n > 0 {
					f, _ := os.OpenFile(s.path(s.segs[n-1].id), os.O_APPEND|os.O_WRONLY, 0)
					f.Write(b[:rapid.IntRange(1, len(b)-1).Draw(t, "cut")])
					f.Close()
				}
				s = open()
			case "reboot":
				crash(s)
				boot++
				s = open()
			}
		}
		for send(true, true) {
		}
		if strings.Join(api.got, " ") != strings.Join(want, " ") {
			t.Fatalf("got  %v\nwant %v", api.got, want)
		}
		if d := s.Drops(); d.Records != 0 || s.Len() != 0 {
			t.Fatalf("%+v, %d wait", d, s.Len())
		}
		crash(s)
	})
}

// TestMain lets the binary be a writer that is killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv("SPOOL_TEST_WRITER"); dir != "" {
		s, err := Open(dir, "b", Limits{Bytes: 64 << 20, Segment: 4 << 10}, 0)
		if err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		for {
			seq, err := s.Append(time.Now(), body(strings.Repeat("y", 700)))
			if err != nil {
				os.Exit(1)
			}
			fmt.Println(seq)
		}
	}
	os.Exit(m.Run())
}

func TestAnAcknowledgedAppendSurvivesSIGKILLAtAnyPoint(t *testing.T) {
	dir := t.TempDir()
	last := uint64(0)
	for range 12 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "SPOOL_TEST_WRITER="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Duration(20+rand.IntN(60))*time.Millisecond, func() { cmd.Process.Signal(syscall.SIGKILL) })
		first := true
		for sc := bufio.NewScanner(out); sc.Scan(); first = false {
			var seq uint64
			if n, _ := fmt.Sscan(sc.Text(), &seq); n == 1 {
				if first && seq <= last {
					t.Fatalf("number %d was given twice (last %d)", seq, last)
				}
				last = max(last, seq)
			}
		}
		cmd.Wait()
	}
	s, err := Open(dir, "b", Limits{Bytes: 64 << 20, Segment: 4 << 10}, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for want := uint64(1); want <= last; want++ {
		r, p, ok, err := s.Peek()
		if err != nil || !ok || r.Seq != want {
			t.Fatalf("want %d: %d %v %v", want, r.Seq, ok, err)
		}
		if err := s.Ack(p); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d records over 12 kills, %+v", last, s.Drops())
	if last < 100 {
		t.Errorf("the writer wrote only %d records: the kills prove little", last)
	}
}

func mustOpen(t *testing.T, dir string, l Limits) *Spool {
	t.Helper()
	s, err := Open(dir, "b", l, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestBytesAndAgeDropTheOldestAndCountThem(t *testing.T) {
	s := mustOpen(t, t.TempDir(), Limits{Bytes: 600, Segment: 150, Age: time.Hour})
	for i := range 40 {
		if _, err := s.Append(t0, body("0123456789")); err != nil {
			t.Fatal(i, err)
		}
	}
	r, _, ok, _ := s.Peek()
	if d := s.Drops(); !ok || s.total() > 600 || d.Records == 0 || int(d.Records)+s.Len() != 40 || r.Seq != d.Records+1 {
		t.Errorf("%+v, %d wait, oldest %d", d, s.Len(), r.Seq)
	}
	before := s.Drops().Records
	s.Append(t0.Add(50*time.Minute), body("later"))
	s.Append(t0.Add(61*time.Minute), body("later"))
	if s.Drops().Records <= before {
		t.Error("nothing aged")
	}
	n := s.Drops().Records
	s.Append(t0.Add(1000*time.Hour), body("the clock leapt"))
	if s.Drops().Records != n {
		t.Error("a clock that leapt emptied the spool")
	}
}

func TestAFullDiskDropsTheOldestAndThenSaysSo(t *testing.T) {
	s := mustOpen(t, t.TempDir(), Limits{Bytes: 1 << 20, Segment: 200})
	for range 20 {
		s.Append(t0, body("0123456789"))
	}
	full := 3
	s.write = func(f *os.File, b []byte) (int, error) {
		if full > 0 {
			full--
			n, _ := f.Write(b[:5])
			return n, syscall.ENOSPC
		}
		return f.Write(b)
	}
	seq, err := s.Append(t0, body("room was made"))
	if err != nil || seq != 21 || s.Drops().Records == 0 {
		t.Fatalf("%d %v %+v", seq, err, s.Drops())
	}
	full = 1 << 20
	if _, err := s.Append(t0, body("no room")); !errors.Is(err, ErrWrite) || !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("%v", err)
	}
	full = 0
	if seq, err := s.Append(t0, body("again")); err != nil || seq != 22 {
		t.Errorf("a failed append used up a number: %d %v", seq, err)
	}
	var got []uint64
	for {
		r, p, ok, err := s.Peek()
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			break
		}
		got = append(got, r.Seq)
		s.Ack(p)
	}
	if len(got) == 0 || got[len(got)-1] != 22 {
		t.Errorf("%v", got)
	}
}

func TestCorruptBytesCostTheirRecordAlone(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir, Limits{Bytes: 1 << 20, Segment: 1 << 19})
	for range 5 {
		s.Append(t0, body("0123456789"))
	}
	path := s.path(s.segs[0].id)
	s.Close()
	b, _ := os.ReadFile(path)
	size := len(b) / 5
	b[2*size+20] ^= 0xff                                   // within the third
	binary.LittleEndian.PutUint32(b[3*size+4:], 1<<31)     // the fourth claims to be huge
	b = append(b, bytes.Repeat([]byte("BHR1\x00"), 50)...) // a tail of empty promises
	os.WriteFile(path, b, 0o600)
	os.WriteFile(filepath.Join(dir, markName), []byte("garbage"), 0o600)
	os.WriteFile(filepath.Join(dir, "zzzz.seg"), []byte("not ours"), 0o600)
	s = mustOpen(t, dir, Limits{Bytes: 1 << 20, Segment: 1 << 19})
	var got []uint64
	for {
		r, p, ok, err := s.Peek()
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			break
		}
		got = append(got, r.Seq)
		s.Ack(p)
	}
	if fmt.Sprint(got) != "[1 2 5]" || s.Drops().Corrupt == 0 {
		t.Errorf("%v %+v", got, s.Drops())
	}
	if seq, err := s.Append(t0, body("on")); err != nil || seq != 6 {
		t.Errorf("%d %v", seq, err)
	}
}

func TestTheNumberOutlivesItsRecordsAndItsOwnerIsOne(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir, DefaultLimits())
	for range 3 {
		s.Append(t0, body("x"))
		_, p, _, _ := s.Peek()
		s.Ack(p)
	}
	if _, err := Open(dir, "b", DefaultLimits(), 0); !errors.Is(err, ErrLocked) {
		t.Errorf("a second owner: %v", err)
	}
	s.Close()
	s = mustOpen(t, dir, DefaultLimits())
	if seq, err := s.Append(t0, body("x")); err != nil || seq != 4 {
		t.Errorf("%d %v", seq, err)
	}
	if _, err := s.Append(t0, func(uint64) ([]byte, error) { return make([]byte, MaxRecordBytes+1), nil }); !errors.Is(err, ErrTooLarge) {
		t.Errorf("%v", err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(encode(nil, Record{Seq: 1, Boot: "b", Payload: []byte("p")}))
	f.Add([]byte("BHR1\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		for at := 0; at < len(b); {
			_, n, skipped, ok := decode(b[at:])
			if n <= 0 || skipped > n || at+n > len(b) {
				t.Fatalf("size %d, skipped %d", n, skipped)
			}
			if at += n; !ok {
				return
			}
		}
	})
}
