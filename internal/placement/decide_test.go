package placement

import (
	"errors"
	"testing"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

func card(held gpu.MiB, compute gpu.Percent, tiers ...gpu.Tier) Device {
	return Device{UUID: "GPU-0", Total: 24000, Held: held, Sized: true, Mode: gpu.ModeShared, Compute: compute, Clients: len(tiers), Tiers: tiers}
}

func host(id string, cards ...Device) HostView {
	return HostView{ID: id, Capable: true, Active: true, Devices: cards}
}

const document = `
tiers:
  critical: {neighbours: same}
  standard: {neighbours: any}
  batch: {neighbours: any, computeBudget: 150}
  alone: {neighbours: exclusive}
`

func mustPolicy(t *testing.T) Policy {
	t.Helper()
	p, err := ParsePolicy([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestEveryFilterSaysNoByItsToken(t *testing.T) {
	d := Demand{Memory: 4000, Compute: 40, Tier: "standard"}
	full := card(1000, 60)
	full.Clients = gpu.MaxClients
	unknown := card(0, 0)
	unknown.Total = 0
	unsized := card(100, 0)
	unsized.Sized = false
	whole := card(0, 0)
	whole.Mode = gpu.ModeDedicated
	draining, leaving, sick, managed, plain := host("h", card(0, 0)), host("h", card(0, 0)), host("h", card(0, 0)), host("h", card(0, 0)), host("h", card(0, 0))
	draining.Active, leaving.Leaving, sick.Impaired, managed.Managed, plain.Capable = false, true, true, true, false
	waiting := host("h", card(0, 0))
	waiting.Waiting = []Waiting{{Memory: 1000, Compute: 100, Tier: "standard"}}
	for want, h := range map[string]HostView{
		"HostNotActive": draining, "HostLeaving": leaving, "HostImpaired": sick, "ManagedInstances": managed, "SharingNotCapable": plain,
		"NoCards": host("h"), "ClientLimit 48 clients of 48": host("h", full),
		"1/1 hosts: ComputeBudgetExceeded by 40 %":  host("h", card(1000, 100, "standard")),
		"1/1 hosts: ComputeBudgetExceeded by 40 % ": waiting,
		"1/1 hosts: TierConflict with critical":     host("h", card(1000, 10, "critical")),
		"1/1 hosts: TierConflict with alone":        host("h", card(1000, 10, "alone")),
		"1/1 hosts: TierConflict with retired":      host("h", card(1000, 10, "retired")),
		"1/1 hosts: MemoryShort":                    host("h", card(20001, 10, "standard")),
		"1/1 hosts: MemoryShort ":                   host("h", unknown, unsized, whole),
	} {
		pl, e, err := Decide(View{Hosts: []HostView{h}}, d, mustPolicy(t))
		if err != nil || pl.Host != "" || e.Fit != 0 {
			t.Errorf("%s: placed on %q, %v", want, pl.Host, err)
		}
		if got := e.String(); got != trim(want) && got != "1/1 hosts: "+want {
			t.Errorf("want %q, got %q", want, got)
		}
	}
}

func trim(s string) string {
	if s[len(s)-1] == ' ' {
		return s[:len(s)-1]
	}
	return s
}

func TestRobustWantsEveryCardThatEcsCouldPickAndOptimisticOne(t *testing.T) {
	v := View{Hosts: []HostView{host("h", card(1000, 10, "critical"), card(0, 0))}}
	p := mustPolicy(t)
	d := Demand{Memory: 4000, Compute: 40, Tier: "standard"}
	if pl, e, _ := Decide(v, d, p); pl.Host != "" || e.String() != "1/1 hosts: TierConflict with critical" {
		t.Errorf("robust: %q, %s", pl.Host, e)
	}
	p.Optimistic = true
	if pl, _, _ := Decide(v, d, p); pl.Host != "h" {
		t.Errorf("optimistic: %q", pl.Host)
	}
	v.Hosts[0].Devices[0].Held = 23000 // ECS cannot pick it any more
	p.Optimistic = false
	if pl, _, _ := Decide(v, d, p); pl.Host != "h" {
		t.Errorf("robust with one card left: %q", pl.Host)
	}
}

func TestTheTightestHostIsTakenAndTiesBreakById(t *testing.T) {
	v := View{Hosts: []HostView{host("c", card(8000, 10, "standard")), host("b", card(9000, 10, "standard")), host("a", card(9000, 10, "standard"))}}
	if pl, e, err := Decide(v, Demand{Memory: 1, Compute: 1, Tier: "standard"}, mustPolicy(t)); pl.Host != "a" || e.Fit != 3 || err != nil {
		t.Errorf("%q %d %v", pl.Host, e.Fit, err)
	}
}

func TestABadDemandIsRefusedByName(t *testing.T) {
	v := View{Hosts: []HostView{host("h", card(0, 0))}}
	for want, d := range map[string]Demand{
		"MemoryNotPositive": {Memory: 0, Tier: "standard"}, "ComputeOutOfRange": {Memory: 1, Compute: 101, Tier: "standard"},
		"TierUnknown": {Memory: 1, Tier: "gold"}, "LargerThanAnyCard": {Memory: 24001, Tier: "standard"},
	} {
		_, _, err := Decide(v, d, mustPolicy(t))
		var r *Refusal
		if !errors.As(err, &r) || r.Reason != want {
			t.Errorf("want %s, got %v", want, err)
		}
	}
}

func TestAPolicyThatIsWrongIsRefused(t *testing.T) {
	for _, doc := range []string{"", "tiers: {}", "tiers: {a: {neighbours: some}}", "tiers: {a: {neighbours: any, colour: red}}",
		"tiers: {a: {neighbours: exclusive, computeBudget: 150}}", "tiers: {a: {neighbours: any, computeBudget: -1}}", "speed: 3"} {
		if _, err := ParsePolicy([]byte(doc)); err == nil {
			t.Errorf("%q was taken", doc)
		}
	}
}

func FuzzPolicyNeverPanics(f *testing.F) {
	f.Add([]byte(document))
	f.Fuzz(func(t *testing.T, doc []byte) { _, _ = ParsePolicy(doc) })
}

func TestTheLedgerIsReadWithItsUnknownsKept(t *testing.T) {
	lv := ledger.View{
		Host: ledger.Host{ID: ledger.HostID{Instance: "i"}, Registration: ledger.Registration{Status: "ACTIVE", AgentConnected: true, SharingCapable: true}},
		Devices: []ledger.Device{
			{UUID: "GPU-a", Registered: true, Total: 100, Held: 10, Compute: 100, Clients: 1, Mode: gpu.ModeShared,
				Shares: []ledger.Share{{State: ledger.StateBound, Tier: "x"}, {State: ledger.StateReleased, Tier: "y"}}},
			{UUID: "GPU-b", Registered: true, Vanished: true, Total: 100},
		},
		Unplaced: []ledger.Share{{State: ledger.StateReserved, Memory: 5, Sized: true, GPUs: 1}, {State: ledger.StateExpired, Memory: 7}},
	}
	h := FromLedger([]ledger.View{lv}).Hosts[0]
	if len(h.Devices) != 1 || h.Devices[0].Sized || len(h.Devices[0].Tiers) != 1 || h.Devices[0].Tiers[0] != "x" {
		t.Errorf("cards: %+v", h.Devices)
	}
	if len(h.Waiting) != 1 || h.Waiting[0].Memory != 5 || h.Waiting[0].Compute != 100 || !h.Active {
		t.Errorf("host: %+v", h)
	}
}
