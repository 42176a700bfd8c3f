package readiness

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

var now = time.Date(2026, 12, 1, 3, 0, 0, 0, time.UTC)

func view(n int, f ledger.Fixed, r ledger.Registration, total gpu.MiB, groups ...string) ledger.View {
	u := gpu.UUID(fmt.Sprintf("GPU-%08d", n))
	r.Version, r.Status = 1, "ACTIVE"
	h, _ := ledger.ObserveHost(ledger.Host{ID: ledger.HostID{Cluster: "c", Instance: fmt.Sprint("ci-", n)}}, ledger.HostSeen{Fixed: f, Registration: r,
		GPUs: []gpu.UUID{u}, Described: []ledger.DeviceTotal{{UUID: u, Total: total}}})
	for i, g := range groups {
		tier := gpu.Tier("standard")
		if strings.Contains(g, "chat") {
			tier = "critical"
		}
		h, _ = ledger.ObserveTask(h, ledger.Task{ARN: fmt.Sprint("t", n, i), Version: 1, LastStatus: "RUNNING", Group: g, Tier: tier,
			Shares: []ledger.TaskShare{{Container: "app", Need: ledger.NeedShare, Sized: true, Memory: 100, GPUs: []gpu.UUID{u}}}})
	}
	return h.View(now)
}

func TestAClusterIsJudgedByWhoWatchesItsFloorsAndItsNeighbours(t *testing.T) {
	good := ledger.Registration{AgentVersion: "1.107.2", SharingCapable: true}
	in := Input{Cluster: "c", Silence: 10 * time.Minute, AMIs: map[string]string{"ami-new": "20261102", "ami-old": "20260820"},
		Heard: map[string]Heard{"i-1": {At: now, MPS: "serving"}, "i-3": {At: now.Add(-time.Hour), MPS: "serving"}, "i-4": {At: now, MPS: "absent"}},
		Views: []ledger.View{
			view(1, ledger.Fixed{EC2InstanceID: "i-1", AMI: "ami-new", CapacityType: ledger.CapacityEC2}, good, 1000, "service:chat", "service:rank"),
			view(2, ledger.Fixed{EC2InstanceID: "i-2", CapacityType: ledger.CapacityManaged}, ledger.Registration{SharingCapable: true}, 1000, "service:rank", "service:rank"),
			view(3, ledger.Fixed{EC2InstanceID: "i-3", AMI: "ami-old", CapacityType: ledger.CapacityEC2}, ledger.Registration{AgentVersion: "1.106.1"}, 0, "family:job"),
			view(4, ledger.Fixed{EC2InstanceID: "i-4", AMI: "ami-?", InstanceType: "g6f.large"}, ledger.Registration{AgentVersion: "dev"}, 1000),
		}}
	r := Judge(in, now)
	var got []string
	for _, s := range r.Services {
		got = append(got, fmt.Sprint(s.Name, s.Capacity, s.Tiers, " ", s.Tasks, " ", s.Watcher, " ", s.Verdict))
	}
	for _, h := range r.Hosts {
		got = append(got, fmt.Sprint(h.EC2, " ", h.AgentOK, " ", h.AMIOK, " ", h.Capable, " ", len(h.Why)))
	}
	for _, c := range r.CoTenancy {
		got = append(got, fmt.Sprint(c.GPU, c.Services, c.Tiers, " ", c.Tasks, " ", c.Mixed))
	}
	want := []string{
		"chat[EC2] [critical] 1 the Bulkhead agent pass",
		"family:job[EC2] [standard] 1 nobody on 1 host(s) fail",
		"rank[EC2 MANAGED_INSTANCES] [standard] 3 Amazon ECS (Managed Instances), the Bulkhead agent pass",
		"i-1 pass pass pass 0", "i-2 pass pass pass 0", "i-3 fail fail fail 3", "i-4 unknown unknown fail 4",
		"GPU-00000001[chat rank] [critical standard] 2 true", "GPU-00000002[rank] [standard] 2 false",
	}
	if diff := cmp.Diff(want, got); diff != "" || r.Ready {
		t.Errorf("ready %v\n%s", r.Ready, diff)
	}
	if r = Judge(Input{Silence: in.Silence, Heard: in.Heard, AMIs: in.AMIs, Views: in.Views[:2]}, now); !r.Ready {
		t.Errorf("a good cluster is not ready: %+v", r)
	}
}

func TestVersionsCompareAsNumbers(t *testing.T) {
	for v, want := range map[string]Verdict{"1.107.0": Pass, "v1.107.0": Pass, "1.107": Fail, "1.99.9": Fail, "2": Pass, "1.1070.0": Pass, "": Unknown, "1.x": Unknown, "1.-7.0": Unknown, "99999999999999999999": Unknown} {
		if got := Below(v, AgentFloor); got != want {
			t.Errorf("%q: %s, want %s", v, got, want)
		}
	}
}

func TestNeverReadyWhenAnyPartFails(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var views []ledger.View
		heard := map[string]Heard{}
		for i := range rapid.IntRange(0, 4).Draw(t, "hosts") {
			id := fmt.Sprint("i-", i)
			views = append(views, view(i, ledger.Fixed{EC2InstanceID: id, CapacityType: rapid.SampledFrom([]ledger.CapacityType{"", ledger.CapacityEC2, ledger.CapacityManaged}).Draw(t, "capacity")},
				ledger.Registration{AgentVersion: rapid.SampledFrom([]string{"", "1.1.0", "1.107.0"}).Draw(t, "agent"), SharingCapable: rapid.Bool().Draw(t, "capable")},
				1000, rapid.SliceOfN(rapid.SampledFrom([]string{"", "service:chat", "family:x"}), 0, 3).Draw(t, "groups")...))
			heard[id] = Heard{At: now.Add(-time.Duration(rapid.IntRange(0, 20).Draw(t, "age")) * time.Minute), MPS: "ready"}
		}
		r := Judge(Input{Views: views, Heard: heard, Silence: 10 * time.Minute}, now)
		bad := false
		for _, h := range r.Hosts {
			bad = bad || h.Capable == Fail || h.AgentOK == Fail
			if (h.Capable != Pass || h.AgentOK != Pass || h.AMIOK != Pass) && len(h.Why) == 0 {
				t.Fatalf("no reason for %+v", h)
			}
		}
		for _, s := range r.Services {
			bad = bad || len(s.Unwatched) > 0
		}
		if r.Ready == bad {
			t.Fatalf("ready is %v: %+v", r.Ready, r)
		}
	})
}
