package health

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// FuzzAssess feeds what a hostile reporter could send: whatever it is, the answer
// is the same twice, bounded, and forged silence or applications move nothing.
func FuzzAssess(f *testing.F) {
	for _, s := range [][]Signal{
		{xid(79, t0), xid(45, t0.Add(time.Second))},
		{onCard(state(KindThermal, Seen, t0))},
		{{Kind: KindSetHealthy, Witness: WitnessPerson, LastSeen: t0}, {Kind: "?", Witness: "?"}},
	} {
		src, err := json.Marshal(s)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src)
	}
	p := mustDefault(f)
	f.Fuzz(func(t *testing.T, src []byte) {
		var signals []Signal
		if json.Unmarshal(src, &signals) != nil || len(signals) > 200 {
			return
		}
		now := t0.Add(time.Hour)
		st, v, refused := Assess(oneGPU(), signals, p, now)
		_, again, _ := Assess(oneGPU(), signals, p, now)
		if diff := cmp.Diff(v, again); diff != "" {
			t.Fatal(diff)
		}
		if len(refused) > len(signals) || len(st.Conditions) > MaxConditions {
			t.Fatalf("%d refused of %d, %d conditions", len(refused), len(signals), len(st.Conditions))
		}
		for _, r := range v.Reasons {
			if r.FirstSeen.After(r.LastSeen) || r.Stood.IsZero() {
				t.Fatalf("%+v", r)
			}
			if r.Class == ClassUnknown && acts(r.Actions) {
				t.Fatalf("an unknown code asks for %v", r.Actions)
			}
		}
	})
}

// BenchmarkAssess judges a host of eight cards with a dozen standing conditions
// and one new report, which is what the function does for each.
func BenchmarkAssess(b *testing.B) {
	p := mustDefault(b)
	st := host(8)
	var batch []Signal
	for _, code := range []int{13, 31, 43, 45, 63, 92, 94, 109, 74, 154, 162, 163} {
		batch = append(batch, xid(code, t0))
	}
	st, _, _ = Assess(st, batch, p, t0)
	one := []Signal{xid(31, t0.Add(time.Minute))}
	b.ReportAllocs()
	for b.Loop() {
		Assess(st, one, p, t0.Add(time.Minute))
	}
}
