package health

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
)

var t0 = time.Date(2026, 12, 1, 3, 0, 0, 0, time.UTC)

const (
	gpuA = gpu.UUID("GPU-aaaaaaaa-0000-0000-0000-000000000001")
	gpuB = gpu.UUID("GPU-bbbbbbbb-0000-0000-0000-000000000002")
)

func oneGPU() State { return State{Facts: Facts{Host: "ci-1", Devices: 1, BootAt: t0.Add(-time.Hour)}} }

func host(devices int) State {
	st := oneGPU()
	st.Facts.Devices = devices
	return st
}

func xid(code int, at time.Time) Signal {
	return Signal{Kind: KindXid, Code: code, Device: gpuA, Witness: WitnessKernelLog, BootID: "b1", PID: 100, LastSeen: at, Count: 1}
}

func state(k Kind, r Reading, at time.Time) Signal {
	return Signal{Kind: k, Witness: WitnessAgent, BootID: "b1", Reading: r, LastSeen: at, Count: 1}
}

func onCard(s Signal) Signal { s.Device = gpuA; return s }

// step is one assessment of a story.
type step struct {
	after   time.Duration
	signals []Signal
	level   Level
	action  Action
	accepts bool
	why     string // part of the strongest reason's why
}

func run(t *testing.T, st State, steps []step) (State, Verdict) {
	t.Helper()
	p := mustDefault(t)
	var v Verdict
	for i, s := range steps {
		now := t0.Add(s.after)
		var errs []error
		st, v, errs = Assess(st, s.signals, p, now)
		if len(errs) > 0 {
			t.Fatalf("step %d: %v", i, errs)
		}
		if v.Host.Level != s.level || v.Host.Action != s.action || v.Host.AcceptsTasks != s.accepts {
			t.Fatalf("step %d at +%s: %s %s accepts=%t, want %s %s accepts=%t; reasons %+v",
				i, s.after, v.Host.Level, v.Host.Action, v.Host.AcceptsTasks, s.level, s.action, s.accepts, v.Reasons)
		}
		if s.why != "" && (len(v.Reasons) == 0 || !strings.Contains(v.Reasons[0].Why, s.why)) {
			t.Fatalf("step %d: why %+v, want %q", i, v.Reasons, s.why)
		}
	}
	return st, v
}

func at(d time.Duration) time.Time { return t0.Add(d) }

func expected(s Signal) Signal { s.Expected = true; return s }

func fam(s Signal, family string, pid int) Signal { s.Family, s.PID = family, pid; return s }

func TestTheRulesOfEachConditionHoldOverTime(t *testing.T) {
	grace := oneGPU()
	grace.Facts.Grace = true
	tasksOfMany := host(8)
	tasksOfMany.Facts.MultiGPUTasks = true
	hgx := host(8)
	hgx.Facts.HGX = true
	young := oneGPU()
	young.Facts.BootAt = t0.Add(-30 * time.Second)
	value := func(k Kind, v float64, at time.Time) Signal {
		s := onCard(state(k, Seen, at))
		s.Value, s.HasValue = v, true
		return s
	}
	text := func(s Signal, line string) Signal { s.Text = line; return s }
	by := func(s Signal, w Witness) Signal { s.Witness = w; s.BootID = ""; return s }
	task := func(s Signal, arn string) Signal { s.Task = arn; return s }
	count := func(s Signal, n int64) Signal { s.Count = n; return s }
	m := time.Minute

	for name, tc := range map[string]struct {
		start State
		steps []step
	}{
		"Xid 8 three times in an hour by one family calls a person, not the host": {oneGPU(), []step{
			{0, []Signal{fam(xid(8, at(0)), "a:1", 1)}, Suspect, Application, true, ""},
			{20 * m, []Signal{fam(xid(8, at(10*m)), "a:1", 2), fam(xid(8, at(20*m)), "a:1", 3)}, Suspect, Person, true, "3 incidents"},
		}},
		"Xid 8 three times in an hour by two families closes the card": {oneGPU(), []step{
			{20 * m, []Signal{fam(xid(8, at(0)), "a:1", 1), fam(xid(8, at(10*m)), "b:1", 2), fam(xid(8, at(20*m)), "a:1", 3)}, Degraded, CloseGPU, false, "2 families"},
		}},
		"Xid 13 of one family any number of times never closes the card": {oneGPU(), []step{
			{50 * m, []Signal{fam(xid(13, at(0)), "a:1", 1), fam(xid(13, at(10*m)), "a:1", 2), fam(xid(13, at(20*m)), "a:1", 3), fam(xid(13, at(50*m)), "a:1", 4)}, Suspect, Application, true, ""},
		}},
		"Xid 13 of two families in one incident is a culprit and a victim": {oneGPU(), []step{
			{m, []Signal{fam(xid(13, at(0)), "a:1", 1), fam(xid(13, at(time.Second)), "b:1", 2)}, Suspect, Application, true, ""},
		}},
		"Xid 31 of different families in two incidents closes the card": {oneGPU(), []step{
			{time.Hour, []Signal{fam(xid(31, at(0)), "a:1", 1), fam(xid(31, at(time.Hour)), "b:1", 2)}, Degraded, CloseGPU, false, "2 families"},
		}},
		"a victim of one incident is not the family of that incident": {oneGPU(), []step{
			{10 * m, []Signal{fam(xid(13, at(0)), "a:1", 1), fam(xid(13, at(time.Second)), "b:1", 2), fam(xid(13, at(10*m)), "a:1", 3)}, Suspect, Application, true, ""},
		}},
		"a remap state read before the Xid does not void it": {oneGPU(), []step{
			{0, []Signal{onCard(state(KindRemapFailure, Clear, at(0)))}, Healthy, Ignore, true, ""},
			{m, []Signal{xid(64, at(m))}, Failed, Replace, false, ""},
		}},
		"Xid 45 of a task that was being stopped is nothing": {oneGPU(), []step{{0, []Signal{expected(xid(45, at(0)))}, Healthy, Ignore, true, ""}}},
		"Xid 43 is forgotten after ten minutes": {oneGPU(), []step{
			{0, []Signal{xid(43, at(0))}, Suspect, Application, true, ""},
			{11 * m, nil, Healthy, Ignore, true, ""},
		}},
		"Xid 45 after a 31 of the same process has no weight": {oneGPU(), []step{
			{m, []Signal{xid(31, at(0)), xid(45, at(time.Second))}, Suspect, Application, true, ""},
			{2 * time.Hour, nil, Healthy, Ignore, true, ""},
		}},
		"Xid 63 is watched until the remap state is read": {oneGPU(), []step{
			{0, []Signal{xid(63, at(0))}, Suspect, Watch, true, ""},
			{m, []Signal{onCard(state(KindRemapPending, Clear, at(m)))}, Healthy, Ignore, true, ""},
		}},
		"Xid 63 with a pending remap closes the card by the state": {oneGPU(), []step{
			{m, []Signal{xid(63, at(0)), onCard(state(KindRemapPending, Seen, at(m)))}, Degraded, CloseGPU, false, "remap waits"},
		}},
		"Xid 64 is void when the remap state says no failure": {oneGPU(), []step{
			{0, []Signal{xid(64, at(0))}, Failed, Replace, false, ""},
			{m, []Signal{onCard(state(KindRemapFailure, Clear, at(m)))}, Healthy, Ignore, true, ""},
		}},
		"Xid 64 stands when the remap state is not supported": {oneGPU(), []step{
			{m, []Signal{xid(64, at(0)), onCard(state(KindRemapFailure, NotSupported, at(m)))}, Failed, Replace, false, ""},
		}},
		"Xid 74 is harmless on a host with one card":     {oneGPU(), []step{{0, []Signal{xid(74, at(0))}, Suspect, Watch, true, ""}}},
		"Xid 74 replaces a host with several":            {host(4), []step{{0, []Signal{xid(74, at(0))}, Failed, Replace, false, "multi-gpu"}}},
		"Xid 136 replaces a host with several":           {host(4), []step{{0, []Signal{xid(136, at(0))}, Failed, Replace, false, "multi-gpu"}}},
		"Xid 121 is watched on Grace":                    {grace, []step{{0, []Signal{xid(121, at(0))}, Suspect, Watch, true, "grace"}}},
		"Xid 145 closes the card for multi-GPU tasks":    {tasksOfMany, []step{{0, []Signal{xid(145, at(0))}, Degraded, CloseGPU, true, "multi-gpu-tasks"}}},
		"Xid 93 thrice in a week calls a person":         {oneGPU(), []step{{2 * time.Hour, []Signal{xid(93, at(0)), xid(93, at(time.Hour)), xid(93, at(2*time.Hour))}, Suspect, Person, true, ""}}},
		"Xid 92 five times a day calls a person":         {oneGPU(), []step{{40 * m, []Signal{xid(92, at(0)), xid(92, at(10*m)), xid(92, at(20*m)), xid(92, at(30*m)), xid(92, at(40*m))}, Suspect, Person, true, "5 incidents"}}},
		"Xid 94 once restarts the victim":                {oneGPU(), []step{{0, []Signal{xid(94, at(0))}, Suspect, Application, true, ""}}},
		"Xid 94 with a pending remap closes the card":    {oneGPU(), []step{{m, []Signal{xid(94, at(0)), onCard(state(KindRemapPending, Seen, at(m)))}, Degraded, CloseGPU, false, ""}}},
		"Xid 37 five times a day calls a person":         {oneGPU(), []step{{50 * m, []Signal{xid(37, at(0)), xid(37, at(10*m)), xid(37, at(20*m)), xid(37, at(30*m)), xid(37, at(50*m))}, Suspect, Person, true, ""}}},
		"Xid 109 twice in ten minutes replaces the host": {oneGPU(), []step{{0, []Signal{xid(109, at(0))}, Suspect, Watch, true, ""}, {6 * m, []Signal{xid(109, at(6*m))}, Failed, Replace, false, "2 incidents"}, {3 * time.Hour, nil, Failed, Replace, false, ""}}},
		"Xid 109 twice in a day is still the hog's":      {oneGPU(), []step{{6 * time.Hour, []Signal{xid(109, at(0)), xid(109, at(6*time.Hour))}, Suspect, Watch, true, ""}}},
		"Xid 109 when the card wants a reset":            {oneGPU(), []step{{0, []Signal{xid(109, at(0)), onCard(state(KindResetRequired, Seen, at(0)))}, Failed, Replace, false, ""}}},
		"Xid 94 three times in a day replaces the host, and stays so until the next boot": {oneGPU(), []step{
			{2 * time.Hour, []Signal{xid(94, at(0)), xid(94, at(time.Hour)), xid(94, at(2*time.Hour))}, Failed, Replace, false, "3 incidents"},
			{48 * time.Hour, nil, Failed, Replace, false, "3 incidents"},
			{49 * time.Hour, []Signal{{Kind: KindReport, Witness: WitnessAgent, BootID: "b2", LastSeen: at(49 * time.Hour)}}, Healthy, Ignore, true, ""},
		}},
		"Xid 154 says to reset":  {oneGPU(), []step{{0, []Signal{text(xid(154, at(0)), "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)")}, Failed, Replace, false, "says reset"}}},
		"Xid 154 says to reboot": {oneGPU(), []step{{0, []Signal{text(xid(154, at(0)), "GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)")}, Failed, Replace, false, "says reboot"}}},
		"Xid 154 says to drain":  {oneGPU(), []step{{0, []Signal{text(xid(154, at(0)), "GPU recovery action changed from 0x0 (None) to 0x3 (Drain P2P)")}, Degraded, CloseGPU, false, "says drain"}}},
		"Xid 154 back to none is well": {oneGPU(), []step{
			{0, []Signal{text(xid(154, at(0)), "changed from 0x0 (None) to 0x1 (GPU Reset Required)")}, Failed, Replace, false, ""},
			{m, []Signal{text(xid(154, at(m)), "changed from 0x1 (GPU Reset Required) to 0x0 (None)")}, Healthy, Ignore, true, ""},
		}},
		"Xid 162 cancels 163": {oneGPU(), []step{{m, []Signal{xid(163, at(0)), xid(162, at(m))}, Healthy, Ignore, true, ""}}},
		"an unknown code alerts and no more, however often": {oneGPU(), []step{
			{time.Hour, []Signal{xid(777, at(0)), xid(777, at(20*m)), xid(777, at(40*m)), xid(777, at(time.Hour))}, Suspect, Person, true, ""},
		}},
		"a boot closes a sticky fault": {oneGPU(), []step{
			{0, []Signal{xid(79, at(0))}, Failed, Replace, false, ""},
			{5 * time.Hour, nil, Failed, Replace, false, ""},
			{6 * time.Hour, []Signal{{Kind: KindReport, Witness: WitnessAgent, BootID: "b2", LastSeen: at(6 * time.Hour)}}, Healthy, Ignore, true, ""},
		}},
		"a boot does not close what only replacement cures": {oneGPU(), []step{
			{0, []Signal{xid(54, at(0))}, Failed, Replace, false, ""},
			{6 * time.Hour, []Signal{{Kind: KindReport, Witness: WitnessAgent, BootID: "b2", LastSeen: at(6 * time.Hour)}}, Failed, Replace, false, ""},
		}},
		"a person may call the card healthy": {oneGPU(), []step{
			{0, []Signal{xid(79, at(0))}, Failed, Replace, false, ""},
			{m, []Signal{{Kind: KindSetHealthy, Device: gpuA, Witness: WitnessPerson, LastSeen: at(m)}}, Healthy, Ignore, true, ""},
			{2 * m, []Signal{xid(79, at(2*m))}, Failed, Replace, false, ""},
		}},
		"GPU lost needs two reads five seconds apart": {oneGPU(), []step{
			{0, []Signal{onCard(state(KindGPULost, Seen, at(0)))}, Healthy, Ignore, true, ""},
			{2 * time.Second, []Signal{onCard(state(KindGPULost, Seen, at(2*time.Second)))}, Healthy, Ignore, true, ""},
			{6 * time.Second, []Signal{onCard(state(KindGPULost, Seen, at(6*time.Second)))}, Failed, Replace, false, ""},
			{m, []Signal{onCard(state(KindGPULost, Clear, at(m)))}, Failed, Replace, false, ""},
		}},
		"a reset is required": {oneGPU(), []step{{0, []Signal{onCard(state(KindResetRequired, Seen, at(0)))}, Failed, Replace, false, ""}}},
		"fewer cards than the type has, twice read": {oneGPU(), []step{
			{0, []Signal{state(KindCountMismatch, Seen, at(0))}, Healthy, Ignore, true, ""},
			{m, []Signal{state(KindCountMismatch, Seen, at(m))}, Failed, Replace, false, ""}}},
		"uncorrectable ECC closes the card":                      {oneGPU(), []step{{0, []Signal{onCard(state(KindECCUncorrectable, Seen, at(0)))}, Degraded, CloseGPU, false, ""}}},
		"SRAM threshold replaces and calls a person":             {oneGPU(), []step{{0, []Signal{onCard(state(KindSRAMThreshold, Seen, at(0)))}, Failed, Replace, false, ""}}},
		"a failed remap replaces":                                {oneGPU(), []step{{0, []Signal{onCard(state(KindRemapFailure, Seen, at(0)))}, Failed, Replace, false, ""}}},
		"512 remapped rows call a person":                        {oneGPU(), []step{{0, []Signal{value(KindRemapCount, 511, at(0))}, Healthy, Ignore, true, ""}, {m, []Signal{value(KindRemapCount, 512, at(m))}, Suspect, Person, true, ""}}},
		"retired pages pending are watched":                      {oneGPU(), []step{{0, []Signal{onCard(state(KindRetiredPending, Seen, at(0)))}, Suspect, Watch, true, ""}}},
		"63 retired pages replace":                               {oneGPU(), []step{{0, []Signal{value(KindRetiredPages, 62, at(0))}, Healthy, Ignore, true, ""}, {m, []Signal{value(KindRetiredPages, 63, at(m))}, Failed, Replace, false, ""}}},
		"NVLink errors need three reads":                         {oneGPU(), []step{{0, []Signal{count(onCard(state(KindNVLink, Seen, at(0))), 2)}, Healthy, Ignore, true, ""}, {m, []Signal{onCard(state(KindNVLink, Seen, at(m)))}, Suspect, Watch, true, ""}}},
		"NVLink errors under multi-GPU tasks close the card":     {tasksOfMany, []step{{0, []Signal{count(onCard(state(KindNVLink, Seen, at(0))), 3)}, Degraded, CloseGPU, true, ""}}},
		"the fabric manager dead on an HGX board":                {hgx, []step{{0, []Signal{count(state(KindFabricManager, Seen, at(0)), 3)}, Failed, Replace, false, ""}}},
		"the fabric manager dead elsewhere":                      {oneGPU(), []step{{0, []Signal{count(state(KindFabricManager, Seen, at(0)), 3)}, Suspect, Watch, true, ""}}},
		"PCIe is watched":                                        {oneGPU(), []step{{0, []Signal{count(onCard(state(KindPCIe, Seen, at(0))), 3)}, Suspect, Watch, true, ""}}},
		"power is watched":                                       {oneGPU(), []step{{0, []Signal{count(onCard(state(KindPower, Seen, at(0))), 2)}, Suspect, Watch, true, ""}}},
		"throttling for ten minutes stops placing, never more":   {oneGPU(), []step{{0, []Signal{onCard(state(KindThrottle, Seen, at(0)))}, Healthy, Ignore, true, ""}, {10 * m, nil, Degraded, Watch, false, ""}, {9 * time.Hour, nil, Degraded, Watch, false, ""}}},
		"a driver mismatch is not admitted":                      {oneGPU(), []step{{0, []Signal{state(KindDriverMismatch, Seen, at(0))}, Degraded, Person, false, ""}}},
		"persistence off is a warning":                           {oneGPU(), []step{{0, []Signal{state(KindPersistenceOff, Seen, at(0))}, Suspect, Watch, true, ""}}},
		"a foreign process is watched, then closes":              {oneGPU(), []step{{0, []Signal{count(onCard(state(KindForeignProcess, Seen, at(0))), 2)}, Suspect, Watch, true, ""}, {15 * m, nil, Degraded, CloseGPU, false, ""}, {16 * m, []Signal{onCard(state(KindForeignProcess, Clear, at(16*m)))}, Healthy, Ignore, true, ""}}},
		"total memory changed closes the card":                   {oneGPU(), []step{{0, []Signal{count(onCard(state(KindTotalChanged, Seen, at(0))), 2)}, Degraded, CloseGPU, false, ""}}},
		"one missed D-state read is nothing, three are unknown":  {oneGPU(), []step{{0, []Signal{count(state(KindDState, Seen, at(0)), 2)}, Healthy, Ignore, true, ""}, {m, []Signal{state(KindDState, Seen, at(m))}, Unknown, Watch, false, ""}}},
		"NVML that hangs is unknown, never a replacement":        {oneGPU(), []step{{0, []Signal{count(by(state(KindNVMLUnresponsive, Seen, at(0)), WitnessNVML), 3)}, Unknown, Watch, false, ""}, {9 * time.Hour, nil, Unknown, Watch, false, ""}}},
		"NVML hang and D-state together are a driver that hangs": {oneGPU(), []step{{0, []Signal{count(state(KindNVMLUnresponsive, Seen, at(0)), 3), count(state(KindDState, Seen, at(0)), 3)}, Failed, Replace, false, "different fate"}}},
		"our own monitor lost is unknown for ever":               {oneGPU(), []step{{0, []Signal{count(state(KindMonitorLost, Seen, at(0)), 3), count(state(KindSourceBroken, Seen, at(0)), 3)}, Unknown, Watch, false, ""}, {90 * m, nil, Unknown, Watch, false, ""}}},
		"an EC2 status check fails for five minutes":             {oneGPU(), []step{{0, []Signal{by(state(KindEC2Status, Seen, at(0)), WitnessEC2Status)}, Healthy, Ignore, true, ""}, {5 * m, nil, Failed, Replace, false, ""}}},
		"AWS Health retires the instance":                        {oneGPU(), []step{{0, []Signal{by(state(KindRetirement, Seen, at(0)), WitnessAWSHealth)}, Failed, Replace, false, ""}}},
		"Spot takes the instance":                                {oneGPU(), []step{{0, []Signal{by(state(KindSpotInterruption, Seen, at(0)), WitnessSpot)}, Failed, Replace, false, ""}}},
		"Spot may take the instance":                             {oneGPU(), []step{{0, []Signal{by(state(KindSpotRebalance, Seen, at(0)), WitnessSpot)}, Degraded, Watch, false, ""}}},
		"the group terminates the instance":                      {oneGPU(), []step{{0, []Signal{by(state(KindASGTerminating, Seen, at(0)), WitnessASG)}, Failed, Replace, false, ""}}},
		"the ECS agent says impaired, then well":                 {oneGPU(), []step{{0, []Signal{by(state(KindECSImpaired, Seen, at(0)), WitnessECSHealth)}, Degraded, CloseGPU, false, ""}, {m, []Signal{by(state(KindECSImpaired, Clear, at(m)), WitnessECSHealth)}, Healthy, Ignore, true, ""}}},

		"the control daemon is dead: one probe is watched, three close, ten minutes replace": {oneGPU(), []step{
			{0, []Signal{state(KindMPSControlDead, Seen, at(0))}, Suspect, Watch, true, ""},
			{10 * time.Second, []Signal{count(state(KindMPSControlDead, Seen, at(10*time.Second)), 2)}, Degraded, CloseGPU, false, "3 bad readings"},
			{11 * m, nil, Failed, Replace, false, "for 10m"},
			{12 * m, []Signal{state(KindMPSControlDead, Clear, at(12*m))}, Healthy, Ignore, true, ""},
		}},
		"nothing of MPS is judged in the first two minutes": {young, []step{
			{0, []Signal{count(state(KindMPSControlDead, Seen, at(0)), 3)}, Healthy, Ignore, true, ""},
			{2 * m, nil, Degraded, CloseGPU, false, ""},
		}},
		"the pipe directory is missing":          {oneGPU(), []step{{0, []Signal{count(state(KindMPSPipeDirectory, Seen, at(0)), 2)}, Degraded, CloseGPU, false, ""}}},
		"a bypass names the tasks":               {oneGPU(), []step{{0, []Signal{count(state(KindMPSBypass, Seen, at(0)), 2)}, Suspect, Watch, true, ""}}},
		"a server that recovers is tolerated":    {oneGPU(), []step{{0, []Signal{state(KindMPSRecovering, Seen, at(0))}, Healthy, Ignore, true, ""}, {61 * time.Second, nil, Suspect, Watch, true, ""}, {5 * m, nil, Degraded, CloseGPU, false, ""}}},
		"a server in fault closes its cards":     {oneGPU(), []step{{0, []Signal{state(KindMPSFault, Seen, at(0))}, Degraded, CloseGPU, false, ""}, {m, []Signal{state(KindMPSFault, Clear, at(m))}, Healthy, Ignore, true, ""}}},
		"a server that exits again and again":    {oneGPU(), []step{{0, []Signal{state(KindMPSServerExits, Seen, at(0))}, Suspect, Watch, true, ""}, {m, []Signal{count(state(KindMPSServerExits, Seen, at(m)), 2)}, Degraded, CloseGPU, false, ""}, {2 * m, []Signal{count(state(KindMPSServerExits, Seen, at(2*m)), 3)}, Failed, Replace, false, ""}}},
		"a worker that hangs on connect":         {oneGPU(), []step{{0, []Signal{count(state(KindMPSWorkerHung, Seen, at(0)), 2)}, Suspect, Watch, true, ""}}},
		"a client without its limit":             {oneGPU(), []step{{0, []Signal{state(KindMPSLimitUnset, Seen, at(0))}, Suspect, Watch, true, ""}}},
		"a soft ceiling":                         {oneGPU(), []step{{0, []Signal{count(state(KindMPSSoftCeiling, Seen, at(0)), 2)}, Suspect, Watch, true, ""}}},
		"the card is full of clients":            {oneGPU(), []step{{0, []Signal{state(KindMPSClientsFull, Seen, at(0))}, Degraded, Watch, false, ""}}},
		"a client killed in the middle of work":  {oneGPU(), []step{{0, []Signal{state(KindMPSClientKilled, Seen, at(0))}, Degraded, Watch, false, ""}, {11 * m, nil, Healthy, Ignore, true, ""}}},
		"a wrong compute mode":                   {oneGPU(), []step{{0, []Signal{state(KindMPSComputeMode, Seen, at(0))}, Suspect, Watch, true, ""}}},
		"a log that grows":                       {oneGPU(), []step{{0, []Signal{state(KindMPSLogGrowth, Seen, at(0))}, Suspect, Watch, true, ""}}},
		"a protocol without commands":            {oneGPU(), []step{{0, []Signal{state(KindMPSProtocol, Seen, at(0))}, Suspect, Person, true, ""}}},
		"the gate found no daemon for one task":  {oneGPU(), []step{{0, []Signal{task(by(state(KindGateUnavailable, Seen, at(0)), WitnessTaskStopped), "t1")}, Suspect, Watch, true, ""}}},
		"the gate found no daemon for two tasks": {oneGPU(), []step{{m, []Signal{task(by(state(KindGateUnavailable, Seen, at(0)), WitnessTaskStopped), "t1"), task(by(state(KindGateUnavailable, Seen, at(m)), WitnessTaskStopped), "t2")}, Degraded, CloseGPU, false, "2 tasks"}}},
		"the gate got no answer; later the agent does": {oneGPU(), []step{
			{0, []Signal{task(by(state(KindGateNotResponding, Seen, at(0)), WitnessTaskStopped), "t1")}, Degraded, CloseGPU, false, ""},
			{m, []Signal{state(KindMPSControlDead, Clear, at(m))}, Healthy, Ignore, true, ""},
		}},
		"the gate did not complete for two tasks": {oneGPU(), []step{{m, []Signal{task(by(state(KindGateUnverified, Seen, at(0)), WitnessTaskStopped), "t1"), task(by(state(KindGateUnverified, Seen, at(m)), WitnessTaskStopped), "t2")}, Degraded, CloseGPU, false, "2 tasks"}}},
		"a thermal margin clears only three degrees above": {oneGPU(), []step{
			{0, []Signal{value(KindThermal, -2, at(0))}, Degraded, Watch, false, ""},
			{m, []Signal{value(KindThermal, 1, at(m))}, Degraded, Watch, false, ""},
			{2 * m, []Signal{value(KindThermal, 3, at(2*m))}, Healthy, Ignore, true, ""},
		}},
		"a thermal margin gone for half an hour replaces": {oneGPU(), []step{{0, []Signal{value(KindThermal, 0, at(0))}, Degraded, Watch, false, ""}, {30 * m, nil, Failed, Replace, false, ""}}},
	} {
		t.Run(name, func(t *testing.T) { run(t, tc.start, tc.steps) })
	}
}

func TestAMarginThatIsNotSupportedIsNoHeat(t *testing.T) {
	s := onCard(state(KindThermal, NotSupported, t0))
	s.Value, s.HasValue = -273, true
	run(t, oneGPU(), []step{{0, []Signal{s}, Healthy, Ignore, true, ""}})
	s.Reading, s.HasValue = Seen, false
	run(t, oneGPU(), []step{{0, []Signal{s}, Healthy, Ignore, true, ""}})
}

func TestSilenceNeedsTwoWitnessesOfDifferentFate(t *testing.T) {
	watched := oneGPU()
	watched.Facts.AgentExpected = true
	heard := Signal{Kind: KindReport, Witness: WitnessAgent, BootID: "b1", LastSeen: t0}
	disconnected := Signal{Kind: KindAgentDisconnected, Witness: WitnessAgentConnected, LastSeen: t0.Add(time.Minute)}
	ssm := Signal{Kind: KindSSMLost, Witness: WitnessSSM, LastSeen: t0.Add(time.Minute)}
	hung := Signal{Kind: KindNVMLUnresponsive, Witness: WitnessNVML, BootID: "b1", Count: 3, LastSeen: t0}
	m := time.Minute

	st, _ := run(t, watched, []step{
		{0, []Signal{heard}, Healthy, Ignore, true, ""},
		{5 * m, nil, Healthy, Ignore, true, ""},
		{11 * m, nil, Unknown, Watch, false, ""},
		{20 * time.Hour, []Signal{ssm}, Unknown, Watch, false, ""},
	})
	_ = st
	run(t, watched, []step{ // what the silent agent said last is its own fate
		{0, []Signal{heard, hung}, Unknown, Watch, false, ""},
		{20 * m, nil, Unknown, Watch, false, ""},
	})
	run(t, watched, []step{
		{0, []Signal{heard, disconnected}, Healthy, Ignore, true, ""},
		{9 * m, nil, Healthy, Ignore, true, ""},
		{12 * m, nil, Failed, Replace, false, "EcsAgentDisconnected"},
		{13 * m, []Signal{{Kind: KindReport, Witness: WitnessAgent, BootID: "b1", LastSeen: t0.Add(13 * m)}}, Unknown, Watch, false, ""},
	})
}

func TestFirstSeenOfAStandingFaultNeverMoves(t *testing.T) {
	p := mustDefault(t)
	st, v, _ := Assess(oneGPU(), []Signal{xid(48, t0)}, p, t0)
	fault := v.Reasons[0].Fault
	for i := 1; i < 200; i++ {
		now := t0.Add(time.Duration(i) * time.Minute)
		st, v, _ = Assess(st, []Signal{xid(48, now)}, p, now)
	}
	r := v.Reasons[0]
	if !r.FirstSeen.Equal(t0) || !r.LastSeen.Equal(t0.Add(199*time.Minute)) || r.Fault != fault || r.Count != 200 {
		t.Errorf("first %s last %s count %d fault %s", r.FirstSeen, r.LastSeen, r.Count, r.Fault)
	}
	if n := len(st.Conditions[0].Events); n > MaxEvents {
		t.Errorf("%d events kept", n)
	}
}

func TestTheSameXidFromTwoWitnessesCountsOnce(t *testing.T) {
	nvml := xid(94, t0.Add(2*time.Second))
	nvml.Witness, nvml.PID = WitnessNVML, 0
	_, v, _ := Assess(oneGPU(), []Signal{nvml, xid(94, t0)}, mustDefault(t), t0.Add(time.Minute))
	r := v.Reasons[0]
	if r.Count != 1 || len(v.Reasons) != 1 {
		t.Errorf("count %d of %d reasons", r.Count, len(v.Reasons))
	}
}

func TestWhatOneWitnessClearsAnotherMayStillSee(t *testing.T) {
	p := mustDefault(t)
	a := onCard(state(KindECCUncorrectable, Seen, t0))
	b := a
	b.Kind, a.Kind = KindMPSFault, KindMPSFault
	b.Witness = WitnessNVML
	st, _, _ := Assess(oneGPU(), []Signal{a, b}, p, t0)
	b.Reading, b.LastSeen = Clear, t0.Add(time.Minute)
	_, v, _ := Assess(st, []Signal{b}, p, t0.Add(time.Minute))
	if v.Host.Level != Degraded {
		t.Errorf("level %s", v.Host.Level)
	}
}

func TestAForgedOrImpossibleSignalIsRefusedByName(t *testing.T) {
	good := xid(79, t0)
	for name, change := range map[string]func(*Signal){
		"kind":           func(s *Signal) { s.Kind = "Nonsense" },
		"witness":        func(s *Signal) { s.Witness = "my cousin" },
		"device":         func(s *Signal) { s.Device = "GPU-; drop table" },
		"code zero":      func(s *Signal) { s.Code = 0 },
		"code huge":      func(s *Signal) { s.Code = 1 << 30 },
		"code on state":  func(s *Signal) { s.Kind = KindGPULost },
		"reading":        func(s *Signal) { s.Reading = 9 },
		"pid":            func(s *Signal) { s.PID = -1 },
		"count":          func(s *Signal) { s.Count = math.MaxInt64 },
		"no time":        func(s *Signal) { s.LastSeen = time.Time{} },
		"the future":     func(s *Signal) { s.LastSeen = t0.Add(time.Hour) },
		"long id":        func(s *Signal) { s.Family = strings.Repeat("x", MaxNameBytes+1) },
		"concluded":      func(s *Signal) { s.Kind, s.Code = KindSilenceConfirmed, 0 },
		"own all-clear":  func(s *Signal) { s.Kind, s.Code = KindSetHealthy, 0 },
		"a person's Xid": func(s *Signal) { s.Witness = WitnessPerson },
		"own silence":    func(s *Signal) { s.Kind, s.Code = KindAgentSilent, 0 },
		"no number":      func(s *Signal) { s.HasValue, s.Value = true, math.NaN() },
	} {
		t.Run(name, func(t *testing.T) {
			bad := good
			change(&bad)
			_, v, errs := Assess(oneGPU(), []Signal{bad, xid(43, t0)}, mustDefault(t), t0)
			if len(errs) != 1 || !errors.Is(errs[0], ErrSignal) {
				t.Errorf("errors %v", errs)
			}
			if !slices.Equal(v.Host.Tokens, []string{"Xid43"}) {
				t.Errorf("the rest of the batch was not taken: %v", v.Host.Tokens)
			}
		})
	}
}

func TestALateSignalOfAnOlderBootIsStale(t *testing.T) {
	p := mustDefault(t)
	st, _, _ := Assess(oneGPU(), []Signal{{Kind: KindReport, Witness: WitnessAgent, BootID: "b2", LastSeen: t0}}, p, t0)
	late := xid(79, t0.Add(-time.Minute))
	st, v, _ := Assess(st, []Signal{late}, p, t0)
	if v.Host.Level != Healthy || st.Stale != 1 {
		t.Errorf("%s, stale %d", v.Host.Level, st.Stale)
	}
}

func TestOneCardsFaultLeavesTheOtherCardsOpen(t *testing.T) {
	_, v, _ := Assess(host(4), []Signal{onCard(state(KindECCUncorrectable, Seen, t0))}, mustDefault(t), t0)
	if a, b := v.Device(gpuA), v.Device(gpuB); a.AcceptsTasks || !b.AcceptsTasks || b.Level != Healthy {
		t.Errorf("A %+v B %+v", a, b)
	}
}
