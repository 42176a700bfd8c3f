package mps

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var t0 = time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC)

func serving(status ServerStatus, clients ...int) Observation {
	return Observation{Answer: AnswerOK, Listed: true, Servers: []Server{{PID: 90, Status: status, Clients: clients}}}
}

func logged(lines ...string) []LogEvent {
	var out []LogEvent
	for _, l := range lines {
		at, text, _ := strings.Cut(l, " ")
		e, ok := ParseLog("[2026-11-30 03:"+at+".000 Other  90] "+text, time.UTC)
		if !ok {
			panic(l)
		}
		out = append(out, e)
	}
	return out
}

// step is a look: at after t0, and the phase that must follow.
type step struct {
	at   time.Duration
	o    Observation
	want Phase
}

func TestThePhaseFollowsTheDaemon(t *testing.T) {
	fail := func(k AnswerKind) Observation { return Observation{Answer: k} }
	up := Observation{Answer: AnswerOK, Listed: true}
	fatal := []string{"05:00 Server is handling a fatal GPU error.", "05:00 status of client {41, 1} is INACTIVE", "05:00 The following devices",
		"05:00 0", "05:00 The following clients have a sticky error set:", "05:00 41", "05:00 42"}
	with := func(o Observation, lines ...string) Observation { o.Log = logged(lines...); return o }
	for name, steps := range map[string][]step{
		"no socket is starting in grace and absent after it": {
			{0, fail(AnswerNoSocket), Starting}, {20 * time.Second, fail(AnswerNoSocket), Starting}, {100 * time.Second, fail(AnswerNoSocket), Starting}, {121 * time.Second, fail(AnswerNoSocket), Absent}},
		"the first answer is enough": {{0, fail(AnswerNoSocket), Starting}, {time.Second, up, Ready}},
		"three strikes, not two, make it wedged": {
			{0, up, Ready}, {200 * time.Second, fail(AnswerNone), Ready}, {220 * time.Second, fail(AnswerNone), Ready}, {240 * time.Second, fail(AnswerNone), Wedged}, {260 * time.Second, up, Ready}},
		"an answer between strikes wipes them": {
			{0, up, Ready}, {200 * time.Second, fail(AnswerNone), Ready}, {210 * time.Second, fail(AnswerNone), Ready}, {220 * time.Second, up, Ready}, {230 * time.Second, fail(AnswerNone), Ready}},
		"a refusal is no wedge": {
			{0, up, Ready}, {200 * time.Second, fail(AnswerRefused), Ready}, {210 * time.Second, fail(AnswerRefused), Ready}, {220 * time.Second, fail(AnswerRefused), Unknown}},
		"a fault stands while a holder lives and ends when all are gone": {
			{300 * time.Second, serving("", 41, 42, 43), Serving},
			{301 * time.Second, with(serving("", 41, 42, 43), fatal...), Fault},
			{310 * time.Second, serving("", 42, 43), Fault},
			{320 * time.Second, serving("", 43), Recovering},
			{321 * time.Second, with(serving("", 43), "05:21 Destroy server context on device 0", "05:21 Creating server context on device 0"), Serving}},
		"a fault told by the status alone is held by that server's clients": {
			{0, serving(StatusActive, 41), Serving}, {time.Second, serving(StatusFault, 41), Fault}, {2 * time.Second, serving(StatusActive, 44), Serving}},
		"a fault that nobody holds and that stays is stuck": {
			{301 * time.Second, with(serving(StatusFault, 41), fatal...), Fault}, {310 * time.Second, serving(StatusFault), Recovering}, {340 * time.Second, serving(StatusFault), Fault}},
		"three failed exits are a crash loop until they are old": {
			{300 * time.Second, with(up, "04:50 Server 90 exited with status 1", "04:52 Server 91 exited with status 1"), Ready},
			{305 * time.Second, with(up, "05:05 Server 92 exited with status 1"), CrashLooping},
			{306 * time.Second, up, CrashLooping}, {606 * time.Second, up, Ready}},
		"servers that end well are no crash loop": {
			{300 * time.Second, with(up, "04:50 Server 90 exited with status 0", "04:52 Server 91 exited with status 0", "04:53 Server 92 exited with status 0"), Ready}},
		"a daemon that starts again has grace again": {
			{0, up, Ready},
			{300 * time.Second, fail(AnswerNoSocket), Ready}, {310 * time.Second, fail(AnswerNoSocket), Ready}, {320 * time.Second, fail(AnswerNoSocket), Absent},
			{330 * time.Second, with(fail(AnswerNoSocket), "05:30 Starting control daemon using socket /run/mps-ecs/control"), Starting}},
	} {
		t.Run(name, func(t *testing.T) {
			var s State
			for i, st := range steps {
				s = Next(s, st.o, DefaultPolicy(), t0.Add(st.at))
				if s.Phase != st.want {
					t.Fatalf("step %d: %s (%s), want %s", i, s.Phase, s.Reason, st.want)
				}
			}
		})
	}
}

func TestTheClientBehindAMemoryFaultIsNamedOnlyWhenTheLogNamesIt(t *testing.T) {
	o := serving("", 41, 42)
	o.Log = logged("05:00 Server is handling a fatal GPU error.", "05:00 status of client {42, 1} is INACTIVE")
	if s := Next(State{}, o, DefaultPolicy(), t0.Add(5*time.Minute)); s.Culprit != 0 || !slices.Equal(s.Sticky, []int{42}) {
		t.Errorf("culprit %d, sticky %v", s.Culprit, s.Sticky)
	}
	o.Log = append(o.Log, logged("05:00 Fatal memory fault was triggered by client 41")...)
	if s := Next(State{}, o, DefaultPolicy(), t0.Add(5*time.Minute)); s.Culprit != 41 {
		t.Errorf("culprit %d", s.Culprit)
	}
}

func TestALogLineIsTheDaemonsOnlyWithItsPrefix(t *testing.T) {
	for _, l := range []string{"", "Server is handling a fatal GPU error", "[x] Server 1 exited with status 1", "[2026-13-40 03:00:00.000 Other 1] 5"} {
		if e, ok := ParseLog(l, time.UTC); ok {
			t.Errorf("%q: %+v", l, e)
		}
	}
	e, ok := ParseLog("[2026-12-01 11:10:31.810 Control  1144] Starting control daemon using socket /p/control", time.UTC)
	if !ok || e.Kind != LogDaemonStart || e.Writer != 1144 {
		t.Errorf("%+v %v", e, ok)
	}
	for text, want := range map[string]LogKind{
		"NEW CLIENT 7 from user 0: Server already exists": LogClientNew, "Server is not ready, push client to pending list": LogClientPending,
		"Starting new server 8 for user 0": LogServerStart, "NEW SERVER 8: Ready": LogServerReady, "Server encountered a fatal exception. Shutting down": LogFatal,
		"Volta MPS: status of client {7, 1} is ACTIVE": LogClientActive, "Volta MPS: Client {7, 1} exit": LogClientExit,
		"MPS Server failed to create/open SHM segment.": LogSharedMemory, "Failed to start : invalid argument": LogStartFailed,
		"Cmd:terminate_client 1 2": LogOther, "Cmd:Server 9 exited with status 1": LogOther, "100.0": LogOther, "UI closed": LogOther,
	} {
		if e, ok := ParseLog("[2026-12-01 11:10:31.810 Control  1144] "+text, time.UTC); !ok || e.Kind != want {
			t.Errorf("%q: %+v", text, e)
		}
	}
}

func FuzzParseLogAndFold(f *testing.F) {
	f.Add("[2026-12-01 11:10:31.810 Control  1144] Server 1 exited with status 1")
	f.Add("[2026-12-01 11:10:31.810 Other 1] Volta MPS: status of client {7, 1} is INACTIVE")
	f.Fuzz(func(t *testing.T, text string) {
		var s State
		for l := range strings.Lines(text) {
			if e, ok := ParseLog(l, time.UTC); ok {
				s = Next(s, Observation{Answer: AnswerNone, Log: []LogEvent{e}}, DefaultPolicy(), t0)
			}
		}
		if len(s.Sticky) > maxMemory || len(s.Devices) > maxMemory || len(s.Exits) > maxMemory {
			t.Fatal("a log grew memory without bound")
		}
		Judge(text)
		Answer{Kind: AnswerOK, Text: text}.Clients(8)
	})
}

func drawObservation(t *rapid.T) Observation {
	kinds := []AnswerKind{AnswerOK, AnswerOK, AnswerOK, AnswerNoSocket, AnswerNone, AnswerRefused, AnswerNotRunning}
	o := Observation{Answer: rapid.SampledFrom(kinds).Draw(t, "answer")}
	for i := range rapid.IntRange(0, 4).Draw(t, "lines") {
		k := rapid.SampledFrom([]LogKind{LogFault, LogClientInactive, LogStickyHead, LogNumber, LogClientExit, LogContextCreate, LogServerExit, LogDaemonStart, LogCulprit}).Draw(t, "kind")
		o.Log = append(o.Log, LogEvent{At: t0.Add(time.Duration(i) * time.Second), Kind: k, PID: rapid.IntRange(1, 5).Draw(t, "pid"), Status: rapid.IntRange(0, 1).Draw(t, "n")})
	}
	if o.Answer == AnswerOK {
		o.Listed = true
		if rapid.Bool().Draw(t, "server") {
			o.Servers = serving(rapid.SampledFrom([]ServerStatus{"", StatusActive, StatusFault}).Draw(t, "status"), rapid.SliceOfNDistinct(rapid.IntRange(1, 5), 0, 4, rapid.ID).Draw(t, "clients")...).Servers
		}
	}
	return o
}

// Whatever happened, a daemon that is well again is seen as well: no alarm
// without an all-clear. And no look changes the state it came from.
func TestEveryPhaseHasAWayBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, now := State{}, t0
		for range rapid.IntRange(0, 20).Draw(t, "looks") {
			now = now.Add(20 * time.Second)
			before := fmt.Sprintf("%+v", s)
			n := Next(s, drawObservation(t), DefaultPolicy(), now)
			if fmt.Sprintf("%+v", s) != before {
				t.Fatal("a look changed the state that it began with")
			}
			s = n
		}
		for range 2 {
			now = now.Add(6 * time.Minute)
			s = Next(s, serving(StatusActive, 7), DefaultPolicy(), now)
		}
		if s.Phase != Serving || s.Strikes != 0 || len(s.Sticky) != 0 {
			t.Fatalf("%+v", s)
		}
	})
}

// No restart that is not ordered hurts a healthy client, and no stop touches a
// client whose owner is not proved.
func TestNobodyIsHurtUnasked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := State{}
		for i := range rapid.IntRange(1, 12).Draw(t, "looks") {
			s = Next(s, drawObservation(t), DefaultPolicy(), t0.Add(time.Duration(i)*time.Minute))
		}
		if p := PlanRestart(s, RestartOrder{}); p.Allowed && len(p.Hurt) > 0 {
			t.Fatalf("%+v", p)
		}
		n := rapid.IntRange(0, 4).Draw(t, "accepted")
		if p := PlanRestart(s, RestartOrder{Given: true, AcceptHurt: n}); p.Allowed != (len(p.Hurt) <= n) {
			t.Fatalf("accepted %d: %+v", n, p)
		}
		owners := map[int]Owner{}
		for pid := 1; pid <= 5; pid++ {
			if rapid.Bool().Draw(t, "known") {
				owners[pid] = Owner{Container: rapid.SampledFrom([]string{"a", "b", ""}).Draw(t, "container"), StartTime: uint64(rapid.IntRange(0, 1).Draw(t, "start"))}
			}
		}
		st := Stop{Container: rapid.SampledFrom([]string{"a", "b", ""}).Draw(t, "stopping"), Signalled: t0, Timeout: time.Duration(rapid.IntRange(0, 60).Draw(t, "timeout")) * time.Second}
		now := t0.Add(time.Duration(rapid.IntRange(0, 70000).Draw(t, "ms")) * time.Millisecond)
		due, _, _ := PlanStops(s, []Stop{st}, owners, DefaultStopPolicy(), now)
		for _, d := range due {
			if o := owners[d.Client]; o.Container != st.Container || o.StartTime == 0 || st.Container == "" || now.Before(st.Signalled.Add(st.Timeout/2)) {
				t.Fatalf("%+v of %+v", d, owners)
			}
		}
	})
}

func TestAStopIsMadeShortlyBeforeTheKill(t *testing.T) {
	s := State{Phase: Serving, Servers: []Server{{PID: 90, Clients: []int{41, 42, 43}}}}
	owners := map[int]Owner{41: {"a", 7}, 42: {"b", 8}}
	stop := []Stop{{Container: "a", Signalled: t0, Timeout: 30 * time.Second}}
	due, wake, _ := PlanStops(s, stop, owners, DefaultStopPolicy(), t0.Add(10*time.Second))
	if len(due) != 0 || !wake.Equal(t0.Add(28500*time.Millisecond)) {
		t.Errorf("early: %v, wake %s", due, wake)
	}
	due, _, refused := PlanStops(s, stop, owners, DefaultStopPolicy(), wake)
	if len(due) != 1 || due[0].Client != 41 || due[0].Server != 90 || len(refused) != 1 || !strings.Contains(refused[0], "43") {
		t.Errorf("at the hour: %v, refused %v", due, refused)
	}
	if due, _, _ := PlanStops(s, stop, owners, DefaultStopPolicy(), t0.Add(31*time.Second)); len(due) != 0 {
		t.Errorf("after the kill: %v", due)
	}
	s.Phase = Wedged
	if due, _, _ := PlanStops(s, stop, owners, DefaultStopPolicy(), wake); len(due) != 0 {
		t.Errorf("a wedged daemon was asked: %v", due)
	}
}
