package sim_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bulkhead-ecs/bulkhead/internal/sim"
)

var start = time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)

// fleetOf is a fleet of hosts with four services, three of them sharing.
func fleetOf(tb interface{ Fatal(...any) }, cfg sim.Config, hosts int) *sim.Fleet {
	cfg.Start = start
	f := sim.New(cfg)
	for i := range hosts {
		if _, err := f.Launch([]string{"g6.xlarge", "g6.12xlarge", "g5.xlarge"}[i%3], time.Duration(i%60)*time.Second); err != nil {
			tb.Fatal(err)
		}
	}
	for i, cs := range [][]sim.Container{{{Name: "server", Memory: 8192, Compute: 40}}, {{Name: "a", Memory: 1024}, {Name: "b", Memory: 512}}, {{Name: "w", Memory: 2048}}, {{Name: "t", Whole: 1}}} {
		d, err := f.RegisterDefinition(sim.Definition{Family: "fam" + string(rune('a'+i)), Containers: cs, Network: []string{"", "awsvpc", "host", ""}[i], Tags: map[string]string{"bulkhead:tier": "standard"}})
		if err != nil {
			tb.Fatal(err)
		}
		if _, err := f.CreateService(d.Family, d.ARN, 0); err != nil {
			tb.Fatal(err)
		}
	}
	f.Advance(start.Add(2 * time.Minute))
	return f
}

func TestECSBooksAreNeverOversubscribedUnderAnyChoiceOrFault(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := fleetOf(t, sim.Config{Seed: rapid.Uint64().Draw(t, "seed"), Choice: rapid.SampledFrom(sim.Choices).Draw(t, "choice"), Flaps: true}, 6)
		l := &law{versions: map[string]int64{}, ids: map[string]bool{}}
		for range 30 {
			hosts := slices.DeleteFunc(f.Hosts(), func(h *sim.Host) bool { return h.EC2State != "running" })
			switch rapid.IntRange(0, 3).Draw(t, "do") {
			case 0, 1:
				if err := f.UpdateService("fam"+rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "service"), "", rapid.IntRange(0, 12).Draw(t, "count")); err != nil {
					t.Fatal(err)
				}
			case 2:
				if len(hosts) > 3 {
					h := hosts[rapid.IntRange(0, len(hosts)-1).Draw(t, "host")]
					if err := f.Inject(sim.Fault{Kind: rapid.SampledFrom(slices.Concat(sim.FaultKinds, sim.FurtherKinds)).Draw(t, "fault"), Host: h.ARN, For: time.Minute, Xid: rapid.SampledFrom([]int{31, 79, 94, 63}).Draw(t, "xid")}); err != nil {
						t.Fatal(err)
					}
				}
			}
			l.heard(t, f.Advance(f.Now().Add(time.Duration(rapid.IntRange(1, 120).Draw(t, "seconds"))*time.Second)))
			l.stands(t, f)
		}
		for _, s := range []string{"fama", "famb", "famc", "famd"} {
			if err := f.DeleteService(s); err != nil {
				t.Fatal(err)
			}
		}
		l.heard(t, f.Advance(f.Now().Add(30*time.Minute))) // a hang holds nothing up for longer
		l.stands(t, f)
		if left := f.Tasks(); len(left) > 0 {
			t.Fatalf("%d tasks of deleted services have not stopped", len(left))
		}
	})
}

func day(tb testing.TB, seed uint64, hosts int, span time.Duration) []byte {
	f := fleetOf(tb, sim.Config{Seed: seed, Choice: sim.BestFit, Flaps: true}, hosts)
	var all bytes.Buffer
	for h := 0; time.Duration(h)*time.Hour < span; h++ {
		for i, s := range []string{"fama", "famb", "famc"} {
			if err := f.UpdateService(s, "", hosts*(2+(h+i)%3)/2); err != nil {
				tb.Fatal(err)
			}
		}
		for _, e := range f.Advance(f.Now().Add(time.Hour)) {
			all.Write(e.Body)
		}
	}
	return all.Bytes()
}

func TestTheSameSeedGivesTheSameBytes(t *testing.T) {
	a, b := day(t, 7, 10, 4*time.Hour), day(t, 7, 10, 4*time.Hour)
	if !bytes.Equal(a, b) {
		t.Fatal("two runs of one seed differ")
	}
	if bytes.Equal(a, day(t, 8, 10, 4*time.Hour)) {
		t.Fatal("another seed gives the same day")
	}
}

func TestAServiceReachesItsDesiredCount(t *testing.T) {
	f := fleetOf(t, sim.Config{Seed: 3}, 4)
	if err := f.UpdateService("fama", "", 6); err != nil {
		t.Fatal(err)
	}
	f.Advance(f.Now().Add(3 * time.Minute))
	if n := len(f.Tasks()); n != 6 {
		t.Fatalf("%d tasks run, want 6", n)
	}
	for _, x := range f.Tasks() {
		if x.Last != "RUNNING" {
			t.Errorf("%s is %s", x.ARN, x.Last)
		}
	}
}

func TestATaskPlacedOnACardStillHeldWaitsPending(t *testing.T) {
	f := fleetOf(t, sim.Config{Seed: 1}, 1)
	d, _ := f.RegisterDefinition(sim.Definition{Family: "big", Containers: []sim.Container{{Name: "x", Memory: 20000}}, StopTimeout: 10 * time.Minute})
	first, err := f.Run(d.ARN, "family:big", "")
	if err != nil {
		t.Fatal(err)
	}
	f.Advance(f.Now().Add(time.Minute))
	if _, err := f.Run(d.ARN, "family:big", ""); err == nil {
		t.Fatal("two of 20000 MiB were placed on one L4")
	}
	if _, err := f.Stop(first.ARN, "enough"); err != nil {
		t.Fatal(err)
	}
	second, err := f.Run(d.ARN, "family:big", "")
	if err != nil {
		t.Fatalf("ECS's books are free at desired STOPPED: %v", err)
	}
	f.Advance(f.Now().Add(time.Minute))
	if second.Last != "PENDING" || first.Last == "STOPPED" {
		t.Fatalf("first %s, second %s", first.Last, second.Last)
	}
	f.Advance(f.Now().Add(11 * time.Minute))
	if second.Last != "RUNNING" {
		t.Fatalf("second is %s after the first is gone", second.Last)
	}
}

func TestADeadDaemonStopsNewTasksWithTheAgentsWordsAndImpairsAfterThreeStrikes(t *testing.T) {
	f := fleetOf(t, sim.Config{Seed: 1}, 1)
	h := f.Hosts()[0]
	for kind, want := range map[string]string{"mps-dead": "MPS control daemon is not available on this instance", "mps-wedged": "MPS control daemon is not responding on this instance"} {
		if err := f.Inject(sim.Fault{Kind: kind, Host: h.EC2}); err != nil {
			t.Fatal(err)
		}
		d, _ := f.RegisterDefinition(sim.Definition{Family: "x", Containers: []sim.Container{{Name: "x", Memory: 100}}})
		x, _ := f.Run(d.ARN, "family:x", "")
		f.Advance(f.Now().Add(30 * time.Second))
		if x.Last != "STOPPED" || x.Reason != want {
			t.Errorf("%s: task is %s, %q", kind, x.Last, x.Reason)
		}
		f.Advance(f.Now().Add(45 * time.Second))
		if h.Health != "IMPAIRED" {
			t.Errorf("%s: health is %s after 75 s", kind, h.Health)
		}
		f.Inject(sim.Fault{Kind: "mps-recover", Host: h.EC2})
		f.Advance(f.Now().Add(30 * time.Second))
		if h.Health != "OK" {
			t.Errorf("%s: health is %s after the daemon came back", kind, h.Health)
		}
	}
}

func TestAnMPSFaultTakesTheCardsClientsAndEndsWithTheLast(t *testing.T) {
	f := fleetOf(t, sim.Config{Seed: 1}, 1)
	f.UpdateService("famc", "", 3)
	f.Advance(f.Now().Add(2 * time.Minute))
	h := f.Hosts()[0]
	before := f.Tasks()
	if err := f.Inject(sim.Fault{Kind: "mps-fault", Host: h.EC2}); err != nil {
		t.Fatal(err)
	}
	if !h.Cards[0].Fault {
		t.Fatal("the card is not in fault")
	}
	f.Advance(f.Now().Add(5 * time.Minute))
	for _, x := range before {
		if x.Last != "STOPPED" || x.StopCode != "EssentialContainerExited" {
			t.Errorf("a client of the faulted server is %s %s", x.Last, x.StopCode)
		}
	}
	if h.Cards[0].Fault {
		t.Error("the fault outlives its last client")
	}
}

func TestAnUnknownHostIsRefusedWithNearIDs(t *testing.T) {
	f := fleetOf(t, sim.Config{Seed: 1}, 3)
	id := f.Hosts()[1].EC2
	err := f.Inject(sim.Fault{Kind: "xid", Host: id[:len(id)-1] + "z"})
	var refused *sim.Error
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), id) {
		t.Fatalf("got %v, want it to name %s", err, id)
	}
	if err := f.Inject(sim.Fault{Kind: "gremlin"}); err == nil || !strings.Contains(err.Error(), "mps-dead") {
		t.Fatalf("an unknown fault: %v", err)
	}
}

func TestRollingDeploymentReplacesEveryTaskAndNeverGoesBelowTheMinimum(t *testing.T) {
	f := fleetOf(t, sim.Config{Seed: 2}, 4)
	f.UpdateService("famc", "", 4)
	f.Advance(f.Now().Add(2 * time.Minute))
	d, _ := f.RegisterDefinition(sim.Definition{Family: "famc", Containers: []sim.Container{{Name: "w", Memory: 4096}}})
	if err := f.UpdateService("famc", d.ARN, 4); err != nil {
		t.Fatal(err)
	}
	for range 300 {
		f.Advance(f.Now().Add(time.Second))
		up := slices.DeleteFunc(f.Tasks(), func(x *sim.Task) bool { return x.Last != "RUNNING" || x.Desired != "RUNNING" })
		if len(up) < 4 {
			t.Fatalf("%d run at %v", len(up), f.Now())
		}
	}
	for _, x := range f.Tasks() {
		if x.Definition.ARN != d.ARN {
			t.Errorf("%s still runs %s", x.ARN, x.Definition.ARN)
		}
	}
}

func TestADayOfAThousandHostsAndTenThousandTasksTakesLessThanAMinute(t *testing.T) {
	if testing.Short() {
		t.Skip("a whole day of a large fleet")
	}
	began := time.Now()
	f := fleetOf(t, sim.Config{Seed: 1, Choice: sim.BestFit, Flaps: true}, 1000)
	events, least := 0, 1<<30
	for h := range 24 {
		for i, s := range []string{"fama", "famb", "famc"} {
			if err := f.UpdateService(s, "", []int{1800, 4800, 4800}[i]+100*((h+i)%5)); err != nil {
				t.Fatal(err)
			}
		}
		events += len(f.Advance(f.Now().Add(time.Hour)))
		up := 0
		for _, x := range f.Tasks() {
			if x.Last == "RUNNING" {
				up++
			}
		}
		least = min(least, up)
	}
	if least < 10_000 {
		t.Errorf("only %d tasks ran at the end of an hour", least)
	}
	took := time.Since(began)
	if took > time.Minute {
		t.Errorf("a day took %v", took)
	}
	t.Logf("1,000 hosts for a day: %v, at least %d tasks running, %d events", took.Round(time.Millisecond), least, events)
}
