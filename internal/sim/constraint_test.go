package sim_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/sim"
)

func oneHost(t *testing.T, shape string) (*sim.Fleet, *sim.Host) {
	t.Helper()
	f := sim.New(sim.Config{Seed: 4, Start: start})
	h, err := f.Launch(shape, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	f.Advance(start.Add(time.Minute))
	return f, h
}

func TestExpressionsSelectHostsByWhatTheyAre(t *testing.T) {
	_, h := oneHost(t, "g6.xlarge")
	h.Attributes["bulkhead.admit"], h.Attributes["bulkhead.tier"], h.Attributes["note"] = "true", "critical", "two words"
	for text, want := range map[string]bool{
		"attribute:bulkhead.admit == true":                                                          true,
		"attribute:bulkhead.admit equals false":                                                     false,
		"attribute:bulkhead.admit != false":                                                         true,
		"attribute:none != true":                                                                    false,
		"attribute:none !exists or attribute:none != true":                                          true,
		"attribute:ecs.capability.gpu-sharing-mps exists":                                           true,
		"attribute:ecs.instance-type =~ g6.*":                                                       true,
		"attribute:ecs.instance-type !~ g6.*":                                                       false,
		"attribute:ecs.instance-type =~ g6":                                                         false,
		"attribute:bulkhead.tier in [batch, critical]":                                              true,
		"attribute:bulkhead.tier not_in [batch, critical]":                                          false,
		"attribute:note == 'two words'":                                                             true,
		"not(attribute:bulkhead.admit == true)":                                                     false,
		"!(attribute:bulkhead.admit == false) && agentConnected == true":                            true,
		"agentVersion >= 1.57.0 and agentVersion < 1.1070.0":                                        true,
		"runningTasksCount == 0":                                                                    true,
		"ec2InstanceId == " + h.EC2:                                                                 true,
		"task:group == service:x":                                                                   false,
		"(attribute:none exists || attribute:bulkhead.admit == true) and registeredAt > 2026-01-01": true,
	} {
		q, err := sim.ParseQuery(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if q.Matches(h) != want {
			t.Errorf("%s: %v", text, !want)
		}
	}
	for _, text := range []string{"", "attribute:x", "attribute:x ==", "x == 1", "(attribute:x exists", "attribute:x in a", "attribute:x in [a", "attribute:x exists exists", "attribute:x =~ (", strings.Repeat("(", 200), strings.Repeat("x", 2001)} {
		if _, err := sim.ParseQuery(text); err == nil {
			t.Errorf("%.40q was admitted", text)
		}
	}
}

func FuzzParseQueryNeverPanics(f *testing.F) {
	for _, s := range []string{"attribute:a == b", "not (a exists)", "attribute:a in [b, c] or !attribute:x exists", "((((", "!~ =~ [ ]"} {
		f.Add(s)
	}
	f.Fuzz(func(_ *testing.T, s string) {
		if q, err := sim.ParseQuery(s); err == nil {
			q.Matches(&sim.Host{})
		}
	})
}

func TestAServiceSteeredByAttributesGoesWhereItMay(t *testing.T) {
	f := sim.New(sim.Config{Seed: 4, Start: start, Choice: sim.WorstFit})
	for range 4 {
		if _, err := f.Launch("g6.xlarge", time.Second); err != nil {
			t.Fatal(err)
		}
	}
	f.Advance(start.Add(time.Minute))
	d, _ := f.RegisterDefinition(sim.Definition{Family: "s", Containers: []sim.Container{{Name: "a", Memory: 4096}}})
	if _, err := f.CreateService("s", d.ARN, 4); err != nil {
		t.Fatal(err)
	}
	if err := f.Constrain("s", sim.Constraint{Type: sim.MemberOf, Expression: "attribute:bulkhead.admit == true"}); err != nil {
		t.Fatal(err)
	}
	var told int
	for _, e := range f.Advance(f.Now().Add(2 * time.Minute)) {
		told += strings.Count(string(e.Body), "SERVICE_TASK_PLACEMENT_FAILURE")
	}
	if len(f.Tasks()) != 0 || told != 1 {
		t.Fatalf("%d tasks where no host admits any, told %d times", len(f.Tasks()), told)
	}
	only := f.Hosts()[2]
	only.Attributes["bulkhead.admit"] = "true"
	f.Advance(f.Now().Add(2 * time.Minute))
	for _, x := range f.Tasks() {
		if x.Host != only {
			t.Errorf("%s is on %s", x.ARN, x.Host.EC2)
		}
	}
	if len(f.Tasks()) != 4 {
		t.Errorf("%d tasks", len(f.Tasks()))
	}
	delete(only.Attributes, "bulkhead.admit")
	f.Advance(f.Now().Add(5 * time.Minute))
	if len(f.Tasks()) != 4 {
		t.Error("an attribute that goes moves tasks that run")
	}
	if err := f.Constrain("s", sim.Constraint{Type: sim.DistinctInstance}); err != nil {
		t.Fatal(err)
	}
	if err := f.UpdateService("s", "", 7); err != nil {
		t.Fatal(err)
	}
	f.Advance(f.Now().Add(2 * time.Minute))
	if got := len(f.Tasks()); got != 7 {
		t.Errorf("distinct instances: %d tasks, want one more on each of the three others", got)
	}
}

func TestWhatIsShortIsNamedAndFreedAtDesiredStopped(t *testing.T) {
	f, h := oneHost(t, "g6.12xlarge")
	for family, c := range map[string]sim.Container{
		"RESOURCE:CPU": {Name: "x", CPU: 30 << 10}, "RESOURCE:MEMORY": {Name: "x", HostMemory: 100 << 10}, "RESOURCE:PORTS": {Name: "x", Ports: []int{80}},
		"RESOURCE:GPU": {Name: "x", Whole: sim.AllGPUs},
	} {
		d, err := f.RegisterDefinition(sim.Definition{Family: "f" + strings.ToLower(family[9:]), Containers: []sim.Container{c}})
		if err != nil {
			t.Fatal(err)
		}
		first, err := f.Run(d.ARN, "", "")
		if err != nil {
			t.Fatal(family, err)
		}
		if family == "RESOURCE:GPU" && len(first.GPUs("x")) != 4 {
			t.Errorf("ALL is %v", first.GPUs("x"))
		}
		f.Advance(f.Now().Add(time.Minute))
		_, err = f.Run(d.ARN, "", "")
		var refused *sim.Error
		if !errors.As(err, &refused) || refused.Code != family || !refused.Unplaced {
			t.Errorf("a second one: %v, want %s", err, family)
		}
		if _, err := f.Stop(first.ARN, ""); err != nil {
			t.Fatal(err)
		}
		second, err := f.Run(d.ARN, "", "")
		if err != nil {
			t.Fatalf("%s: ECS's books are free at desired STOPPED: %v", family, err)
		}
		f.Advance(f.Now().Add(2 * time.Minute))
		if second.Last != "RUNNING" {
			t.Errorf("%s: the second is %s", family, second.Last)
		}
		if _, err := f.Stop(second.ARN, ""); err != nil {
			t.Fatal(err)
		}
		f.Advance(f.Now().Add(2 * time.Minute))
	}
	if err := f.Drain(h.ARN, true); err != nil {
		t.Fatal(err)
	}
}
