package sim_test

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/sim"
)

func runOne(t *testing.T, f *sim.Fleet, d sim.Definition) *sim.Task {
	t.Helper()
	def, err := f.RegisterDefinition(d)
	if err != nil {
		t.Fatal(err)
	}
	x, err := f.Run(def.ARN, "", "")
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func TestAClientThatSurvivesAFaultKeepsTheWholeHostFromNewClients(t *testing.T) {
	f, h := oneHost(t, "g6.12xlarge")
	stays := runOne(t, f, sim.Definition{Family: "stays", Containers: []sim.Container{{Name: "a", Memory: 1024, Survives: true}}})
	goes := runOne(t, f, sim.Definition{Family: "goes", Containers: []sim.Container{{Name: "a", Memory: 1024}}})
	if h.Server != sim.ServerNone {
		t.Errorf("a server before any client: %s", h.Server)
	}
	f.Advance(f.Now().Add(2 * time.Minute))
	if h.Server != sim.ServerActive || len(h.Processes()) != 2 {
		t.Fatalf("%s, %d processes", h.Server, len(h.Processes()))
	}
	if err := f.Inject(sim.Fault{Kind: "xid", Xid: 31, Host: h.EC2}); err != nil {
		t.Fatal(err)
	}
	f.Advance(f.Now().Add(3 * time.Minute))
	if h.Server != sim.ServerFault || stays.Last != "RUNNING" || goes.Last != "STOPPED" || goes.ExitCode == 0 {
		t.Fatalf("%s: %s %s", h.Server, stays.Last, goes.Last)
	}
	next := runOne(t, f, sim.Definition{Family: "next", Containers: []sim.Container{{Name: "a", Memory: 22000}}}) // fits no card but an idle one
	f.Advance(f.Now().Add(2 * time.Minute))
	if next.Last != "STOPPED" || next.ExitLog != "CUDA_ERROR_MPS_SERVER_NOT_READY" {
		t.Errorf("a client of a healthy card is %s %q", next.Last, next.ExitLog)
	}
	if n := f.TerminateClients(h, h.Processes()[0].PID); n != 1 {
		t.Fatalf("terminated %d", n)
	}
	f.Advance(f.Now().Add(2 * time.Minute))
	if h.Server != sim.ServerActive || h.Cards[0].Fault {
		t.Errorf("after the last affected one is gone: %s", h.Server)
	}
}

func TestLimitsHoldAProcessAndNotAContainer(t *testing.T) {
	f, h := oneHost(t, "g6.xlarge")
	over := runOne(t, f, sim.Definition{Family: "over", Containers: []sim.Container{{Name: "a", Memory: 2000, Peak: 2500}}})
	twice := runOne(t, f, sim.Definition{Family: "twice", Containers: []sim.Container{{Name: "a", Memory: 2000, Peak: 1900, Processes: 2}}})
	free := runOne(t, f, sim.Definition{Family: "free", Containers: []sim.Container{{Name: "a", Memory: 2000, Peak: 9000, Bypass: true}}})
	f.Advance(f.Now().Add(10 * time.Minute))
	if over.Last != "STOPPED" || over.ExitLog != "CUDA_ERROR_OUT_OF_MEMORY" {
		t.Errorf("over its limit: %s %q", over.Last, over.ExitLog)
	}
	if twice.Last != "RUNNING" || free.Last != "RUNNING" || h.Cards[0].Used() != 2*1900+9000 {
		t.Errorf("%s %s, %v in use", twice.Last, free.Last, h.Cards[0].Used())
	}
	if _, mem, _ := h.Cards[0].Booked(); mem != 4000 {
		t.Errorf("%v booked", mem)
	}
	f.Stop(twice.ARN, "")
	f.Stop(free.ARN, "")
	f.Advance(f.Now().Add(2 * time.Minute))
	if h.Cards[0].Used() != 0 {
		t.Errorf("%v in use by nobody", h.Cards[0].Used())
	}
}

func TestACardHasRoomForSoManyClients(t *testing.T) {
	f, h := oneHost(t, "g6.xlarge")
	d, _ := f.RegisterDefinition(sim.Definition{Family: "tiny", Containers: []sim.Container{{Name: "a", Memory: 300, Peak: 300}}})
	for range sim.MaxClients + 2 {
		if _, err := f.Run(d.ARN, "", ""); err != nil {
			t.Fatal(err)
		}
	}
	f.Advance(f.Now().Add(10 * time.Minute))
	refused := slices.DeleteFunc(f.Stopped(), func(x *sim.Task) bool { return x.ExitLog != "CUDA_ERROR_MPS_MAX_CLIENTS_REACHED" })
	if len(h.Processes()) != sim.MaxClients || len(refused) != 2 {
		t.Errorf("%d clients, %d refused", len(h.Processes()), len(refused))
	}
	for _, x := range f.Tasks() {
		f.Stop(x.ARN, "")
	}
	f.Advance(f.Now().Add(2 * time.Minute))
	for range sim.MaxClients {
		if _, err := f.Run(d.ARN, "", ""); err != nil {
			t.Fatal(err)
		}
	}
	f.Advance(f.Now().Add(10 * time.Minute))
	if len(h.Processes()) != sim.MaxClients {
		t.Errorf("after the first are gone, %d clients", len(h.Processes()))
	}
}

func TestABrokenCardTakesItsTasksAndNoOther(t *testing.T) {
	f, h := oneHost(t, "g6.12xlarge")
	var all []*sim.Task
	for range 4 {
		all = append(all, runOne(t, f, sim.Definition{Family: "big", Containers: []sim.Container{{Name: "a", Memory: 20000}}}))
	}
	f.Advance(f.Now().Add(2 * time.Minute))
	f.Inject(sim.Fault{Kind: "xid", Xid: 79, Card: 1, Host: h.EC2})
	f.Advance(f.Now().Add(2 * time.Minute))
	for i, x := range all {
		if want := map[bool]string{true: "STOPPED", false: "RUNNING"}[x.Cards[0] == h.Cards[1]]; x.Last != want {
			t.Errorf("task %d is %s", i, x.Last)
		}
	}
	again := runOne(t, f, sim.Definition{Family: "again", Containers: []sim.Container{{Name: "a", Memory: 20000}}})
	f.Advance(f.Now().Add(2 * time.Minute))
	if again.Last != "STOPPED" || !h.Cards[1].Lost {
		t.Errorf("ECS offers a lost card, and the task is %s", again.Last)
	}
}

func TestTheGateHasAThirdText(t *testing.T) {
	f, h := oneHost(t, "g6.xlarge")
	f.Inject(sim.Fault{Kind: "mps-slow", Host: h.EC2})
	x := runOne(t, f, sim.Definition{Family: "x", Containers: []sim.Container{{Name: "a", Memory: 100}}})
	f.Advance(f.Now().Add(5 * time.Minute))
	if x.Reason != "MPS control daemon verification did not complete" || h.Health != "OK" {
		t.Errorf("%q, health %s", x.Reason, h.Health)
	}
}

func TestAHangHoldsNewProcessesUntilItEnds(t *testing.T) {
	f, h := oneHost(t, "g6.xlarge")
	f.Inject(sim.Fault{Kind: "nvml-hang", Host: h.EC2, For: 10 * time.Minute})
	f.Inject(sim.Fault{Kind: "ecs-agent-lost", Host: h.EC2, For: 20 * time.Minute})
	if h.Connected {
		t.Error("a lost agent is connected")
	}
	f.Inject(sim.Fault{Kind: "agent-silent", Host: h.EC2, For: time.Minute})
	f.Advance(f.Now().Add(21 * time.Minute))
	if h.Silent || h.NVMLHang || !h.Connected {
		t.Errorf("silent %v, hang %v, connected %v", h.Silent, h.NVMLHang, h.Connected)
	}
	f.Inject(sim.Fault{Kind: "nvml-hang", Host: h.EC2, For: 10 * time.Minute})
	x := runOne(t, f, sim.Definition{Family: "x", Containers: []sim.Container{{Name: "a", Memory: 100}}})
	f.Advance(f.Now().Add(9 * time.Minute))
	if x.Last != "PENDING" {
		t.Errorf("a task in a hung driver is %s", x.Last)
	}
	f.Advance(f.Now().Add(5 * time.Minute))
	if x.Last != "RUNNING" {
		t.Errorf("after the hang it is %s", x.Last)
	}
}

func TestATaskWithItsOwnInterfaceGoesThroughEveryState(t *testing.T) {
	f, _ := oneHost(t, "g6.xlarge")
	x := runOne(t, f, sim.Definition{Family: "x", Network: "awsvpc", Containers: []sim.Container{{Name: "a", Memory: 100}}})
	out := f.Advance(f.Now().Add(3 * time.Minute))
	f.Stop(x.ARN, "")
	out = append(out, f.Advance(f.Now().Add(3*time.Minute))...)
	rest := out
	for _, s := range []string{"PROVISIONING", "PENDING", "ACTIVATING", "RUNNING", "DEACTIVATING", "STOPPING", "DEPROVISIONING", "STOPPED"} {
		i := slices.IndexFunc(rest, func(e sim.Emitted) bool {
			return bytes.Contains(e.Body, []byte("ECS Task State Change")) && bytes.Contains(e.Body, []byte(`"lastStatus":"`+s+`"`))
		})
		if i < 0 {
			t.Fatalf("no %s in its turn", s)
		}
		rest = rest[i+1:]
	}
}

func TestManagedScalingFollowsTheTasks(t *testing.T) {
	f := sim.New(sim.Config{Seed: 9, Start: start})
	if _, err := f.CreateGroup(sim.GroupConfig{Name: "g", Shape: "g6.xlarge", Max: 5}); err != nil {
		t.Fatal(err)
	}
	p, err := f.CreateProvider(sim.ProviderConfig{Name: "p", Group: "g", Scaling: true, TerminationProtection: true, Draining: true})
	if err != nil {
		t.Fatal(err)
	}
	d, _ := f.RegisterDefinition(sim.Definition{Family: "s", Containers: []sim.Container{{Name: "a", Memory: 20000}}})
	f.CreateService("s", d.ARN, 3)
	f.Advance(f.Now().Add(40 * time.Minute))
	if s, _ := f.Service("s"); len(f.Tasks()) != 3 || len(p.Hosts()) != 3 {
		t.Fatalf("%d tasks of %d on %d hosts", len(f.Tasks()), s.Desired, len(p.Hosts()))
	}
	for _, h := range p.Hosts() {
		if !h.ScaleInProtected {
			t.Errorf("%s has a task and no protection", h.EC2)
		}
	}
	f.UpdateService("s", "", 1)
	f.Advance(f.Now().Add(2 * time.Hour))
	if len(p.Hosts()) != 1 || len(f.Tasks()) != 1 {
		t.Errorf("%d hosts, %d tasks", len(p.Hosts()), len(f.Tasks()))
	}
}

func TestManagedDrainingEmptiesAHostBeforeItsGroupEndsIt(t *testing.T) {
	f := sim.New(sim.Config{Seed: 9, Start: start})
	g, _ := f.CreateGroup(sim.GroupConfig{Name: "g", Shape: "g6.xlarge", Max: 5, Desired: 2})
	if _, err := f.CreateProvider(sim.ProviderConfig{Name: "p", Group: "g", Draining: true}); err != nil {
		t.Fatal(err)
	}
	f.Advance(f.Now().Add(5 * time.Minute))
	d, _ := f.RegisterDefinition(sim.Definition{Family: "s", Containers: []sim.Container{{Name: "a", Memory: 4000}}, StopTimeout: 5 * time.Minute})
	f.CreateService("s", d.ARN, 2)
	f.Advance(f.Now().Add(2 * time.Minute))
	h := f.Tasks()[0].Host
	if _, err := f.TerminateInGroup(h.EC2, false); err != nil {
		t.Fatal(err)
	}
	f.Advance(f.Now().Add(10 * time.Second))
	if h.Status != "DRAINING" || h.Lifecycle != "Terminating:Wait" {
		t.Fatalf("%s %s", h.Status, h.Lifecycle)
	}
	f.Advance(f.Now().Add(20 * time.Minute))
	for _, x := range f.Stopped() {
		if x.Host == h && x.StopCode != "ServiceSchedulerInitiated" {
			t.Errorf("a task was cut off: %s %s", x.StopCode, x.Reason)
		}
	}
	if h.EC2State != "terminated" || len(g.Members()) != 2 || len(f.Tasks()) != 2 {
		t.Errorf("%s, %d members, %d tasks", h.EC2State, len(g.Members()), len(f.Tasks()))
	}
}

func TestManagedInstancesRepairThemselves(t *testing.T) {
	f := sim.New(sim.Config{Seed: 9, Start: start})
	p, err := f.CreateProvider(sim.ProviderConfig{Name: "mi", Managed: true, Shape: "g6.xlarge"})
	if err != nil {
		t.Fatal(err)
	}
	d, _ := f.RegisterDefinition(sim.Definition{Family: "s", Containers: []sim.Container{{Name: "a", Memory: gpu.MiB(4000)}}})
	f.CreateService("s", d.ARN, 1)
	f.Advance(f.Now().Add(10 * time.Minute))
	h := f.Tasks()[0].Host
	if !h.Managed() || len(f.Groups()) != 0 {
		t.Fatalf("managed %v, %d groups are shown", h.Managed(), len(f.Groups()))
	}
	f.Inject(sim.Fault{Kind: "xid", Xid: 31, Host: h.EC2})
	f.Advance(f.Now().Add(10 * time.Minute))
	if h.Status != "ACTIVE" {
		t.Errorf("an application's Xid: %s", h.Status)
	}
	f.Inject(sim.Fault{Kind: "xid", Xid: 79, Host: h.EC2})
	f.Advance(f.Now().Add(3 * time.Minute))
	if h.Health != "IMPAIRED" || h.HealthReason != "XID_79" || h.Status != "DRAINING" {
		t.Errorf("%s %s %s", h.Health, h.HealthReason, h.Status)
	}
	f.Advance(f.Now().Add(100 * time.Second))
	if len(p.Hosts()) != 2 || p.Hosts()[1].Status != "ACTIVE" || h.EC2State != "running" {
		t.Errorf("a replacement comes first: %d hosts, the old one is %s", len(p.Hosts()), h.EC2State)
	}
	f.Advance(f.Now().Add(15 * time.Minute))
	if h.EC2State != "terminated" || len(p.Hosts()) == 0 || len(f.Tasks()) != 1 || f.Tasks()[0].Last != "RUNNING" {
		t.Errorf("%s, %d hosts, %d tasks", h.EC2State, len(p.Hosts()), len(f.Tasks()))
	}
}
