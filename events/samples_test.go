package events

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// readSamples returns every whole payload by its file's name.
func readSamples(t testing.TB) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("samples/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no samples: %v", err)
	}
	out := map[string][]byte{}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		out[strings.TrimSuffix(filepath.Base(f), ".json")] = b
	}
	return out
}

// TestEverySampleReadsAsTheGoldenTableSays holds the parser against
// testdata/golden.txt, whose lines were drawn from the payloads by another JSON
// reader, never by this package.
func TestEverySampleReadsAsTheGoldenTableSays(t *testing.T) {
	golden, err := os.ReadFile("testdata/golden.txt")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for line := range strings.Lines(string(golden)) {
		name, _, _ := strings.Cut(line, " | ")
		want[name] = strings.TrimSuffix(line, "\n")
	}
	got := map[string]string{}
	for name, raw := range readSamples(t) {
		ev, err := Parse(raw, Limits{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if ev.Account != "111122223333" || ev.Region != "us-east-1" || ev.Version != "0" || ev.ID == "" || !ev.Time.Equal(time.Date(2026, 11, 30, 3, 12, 10, 0, time.UTC)) {
			t.Errorf("%s: envelope read as %+v", name, ev.Envelope)
		}
		kind := strings.TrimPrefix(fmt.Sprintf("%T", ev.Detail), "events.")
		got[name] = strings.Join(append([]string{name, kind}, summary(ev.Detail)...), " | ")
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-golden +read)\n%s", d)
	}
}

func summary(d Detail) []string {
	switch d := d.(type) {
	case TaskState:
		return texts(d.LastStatus, d.DesiredStatus, d.Version.text(), d.LaunchType, d.StopCode, d.StoppedReason, lastPart(d.TaskArn), containersText(d.Containers))
	case ContainerInstanceState:
		gpus := []string{}
		for _, r := range d.RegisteredResources {
			if r.Name == "GPU" {
				gpus = short(r.StringSetValue)
			}
		}
		return texts(d.Status, fmt.Sprint(d.AgentConnected), d.Version.text(), d.EC2InstanceID, strings.Join(gpus, ","))
	case ContainerInstanceHealth:
		checks := []string{}
		for _, c := range d.HealthChecks {
			checks = append(checks, fmt.Sprintf("%s=%s/%s", c.Type, c.Status, c.StatusReason))
		}
		return texts(d.OverallStatus, d.CapacityProviderName, strings.Join(checks, ";"))
	case ServiceAction:
		return texts(d.EventType, d.EventName, d.Reason, d.DesiredCount.text(), len(d.ContainerInstanceArns))
	case DeploymentState:
		return texts(d.EventType, d.EventName, d.DeploymentID)
	case APICall:
		_, ok := d.RegisteredDefinition()
		return texts(d.EventName, d.ErrorCode, ok)
	}
	return summaryOfOthers(d)
}

func summaryOfOthers(d Detail) []string {
	switch d := d.(type) {
	case EC2State:
		return texts(d.InstanceID, d.State)
	case SpotInterruption:
		return texts(d.InstanceID, d.Action)
	case Rebalance:
		return texts(d.InstanceID)
	case Lifecycle:
		return texts(d.EC2InstanceID, d.Transition, d.HookName, d.AutoScalingGroupName)
	case SSMCommand:
		return texts(d.InstanceID, d.Status, d.DocumentName, strings.Join(d.Parameters["commands"], ","))
	case SSMAssociation:
		return texts(d.InstanceID, d.Status)
	case AWSHealth:
		about := []string{}
		for _, e := range d.Entities {
			about = append(about, string(e.Value))
		}
		return texts(d.TypeCode, d.StatusCode, d.EventRegion, strings.Join(about, ","))
	case ShareChange:
		memory := "none"
		if d.MemoryMiB != nil {
			memory = fmt.Sprint(*d.MemoryMiB)
		}
		return texts(d.Before, d.After, memory, d.Container)
	case HostChange:
		return texts(d.What, d.Before, d.After)
	case FindingChange:
		return texts(d.Kind, d.Severity, d.State)
	case PlacementChange:
		return texts(d.RequestID, d.Before, d.After)
	case CaseChange:
		return texts(d.CaseID, d.Before, d.After, d.Blocker)
	case AdmissionFinding:
		return texts(d.Rule, d.Severity, d.Container)
	case BreakerChange:
		return texts(d.Scope, d.Before, d.After, d.Detections)
	}
	return nil
}

func texts(vs ...any) []string {
	out := []string{}
	for _, v := range vs {
		out = append(out, fmt.Sprint(v))
	}
	return out
}

func (n Int) text() string {
	if !n.Known {
		return "none"
	}
	return fmt.Sprint(n.Value)
}

func lastPart(t Text) string { return string(t[strings.LastIndexByte(string(t), '/')+1:]) }

func short(ids []string) []string {
	out := []string{}
	for _, id := range ids {
		out = append(out, id[:min(12, len(id))])
	}
	return out
}

func containersText(cs []TaskContainer) string {
	out := []string{}
	for _, c := range cs {
		out = append(out, fmt.Sprintf("%s=%s/%s", c.Name, strings.Join(short(c.GpuIDs), ","), c.ExitCode.text()))
	}
	return strings.Join(out, ";")
}

func TestEveryKnownKindHasASample(t *testing.T) {
	seen := map[kind]bool{}
	for _, raw := range readSamples(t) {
		if ev, err := Parse(raw, Limits{}); err == nil {
			seen[kind{ev.Source, ev.DetailType}] = true
		}
	}
	for k := range kinds {
		if !seen[k] {
			t.Errorf("no sample of %s from %s", k.detailType, k.source)
		}
	}
}

func TestTheRegisteredDefinitionIsWhatTheCallerWrote(t *testing.T) {
	ev, err := Parse(readSamples(t)["cloudtrail-register-task-definition"], Limits{})
	if err != nil {
		t.Fatal(err)
	}
	raw, ok := ev.Detail.(APICall).RegisteredDefinition()
	var def struct{ Family string }
	if !ok || json.Unmarshal(raw, &def) != nil || def.Family != "chat" {
		t.Errorf("read %s, %v", raw, ok)
	}
}
