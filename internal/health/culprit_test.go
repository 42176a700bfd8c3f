package health

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestTheCulpritIsNamedByTheStrongestSource(t *testing.T) {
	a := Tenant{"task/a", "trainer:7", []int{10, 11}}
	b := Tenant{"task/b", "infer:3", []int{20}}
	c := Tenant{"task/c", "infer:3", []int{30}}
	all := []Tenant{c, a, b}
	at := func(s int) time.Time { return t0.Add(time.Duration(s) * time.Second) }
	for name, tc := range map[string]struct {
		fault   SharedFault
		culprit string
		basis   Basis
		certain bool
		victims int
	}{
		"the first Xid carries its process":            {SharedFault{Tenants: all, Xids: []XidAt{{31, 20, at(1)}, {31, 10, at(0)}}}, "task/a", BasisFirstXid, true, 2},
		"the MPS log names the memory fault":           {SharedFault{Tenants: all, MemoryFault: true, MPSLogPID: 30}, "task/c", BasisMPSLog, true, 2},
		"both agree":                                   {SharedFault{Tenants: all, MemoryFault: true, MPSLogPID: 11, Xids: []XidAt{{31, 10, at(0)}}}, "task/a", BasisMPSLog, true, 2},
		"they differ: likely only":                     {SharedFault{Tenants: all, MemoryFault: true, MPSLogPID: 30, Xids: []XidAt{{31, 10, at(0)}}}, "task/c", BasisMPSLog, false, 2},
		"the log's pid means nothing for other faults": {SharedFault{Tenants: all, MPSLogPID: 30}, "", BasisNone, false, 3},
		"the server's own process names nobody":        {SharedFault{Tenants: all, Xids: []XidAt{{13, 999, at(0)}, {13, 10, at(1)}}}, "", BasisNone, false, 3},
		"clean-up codes name nobody":                   {SharedFault{Tenants: all, Xids: []XidAt{{45, 10, at(0)}}}, "", BasisNone, false, 3},
		"the only tenant did it":                       {SharedFault{Tenants: []Tenant{b}}, "task/b", BasisOnlyTenant, true, 0},
		"the first to fail is likely":                  {SharedFault{Tenants: all, At: at(0), Exits: []Exit{{"task/b", at(9), 1}, {"task/a", at(3), 139}}}, "task/a", BasisFirstExit, false, 2},
		"all failed at once":                           {SharedFault{Tenants: all, At: at(0), Exits: []Exit{{"task/b", at(4), 1}, {"task/a", at(3), 1}}}, "", BasisNone, false, 3},
		"an exit before the fault says nothing":        {SharedFault{Tenants: all, At: at(5), Exits: []Exit{{"task/b", at(1), 1}, {"task/a", at(9), 1}}}, "", BasisNone, false, 3},
		"nobody was there":                             {SharedFault{}, "", BasisNone, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			got := Attribute(tc.fault)
			if got.Culprit.Task != tc.culprit || got.Basis != tc.basis || got.Certain != tc.certain || len(got.Victims) != tc.victims {
				t.Errorf("%+v", got)
			}
			if got.Why == "" || (tc.basis == BasisMPSLog && !tc.certain) != (got.Conflict != "") {
				t.Errorf("why %q, conflict %q", got.Why, got.Conflict)
			}
		})
	}
}

func TestCulpritAndVictimsPartTheTenants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := SharedFault{At: t0, MemoryFault: rapid.Bool().Draw(t, "memory"), MPSLogPID: rapid.IntRange(0, 9).Draw(t, "log")}
		n := rapid.IntRange(0, 5).Draw(t, "tenants")
		for i := range n {
			f.Tenants = append(f.Tenants, Tenant{fmt.Sprint("task/", i), fmt.Sprint("f:", i%2), rapid.SliceOfN(rapid.IntRange(1, 9), 0, 3).Draw(t, "pids")})
		}
		for range rapid.IntRange(0, 4).Draw(t, "xids") {
			f.Xids = append(f.Xids, XidAt{rapid.SampledFrom([]int{13, 31, 45}).Draw(t, "code"), rapid.IntRange(0, 9).Draw(t, "pid"),
				t0.Add(time.Duration(rapid.IntRange(0, 9).Draw(t, "at")) * time.Second)})
		}
		got := Attribute(f)
		named := len(got.Victims)
		if got.Culprit.Task != "" {
			named++
			if slices.ContainsFunc(got.Victims, func(v Tenant) bool { return v.Task == got.Culprit.Task }) {
				t.Fatal("a culprit is no victim")
			}
		}
		if named != n {
			t.Fatalf("%d of %d tenants named", named, n)
		}
		if (got.Basis == BasisNone) != (got.Culprit.Task == "") {
			t.Fatalf("basis %s, culprit %q", got.Basis, got.Culprit.Task)
		}
	})
}

func TestARepeatCulpritIsAdvisedOnlyAcrossCards(t *testing.T) {
	in := func(min int, device string, certain bool) Incident {
		return Incident{At: t0.Add(time.Duration(min) * time.Minute), Device: gpuA, Host: device, Token: "Xid31", Family: "trainer:7", Certain: certain, Victims: 2}
	}
	onB := func(i Incident) Incident { i.Device = gpuB; return i }
	now := t0.Add(2 * time.Hour)
	p := DefaultRepeatPolicy()
	if got := RepeatCulprits([]Incident{in(0, "", true), in(1, "", true), in(2, "", true)}, p, now); len(got) != 0 {
		t.Errorf("one card accuses the card, not %+v", got)
	}
	if got := RepeatCulprits([]Incident{in(0, "", true), onB(in(1, "", true)), in(2, "", false)}, p, now); len(got) != 0 {
		t.Errorf("an uncertain incident was counted: %+v", got)
	}
	if got := RepeatCulprits([]Incident{in(0, "", true), in(0, "", true), onB(in(1, "", true))}, p, now); len(got) != 0 {
		t.Errorf("an incident was counted twice: %+v", got)
	}
	history := []Incident{in(0, "", true), onB(in(1, "", true)), in(2, "", true)}
	got := RepeatCulprits(history, p, now)
	if len(got) != 1 || got[0].Incidents != 3 || got[0].Victims != 6 || !strings.Contains(got[0].Advice, "whole GPU") {
		t.Errorf("%+v", got)
	}
	p.Quarantine = true
	if got := RepeatCulprits(history, p, now); !strings.Contains(got[0].Advice, "quarantine trainer:7") {
		t.Errorf("%+v", got)
	}
	if got := RepeatCulprits(history, p, now.Add(48*time.Hour)); len(got) != 0 {
		t.Errorf("forgotten incidents were counted: %+v", got)
	}
}

func TestTheThreeGateTextsAreKnownInsideAnyReason(t *testing.T) {
	for text, want := range map[string]Kind{
		"MPS control daemon is not available on this instance":                               KindGateUnavailable,
		"ResourceInitializationError: MPS control daemon is not responding on this instance": KindGateNotResponding,
		"MPS control daemon verification did not complete":                                   KindGateUnverified,
		"Essential container in task exited":                                                 "",
		"":                                                                                   "",
	} {
		if got, ok := StartGate(text); got != want || ok != (want != "") {
			t.Errorf("%q is %q", text, got)
		}
	}
}

func TestTheXidOfAHealthReasonIsRead(t *testing.T) {
	for text, want := range map[string]int{"XID_46": 46, "reason xid_79 seen": 79, "XID_": 0, "XID_0": 0, "XID_99999999999999999999": 0, "fine": 0} {
		if got, _ := XidOfHealthReason(text); got != want {
			t.Errorf("%q is %d, want %d", text, got, want)
		}
	}
}

func TestTheRecoveryWordIsTheLastOne(t *testing.T) {
	for text, want := range map[string]string{
		"GPU recovery action changed from 0x2 (Node Reboot Required) to 0x1 (GPU Reset Required)": "reset",
		"GPU recovery action changed from 0x0 (None) to 0x4 (Drain and Reset)":                    "reset",
		"GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)":                 "none",
		"gibberish": "",
	} {
		if got := RecoveryWord(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
