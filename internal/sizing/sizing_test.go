package sizing

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

var now = time.Date(2026, 12, 1, 3, 0, 0, 0, time.UTC)

func TestAQuantileErrsUpwardsByAtMostOneIn32(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Int64Range(1, int64(MaxPeak)), 1, 50).Draw(t, "peaks")
		var p, a, b Peaks
		for i, v := range values {
			p, _ = p.Add(gpu.MiB(v), 1)
			if i%2 == 0 {
				a, _ = a.Add(gpu.MiB(v), 1)
			} else {
				b, _ = b.Add(gpu.MiB(v), 1)
			}
		}
		if diff := cmp.Diff(p, b.Merge(a)); diff != "" {
			t.Fatal(diff)
		}
		slices.Sort(values)
		for _, q := range []int64{1, 500, 990, 1000} {
			exact := values[(int64(len(values))*q+999)/1000-1]
			got := int64(p.Quantile(q))
			if got < exact || got > exact+exact/32 {
				t.Fatalf("quantile %d of %v is %d, want %d to %d", q, values, got, exact, exact+exact/32)
			}
		}
	})
}

func TestAPeakThatCannotBeTrueMovesNothing(t *testing.T) {
	s := Subject{Definition: "chat:7", Container: "app"}
	u := Usage{}.See([]Sighting{{Subject: s, Peak: 9000, Total: 22563, Limit: 10000, At: now, Seconds: 300}})
	for _, peak := range []gpu.MiB{0, -1, math.MinInt64, 22564, MaxPeak + 1, math.MaxInt64} {
		u = u.See([]Sighting{{Subject: s, Peak: peak, Total: 22563, At: now, Seconds: 300}})
	}
	if got := u.Series[0]; got.Peaks.Max != 9000 || got.Refused != 6 || got.Windows != 1 || got.Limit != 10000 {
		t.Errorf("%+v", got)
	}
	for i := range 3 * MaxSeries {
		u = u.See([]Sighting{{Subject: Subject{Definition: fmt.Sprint("f:", i)}, Peak: 5, At: now.Add(time.Duration(i) * time.Second), Seconds: 1}})
	}
	if len(u.Series) != MaxSeries {
		t.Errorf("%d series", len(u.Series))
	}
}

func TestHostsMergeTheSameInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var hosts [][]Series
		for range rapid.IntRange(1, 4).Draw(t, "hosts") {
			var u Usage
			for range rapid.IntRange(0, 6).Draw(t, "sightings") {
				u = u.See([]Sighting{{Subject: Subject{Definition: rapid.SampledFrom([]string{"a:1", "a:2"}).Draw(t, "d")},
					Peak: gpu.MiB(rapid.IntRange(1, 100).Draw(t, "p")), Limit: gpu.MiB(rapid.IntRange(0, 90).Draw(t, "l")), Percent: gpu.Percent(rapid.IntRange(0, 2).Draw(t, "c")),
					Seconds: 1, At: now.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "at")) * time.Hour)}})
			}
			hosts = append(hosts, u.Series)
		}
		want := Merge(hosts...)
		slices.Reverse(hosts)
		if diff := cmp.Diff(want, Merge(hosts...)); diff != "" {
			t.Fatal(diff)
		}
	})
}

func series(def, image string, peak, limit, total gpu.MiB) Series {
	p, _ := Peaks{}.Add(peak, 2*24*3600)
	return Series{Subject: Subject{Definition: def, Container: "app", Image: image}, Peaks: p, Limit: limit, Total: total, First: now.Add(-48 * time.Hour), Last: now, Windows: 9}
}

func TestTheUnderDeclaredComeFirstAndEachIsToldWhatToWrite(t *testing.T) {
	none := Series{Subject: Subject{Definition: "none:1"}, Refused: 3}
	thin := series("thin:1", "", 3000, 3500, 22563)
	thin.Peaks.Buckets[0].Seconds, thin.Last = 60, now.Add(-30*24*time.Hour)
	whole := series("train:1", "", 9000, 0, 22563)
	whole.Whole = true
	got := Advise([]Series{none, thin, whole, series("over:1", "", 2000, 20000, 22563), series("under:1", "", 8000, 8000, 22563),
		series("huge:1", "", 22000, 22500, 22563), series("old:1", "sha256:aaaaaaaaaaaaaaaa", 100, 512, 0), series("old:2", "sha256:bbbbbbbbbbbbbbbb", 300, 512, 0)}, DefaultPolicy(), now)
	var lines []string
	for _, a := range got {
		lines = append(lines, fmt.Sprintf("%s %s %d %d %v %v %s", a.Definition, a.Finding, a.Memory, a.Compute, a.Thin, a.Stale, a.Drift))
	}
	want := []string{
		"under:1 UnderDeclared 9216 40 false false ",
		"huge:1 Tight 22563 100 false false ",
		"over:1 OverDeclared 2304 10 false false ",
		"old:1 OverDeclared 256 0 false false image bbbbbbbbbbbb replaced this one; its peaks count, not these (it peaked 200 MiB higher)",
		"train:1 WholeGPU 10496 46 false false ",
		"thin:1 Fine 3584 15 true true ",
		"old:2 Fine 512 0 false false ",
		"none:1 NoEvidence 0 0 false false ",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
}

// What is advised holds the peak, and a card packed full of advised shares by memory
// alone keeps the compute budget.
func TestAdviceHoldsThePeakAndKeepsTheBudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := DefaultPolicy()
		p.Budget = gpu.Percent(rapid.IntRange(1, 400).Draw(t, "budget"))
		p.Margin, p.Overhead = gpu.Percent(rapid.IntRange(0, 100).Draw(t, "margin")), gpu.MiB(rapid.IntRange(0, 600).Draw(t, "overhead"))
		total := gpu.MiB(rapid.IntRange(8000, 80000).Draw(t, "total"))
		a := Advise([]Series{series("a:1", "", gpu.MiB(rapid.IntRange(1, int(total)).Draw(t, "peak")), 0, total)}, p, now)[0]
		if a.Memory < a.Max {
			t.Fatalf("%s for a peak of %s", a.Memory, a.Max)
		}
		fit := gpu.Percent(total / a.Memory)
		if a.Compute < 1 || a.Compute > 100 || a.Compute > 1 && fit*a.Compute > p.Budget {
			t.Fatalf("%d of %s fit at %s: above %s", fit, a.Memory, a.Compute, p.Budget)
		}
	})
}

func TestThePriceTableIsDatedAndRefusesWhatItCannotMean(t *testing.T) {
	p, err := DefaultPrices()
	if err != nil || len(p.Types) < 20 {
		t.Fatalf("%v, %d types", err, len(p.Types))
	}
	for name, text := range map[string]string{
		"no date":        `{"region":"r","source":"s","types":[]}`,
		"no source":      `{"asOf":"2026-01-01","region":"r","types":[]}`,
		"twice":          `{"asOf":"2026-01-01","region":"r","source":"s","types":[{"type":"a","gpus":1},{"type":"a","gpus":1}]}`,
		"no gpu":         `{"asOf":"2026-01-01","region":"r","source":"s","types":[{"type":"a","gpus":0}]}`,
		"negative price": `{"asOf":"2026-01-01","region":"r","source":"s","types":[{"type":"a","gpus":1,"perHour":-1}]}`,
		"unknown member": `{"asOf":"2026-01-01","region":"r","source":"s","price":3}`,
		"not JSON":       `asOf: today`,
		"too long":       strings.Repeat(" ", MaxPriceBytes+1),
	} {
		if _, err := ReadPrices([]byte(text)); !errors.Is(err, ErrPrices) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheCheapestTypeThatCarriesTheMixComesFirst(t *testing.T) {
	prices, err := ReadPrices([]byte(`{"asOf":"2026-01-01","region":"r","source":"s","reserveMiB":100,"types":[
		{"type":"one","gpus":1,"memoryMiB":10100,"perHour":1},{"type":"four","gpus":4,"memoryMiB":10100,"perHour":3.5},
		{"type":"tiny","gpus":1,"memoryMiB":2100,"perHour":0.1},{"type":"secret","gpus":1,"memoryMiB":10100},{"type":"dark","gpus":1}]}`))
	if err != nil {
		t.Fatal(err)
	}
	plans, err := Cheapest([]Wanted{{Service{"chat", 3000, 40}, 6}, {Service{"rank", 500, 20}, 5}}, prices, Limits{Budget: 100})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range plans {
		got = append(got, fmt.Sprintf("%s %d×%v %v", p.Type, p.Instances, p.Hourly, p.Why != ""))
	}
	if diff := cmp.Diff([]string{"four 1×3.5 false", "one 4×4 false", "secret 4×0 true", "dark 0×0 true", "tiny 0×0 true"}, got); diff != "" {
		t.Error(diff)
	}
	for _, n := range []int{0, -1, MaxWanted + 1, math.MaxInt} {
		if _, err := Cheapest([]Wanted{{Service{"a", 1, 1}, n}}, prices, Limits{Budget: 100}); !errors.Is(err, ErrShapeInput) {
			t.Errorf("%d tasks: %v", n, err)
		}
	}
}

func TestFirstFitNeverOverfillsAndIsNearTheBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		card := gpu.MiB(rapid.IntRange(1, 50).Draw(t, "card"))
		sizes := rapid.SliceOfN(rapid.Map(rapid.Int64Range(1, int64(card)), func(n int64) gpu.MiB { return gpu.MiB(n) }), 1, 40).Draw(t, "sizes")
		got := firstFit(slices.Clone(sizes), card)
		slices.SortFunc(sizes, func(a, b gpu.MiB) int { return int(b - a) })
		var cards []gpu.MiB // the plain way
		for _, s := range sizes {
			i := slices.IndexFunc(cards, func(used gpu.MiB) bool { return used+s <= card })
			if i < 0 {
				cards, i = append(cards, 0), len(cards)
			}
			cards[i] += s
		}
		if got != len(cards) {
			t.Fatalf("%d cards, the plain way takes %d", got, len(cards))
		}
	})
}

func hostAt(shares []ledger.TaskShare, instanceType string) ledger.Host {
	h, _ := ledger.ObserveHost(ledger.Host{ID: ledger.HostID{Cluster: "c", Instance: "i"}}, ledger.HostSeen{Fixed: ledger.Fixed{InstanceType: instanceType},
		Registration: ledger.Registration{Version: 1, Status: "ACTIVE"}, GPUs: []gpu.UUID{"GPU-a", "GPU-b"},
		Described: []ledger.DeviceTotal{{UUID: "GPU-a", Total: 1000, Mode: gpu.ModeShared}, {UUID: "GPU-b", Total: 1000, Mode: gpu.ModeIdle}}})
	for i, s := range shares {
		h, _ = ledger.ObserveTask(h, ledger.Task{ARN: fmt.Sprint("t", i), Version: 1, LastStatus: "RUNNING", Group: "service:" + s.Container, Tier: "standard", Shares: []ledger.TaskShare{s}})
	}
	return h
}

func share(c string, m gpu.MiB, p gpu.Percent) ledger.TaskShare {
	return ledger.TaskShare{Container: c, Need: ledger.NeedShare, Sized: true, Memory: m, Compute: p, GPUs: []gpu.UUID{"GPU-a"}}
}

func TestAnHourOfACardIsPaidOnceAndSplitByTheLargerShare(t *testing.T) {
	prices, err := DefaultPrices()
	if err != nil {
		t.Fatal(err)
	}
	m := Meter{From: now.Add(-time.Hour), To: now, Prices: prices, Team: func(s string) string { return "team-" + s }}
	// Half an hour empty, half an hour with memory full at half of compute.
	m.Add([]Image{{now.Add(-30 * time.Minute), hostAt([]ledger.TaskShare{share("a", 800, 25), share("b", 100, 25)}, "g5.12xlarge")}, {now.Add(-time.Hour * 9), hostAt(nil, "g5.12xlarge")}})
	b := m.Bill()
	near := func(what string, got, want float64) {
		if math.Abs(got-want) > 1e-6 {
			t.Errorf("%s is %v, want %v", what, got, want)
		}
	}
	near("card-seconds", b.CardSeconds, 7200)
	near("idle", b.Idle.Seconds, 3600+1800)
	near("a", b.Lines[0].GPUSeconds, 1800*.8/1.05)
	near("a's cost", b.Lines[0].Cost, 1800*.8/1.05*5.672/4/3600)
	near("b", b.Lines[1].GPUSeconds, 1800*.25/1.05)
	near("saved", b.Saved(), 1800)
	near("stranded", b.Stranded.Seconds, 0)
	if b.Lines[0].Owner != (Owner{"a", "team-a", "standard"}) {
		t.Errorf("%+v", b.Lines[0].Owner)
	}
	m = Meter{From: now.Add(-time.Hour), To: now, Prices: prices}
	m.Add([]Image{{now.Add(-time.Hour), hostAt([]ledger.TaskShare{share("a", 300, 20), share("b", 600, 30)}, "g9.huge")}})
	b = m.Bill()
	near("stranded of memory-full", b.Stranded.Seconds, 0)
	near("free", b.Free.Seconds, 3600*.1)
	if !slices.Equal(b.Unpriced, []string{"g9.huge"}) || b.Used.Cost != 0 || b.Lines[0].Unpriced == 0 {
		t.Errorf("an unknown type got a price: %+v", b)
	}
}

func TestTheBillAddsUpToEveryCardSecond(t *testing.T) {
	prices, err := DefaultPrices()
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		m := Meter{From: now.Add(-time.Hour), To: now, Prices: prices}
		var images []Image
		for range rapid.IntRange(0, 5).Draw(t, "images") {
			var shares []ledger.TaskShare
			for i := range rapid.IntRange(0, 5).Draw(t, "shares") {
				s := share(string(rune('a'+i)), gpu.MiB(rapid.IntRange(-5, 1500).Draw(t, "memory")), gpu.Percent(rapid.IntRange(-5, 130).Draw(t, "compute")))
				s.Sized = rapid.Bool().Draw(t, "sized")
				shares = append(shares, s)
			}
			images = append(images, Image{now.Add(-time.Duration(rapid.IntRange(-10, 90).Draw(t, "age")) * time.Minute), hostAt(shares, "g6.12xlarge")})
		}
		m.Add(images)
		b := m.Bill()
		sum, lines := 0.0, 0.0
		for _, p := range []Part{b.Used, b.Idle, b.Free, b.Stranded, b.Unknown} {
			if p.Seconds < 0 || p.Cost < 0 {
				t.Fatalf("%+v", b)
			}
			sum += p.Seconds
		}
		for _, l := range b.Lines {
			lines += l.GPUSeconds
		}
		if math.Abs(sum-b.CardSeconds) > 1e-6 || math.Abs(lines-b.Used.Seconds) > 1e-6 || b.CardSeconds > 7200+1e-6 {
			t.Fatalf("parts %v, cards %v, lines %v, used %v", sum, b.CardSeconds, lines, b.Used.Seconds)
		}
	})
}
