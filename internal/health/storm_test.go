package health

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestTheStateOfAHostIsSmallUnderAnyStormAndKeepsItsForm(t *testing.T) {
	p := mustDefault(t)
	st := host(8)
	for i := range 60 {
		var batch []Signal
		for j := range 300 {
			s := xid(1+(i*300+j)%9_000, t0.Add(time.Duration(i)*20*time.Minute+time.Duration(j)*time.Second))
			s.Code = 1 + j%100
			s.PID, s.Task = j+1, strings.Repeat("t", MaxTaskBytes-6)+fmt.Sprint(100_000+j)
			s.Family, s.Text = strings.Repeat("f", MaxNameBytes), strings.Repeat("x", 2*MaxTextBytes)
			batch = append(batch, s)
		}
		var errs []error
		if st, _, errs = Assess(st, batch, p, t0.Add(30*time.Hour)); len(errs) > 0 {
			t.Fatal(errs[0])
		}
	}
	src, err := json.Marshal(st)
	if err != nil || len(src) > 300<<10 {
		t.Fatalf("%d bytes, %v", len(src), err)
	}
	t.Logf("%d bytes, %d conditions", len(src), len(st.Conditions))
	var back State
	if err := json.Unmarshal(src, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(st, back, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
}

func TestAStormStaysSmallAndKeepsWhatMatters(t *testing.T) {
	p := mustDefault(t)
	st := host(8)
	st, _, _ = Assess(st, []Signal{xid(79, t0)}, p, t0)
	for i := range 40 {
		var batch []Signal
		for c := range 200 {
			batch = append(batch, xid(1000+(i*200+c)%7000, t0.Add(time.Duration(i)*time.Minute)))
			batch = append(batch, xid(45, t0.Add(time.Duration(i)*time.Minute+time.Duration(c)*time.Millisecond)))
		}
		st, _, _ = Assess(st, batch, p, t0.Add(time.Hour))
	}
	_, v, _ := Assess(st, nil, p, t0.Add(time.Hour))
	if len(st.Conditions) > MaxConditions || st.Dropped == 0 {
		t.Errorf("%d conditions, %d dropped", len(st.Conditions), st.Dropped)
	}
	if v.Host.Level != Failed || v.Reasons[0].Token != "Xid79" {
		t.Errorf("the fault was lost: %s %v", v.Host.Level, v.Host.Tokens[:3])
	}
}

func TestAHostSpeaksForItselfOnly(t *testing.T) {
	own, foreign, noBoot := xid(79, t0), xid(79, t0), xid(79, t0)
	foreign.Witness, noBoot.BootID = WitnessAWSHealth, ""
	kept, refused := FromAgent([]Signal{foreign, own, noBoot})
	if len(kept) != 1 || kept[0].Witness != WitnessKernelLog || len(refused) != 2 {
		t.Errorf("kept %+v, refused %v", kept, refused)
	}
	for _, err := range refused {
		if !errors.Is(err, ErrSignal) {
			t.Error(err)
		}
	}
}

func TestRepeatsInOneUnitOfTheCardAreToldFromRepeatsAllOver(t *testing.T) {
	p := mustDefault(t)
	var err error
	if p.Xids, _, err = p.Xids.Override([]byte(`
version: locality
overrides:
  - codes: [92]
    action: [WATCH]
    rules: [{repeat: 3, within: 1d, same_unit: true, action: [QGPU]}]
    reason: one GPC again and again is hardware
`)); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		units []string
		want  Action
	}{
		"one unit":      {[]string{"GPC 2", "GPC 2", "GPC 2"}, CloseGPU},
		"all over":      {[]string{"GPC 2", "GPC 3", "GPC 2"}, Watch},
		"no unit named": {[]string{"", "", ""}, Watch},
		"two only":      {[]string{"GPC 2", "GPC 2"}, Watch},
	} {
		t.Run(name, func(t *testing.T) {
			var batch []Signal
			for i, unit := range tc.units {
				s := xid(92, t0.Add(time.Duration(i)*10*time.Minute))
				s.Unit = unit
				batch = append(batch, s)
			}
			_, v, _ := Assess(oneGPU(), batch, p, t0.Add(time.Hour))
			if v.Host.Action != tc.want {
				t.Errorf("%s, want %s: %+v", v.Host.Action, tc.want, v.Reasons)
			}
		})
	}
}
