package ingest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-ecs/bulkhead/events"
	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

var rewrite = flag.Bool("rewrite", false, "write the golden file anew; review it as a diff")

// Every sample event, and what ingest makes of it, in one file that people read.
func TestWhatBecomesOfEverySample(t *testing.T) {
	files, err := filepath.Glob("../../events/samples/*.json")
	if err != nil || len(files) < 50 {
		t.Fatalf("%d samples, %v", len(files), err)
	}
	slices.Sort(files)
	def := &ledger.Definition{Containers: []ledger.ContainerNeed{{Name: "chat", Need: ledger.NeedShare, Memory: 6000, Compute: 40}}, TierTag: "critical"}
	var out strings.Builder
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "%s\n", filepath.Base(f))
		ev, err := events.Parse(b, events.Limits{})
		var tr Translation
		if err != nil {
			tr = Unreadable(err)
		} else {
			tr = Translate(ev, Scope{Accounts: []string{"111122223333"}}, time.Time{})
		}
		fmt.Fprintf(&out, "  %s %s %s\n", []string{"apply", "ignore", "unknown", "reject"}[tr.Verdict], tr.Token, tr.Text)
		for _, c := range tr.Commands {
			describeCommand(&out, c, def)
		}
	}
	const golden = "testdata/samples.golden"
	if *rewrite {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), out.String()); diff != "" {
		t.Errorf("(-golden +now)\n%s", diff)
	}
}

func describeCommand(out *strings.Builder, c Command, def *ledger.Definition) {
	switch {
	case c.Task != nil:
		task := c.SizedTask(def, Tiers{})
		fmt.Fprintf(out, "  task %s v%d phase %d %s tier %s", task.ARN[strings.LastIndexByte(task.ARN, '/')+1:], task.Version, task.Phase, task.LastStatus, task.Tier)
		for _, s := range task.Shares {
			fmt.Fprintf(out, "; %s need %d sized %v %v %v on %v bad %q", s.Container, s.Need, s.Sized, s.Memory, s.Compute, s.GPUs, s.Bad)
		}
		fmt.Fprintln(out)
	case c.Seen != nil:
		fmt.Fprintf(out, "  host %+v %+v cards %v\n", c.Seen.Registration, c.Seen.Fixed, c.Seen.GPUs)
	case c.Health != nil:
		fmt.Fprintf(out, "  health %+v\n", c.Health)
	case c.EC2State != nil:
		fmt.Fprintf(out, "  ec2 %s %s\n", c.EC2, c.EC2State.State)
	case c.Leaving != nil:
		fmt.Fprintf(out, "  leaving %s %s\n", c.EC2, c.Leaving.Cause)
	}
}

func TestAnEventThatSpeaksForAnotherAccountThanItsResourceIsForged(t *testing.T) {
	b, err := os.ReadFile("../../events/samples/task-running-mps-share.json")
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string][2]string{
		"account": {`"account": "111122223333"`, `"account": "999999999999"`},
		"region":  {`"region": "us-east-1"`, `"region": "eu-west-1"`},
	} {
		forged := strings.Replace(string(b), change[0], change[1], 1)
		if forged == string(b) {
			t.Fatalf("the sample has no %s", change[0])
		}
		ev, err := events.Parse([]byte(forged), events.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if tr := Translate(ev, Scope{}, time.Time{}); tr.Verdict != Reject || tr.Token != RejectedForeign {
			t.Errorf("%s: %+v", name, tr)
		}
	}
}

func TestATimeAheadOfTheClockIsNotBelieved(t *testing.T) {
	ev := events.Event{Envelope: events.Envelope{Time: time.Unix(2e9, 0)}, Detail: events.EC2State{InstanceID: "i-0a", State: "terminated"}}
	if tr := Translate(ev, Scope{}, time.Unix(2e9, 0).Add(-Future-time.Second)); tr.Token != RejectedTime {
		t.Errorf("%+v", tr)
	}
	if tr := Translate(ev, Scope{}, time.Unix(2e9, 0).Add(-time.Minute)); tr.Verdict != Apply {
		t.Errorf("a clock that is off by a minute: %+v", tr)
	}
}

func TestTiersComeFromTagThenServiceThenFamilyThenDefault(t *testing.T) {
	tiers := Tiers{ByService: map[string]gpu.Tier{"chat": "gold"}, ByFamily: map[string]gpu.Tier{"embed": "silver"}, Default: "bronze"}
	for _, c := range []struct {
		group, definition, tag string
		want                   gpu.Tier
	}{
		{"service:chat", "arn:x:task-definition/embed:3", "Critical", "critical"},
		{"service:chat", "arn:x:task-definition/embed:3", "", "gold"},
		{"service:other", "arn:x:task-definition/embed:3", "", "silver"},
		{"family:x", "arn:x:task-definition/x:1", "", "bronze"},
		{"family:x", "arn:x:task-definition/x:1", "<b>", "bronze"},
		{"family:x", "arn:x:task-definition/x:1", strings.Repeat("a", 33), "bronze"},
	} {
		if got := tiers.Of(c.group, c.definition, ledger.Definition{TierTag: c.tag}); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
	if got := (Tiers{}).Of("", "", ledger.Definition{}); got != "standard" {
		t.Errorf("with no policy: %s", got)
	}
}

func TestADefinitionGivesNeedsOfEveryKind(t *testing.T) {
	percent, stop := int32(40), int32(120)
	req := func(value string) []RequirementShape { return []RequirementShape{{Type: "GPU", Value: value}} }
	share := RequirementShape{Type: "GPU"}
	share.SharingStrategy = &struct {
		NvidiaMps *MpsShape `json:"nvidiaMps"`
	}{&MpsShape{Memory: 4096, MaxComputePercent: &percent}}
	d := DefinitionOf(DefinitionShape{TaskDefinitionArn: "arn", Family: "f", Tags: []TagShape{{Key: TierTag, Value: "gold"}}, ContainerDefinitions: []ContainerShape{
		{Name: "z", ResourceRequirements: []RequirementShape{{Type: "InferenceAccelerator", Value: "x"}, share}, StopTimeout: &stop, DockerLabels: map[string]string{TierTag: "label"}},
		{Name: "all", ResourceRequirements: req("ALL")}, {Name: "two", ResourceRequirements: req("2")}, {Name: "slice", ResourceRequirements: req("0.25")}, {Name: "none"}}})
	want := ledger.Definition{ARN: "arn", Family: "f", TierTag: "gold", StopTimeout: 2 * time.Minute, Containers: []ledger.ContainerNeed{
		{Name: "all", Need: ledger.NeedAll}, {Name: "slice"}, {Name: "two", Need: ledger.NeedWhole, Count: 2}, {Name: "z", Need: ledger.NeedShare, Memory: 4096, Compute: 40}}}
	if diff := cmp.Diff(want, d); diff != "" {
		t.Error(diff)
	}
}
