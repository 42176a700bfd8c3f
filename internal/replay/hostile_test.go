package replay

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bulkhead-ecs/bulkhead/internal/ingest"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/memstore"
)

// run replays lines in an account's scope.
func replayLines(t testing.TB, d Described, lines ...string) Document {
	t.Helper()
	doc, err := Run(context.Background(), strings.NewReader(strings.Join(lines, "\n")), Options{Store: memstore.New(), Described: d,
		Scope: ingest.Scope{Accounts: []string{"111122223333"}}, Policy: ledger.DefaultPolicy(), Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// envelope is an event about host 0 of the fixed fleet's account.
func envelope(id, kind, source, account, at, detail string) string {
	return fmt.Sprintf(`{"id":%q,"detail-type":%q,"source":%q,"account":%q,"region":"us-east-1","time":%q,"detail":%s}`, id, kind, source, account, at, detail)
}

func taskEvent(id, account, at, definition string, version int, last, containers string) string {
	return envelope(id, "ECS Task State Change", "aws.ecs", account, at, fmt.Sprintf(`{"taskArn":%q,"clusterArn":%q,"containerInstanceArn":%q,"taskDefinitionArn":%q,"lastStatus":%q,"desiredStatus":%q,"version":%d,"containers":%s}`,
		arnHead+"task/gpu-prod/t1", arnHead+"cluster/gpu-prod", instanceARN(0), definition, last, last, version, containers))
}

const (
	noon  = "2026-12-01T12:00:00Z"
	onG1  = `[{"name":"app","gpuIds":["GPU-00000000-0000-0000-0000-000000000001"]}]`
	chat7 = arnHead + "task-definition/chat:7"
)

// hostile is a day with everything in it that is not to be believed.
func hostile() []string {
	other := strings.Replace(taskEvent("f2", "111122223333", noon, chat7, 9, "RUNNING", onG1), arnHead+"container-instance", strings.Replace(arnHead, "111122223333", "999988887777", 1)+"container-instance", 1)
	return []string{
		taskEvent("e1", "111122223333", noon, chat7, 2, "RUNNING", onG1),
		taskEvent("e2", "111122223333", "2026-12-01T12:01:00Z", chat7, 3, "STOPPED", `[]`),
		taskEvent("f1", "999988887777", "2099-01-01T00:00:00Z", chat7, 9, "RUNNING", onG1), // foreign, and of another century
		other, // an envelope of ours about a host of theirs
		taskEvent("e3", "111122223333", noon, chat7, -4, "RUNNING", onG1),
		envelope("u1", "Something New", "aws.ecs", "111122223333", "9999-01-01T00:00:00Z", `{}`),
		envelope("n1", "EC2 Instance State-change Notification", "aws.ec2", "111122223333", "2026-12-01T12:02:00Z", `{"instance-id":"nonsense","state":"running"}`),
		strings.Replace(taskEvent("ms", "111122223333", noon, chat7, 4, "STOPPED", `[]`), `"time":"`+noon+`"`, `"time":1796038200000`, 1),
		strings.Replace(envelope("num", "EC2 Instance State-change Notification", "aws.ec2", "111122223333", noon, `{"instance-id":"i-0a","state":"running"}`), `"account":"111122223333"`, `"account":111122223333`, 1),
	}
}

func TestWhatIsNotBelievedChangesNothingInAnyOrder(t *testing.T) {
	lines := hostile()
	want := replayLines(t, definitionsForTest(), lines...)
	if got := want.Stats; got.Rejected != 4 || got.Unknown != 1 || got.Broken != 0 {
		t.Errorf("%+v %+v", got, want.Rejected)
	}
	shares := 0
	for _, h := range want.Hosts {
		for _, d := range h.Devices {
			for _, s := range d.Shares {
				shares++
				if s.State != ledger.StateReleased {
					t.Errorf("%+v", s)
				}
			}
		}
	}
	if shares != 1 {
		t.Errorf("%d shares: the released one is shown for a day, whatever a foreign event's clock says", shares)
	}
	rapid.Check(t, func(rt *rapid.T) {
		again := append(rapid.Permutation(lines).Draw(rt, "order"), rapid.SliceOfN(rapid.SampledFrom(lines), 0, 5).Draw(rt, "again")...)
		got := replayLines(t, definitionsForTest(), again...)
		if d := cmp.Diff([]any{want.Hosts, want.Findings}, []any{got.Hosts, got.Findings}); d != "" {
			rt.Fatalf("(-want +got)\n%s", d)
		}
	})
}

func TestOneBrokenRecordLosesNoOther(t *testing.T) {
	doc := replayLines(t, definitionsForTest(), fmt.Sprintf(`{"Records":[{"body":%q},{"body":"{cut"},{"body":%q}]}`, hostile()[0], hostile()[1]))
	if doc.Stats.Applied != 2 || len(doc.Broken) != 1 || doc.Broken[0].Line != 1 || !strings.HasPrefix(doc.Broken[0].Reason, "record 2: ") {
		t.Errorf("%+v %+v", doc.Stats, doc.Broken)
	}
}

func TestWhatIsNoEventIsBrokenAndOnlyThat(t *testing.T) {
	doc := replayLines(t, Described{}, `{}`, `{"a":1}`, `null`, `42`, `[]`, `{"cut`, envelope("big", "X", "y", "111122223333", noon, `{"a":"`+strings.Repeat("a", 300<<10)+`"}`), hostile()[0])
	if s := doc.Stats; s.Broken != 6 || s.Events != 2 || s.Rejected != 1 || s.Applied != 1 {
		t.Errorf("%+v %+v", s, doc.Broken)
	}
	for i, b := range doc.Broken {
		if b.Line != i+1 {
			t.Errorf("broken line %d is told as %d: %s", i+1, b.Line, b.Reason)
		}
	}
	if len(doc.Rejected) != 1 || doc.Rejected[0].Line != 7 || !strings.HasPrefix(doc.Rejected[0].Reason, "MessageTooLarge") {
		t.Errorf("%+v", doc.Rejected)
	}
}

func TestAnOddDescriptionIsNamedAndTheRestIsUsed(t *testing.T) {
	host := func(n int, version, total string) string {
		return fmt.Sprintf(`{"containerInstanceArn":%q,"ec2InstanceId":"i-%d","status":"ACTIVE","version":%s,"gpuDevices":[{"gpuId":"GPU-00000000-0000-0000-0000-000000000001","totalMemoryInMiB":%s}]}`, instanceARN(n), n, version, total)
	}
	definition := func(family, memory string) string {
		return fmt.Sprintf(`{"taskDefinition":{"taskDefinitionArn":%q,"family":%q,"containerDefinitions":[{"name":"app","resourceRequirements":[{"type":"GPU","sharingStrategy":{"nvidiaMps":{"memory":%s}}}]}]}}`, arnHead+"task-definition/"+family, family, memory)
	}
	d, err := ReadDescribed(fstest.MapFS{
		"a.json":     {Data: []byte(definition("chat:7", "1e30"))},
		"b.json":     {Data: []byte(definition("chat:8", `"4096"`) + "\n" + definition("embed:3", "2000"))},
		"c.json":     {Data: []byte(`[1,2]`)},
		"d.json":     {Data: []byte(`{"containerInstances":[` + host(0, "9", "22563") + `,` + host(1, "3", "1e25") + `,` + host(2, "-3", "22563") + `]}`)},
		"e.json":     {Data: []byte(`{"tasks":[{"taskArn":"nonsense","version":1},{"taskArn":"` + arnHead + `task/x","version":"x"}]}`)},
		"f.json":     {Data: []byte(`{"containerInstances":[` + strings.ReplaceAll(host(7, "1", "1"), "111122223333", "999988887777") + `]}`)},
		"g.json":     {Data: []byte(`{"foo":1}`)},
		"h/cut.json": {Data: []byte(`{"tasks":[`)},
		"note.txt":   {Data: []byte(`not looked at`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	doc := replayLines(t, d, strings.Replace(hostile()[0], "chat:7", "embed:3", 1))
	var got []string
	for _, f := range doc.Findings {
		if f.Kind == ledger.DescribeUnreadable {
			got = append(got, strings.TrimPrefix(f.Subject, arnHead)+" — "+f.Reason)
		}
	}
	want := []string{
		"a.json — task definition 1 is not used: containerDefinitions.resourceRequirements.sharingStrategy.nvidiaMps.memory is number 1e30, which does not belong there",
		"b.json — task definition 1 is not used: containerDefinitions.resourceRequirements.sharingStrategy.nvidiaMps.memory is string, which does not belong there",
		"c.json — not an answer of aws ecs describe-*: it is number, which does not belong there",
		"d.json — container instance 2 is not used: gpuDevices.totalMemoryInMiB is number 1e25, which does not belong there",
		"e.json — task 2 is not used: version is string, which does not belong there",
		"g.json — holds no taskDefinition, containerInstances or tasks",
		"h/cut.json — it is not whole JSON: save an answer of aws ecs describe-* there",
		"nonsense — IdentityMalformed: taskArn \"nonsense\" is no task's ARN",
	}
	for _, w := range want {
		if !contains(got, w) {
			t.Errorf("no finding says %q", w)
		}
	}
	if len(doc.Hosts) != 1 || len(doc.Hosts[0].Devices) != 1 || doc.Hosts[0].Devices[0].HeldMiB != 2000 {
		t.Errorf("what is good is used: %+v", doc.Hosts)
	}
	foreign, absurd := false, false
	for _, g := range got {
		foreign = foreign || strings.Contains(g, "ForeignAccountOrRegion")
		absurd = absurd || strings.Contains(g, "VersionAbsurd")
	}
	if !foreign || !absurd {
		t.Errorf("%q", got)
	}
}

func contains(all []string, one string) bool {
	for _, s := range all {
		if s == one {
			return true
		}
	}
	return false
}

func TestADescribedHostThatHasEndedIsStillShown(t *testing.T) {
	ended := envelope("h", "ECS Container Instance State Change", "aws.ecs", "111122223333", noon, fmt.Sprintf(`{"containerInstanceArn":%q,"clusterArn":%q,"ec2InstanceId":"i-0","status":"INACTIVE","version":9,"registeredResources":[{"name":"GPU","stringSetValue":["GPU-00000000-0000-0000-0000-000000000001"]}]}`,
		instanceARN(0), arnHead+"cluster/gpu-prod"))
	var d Described
	d.file("d.json", []byte(fmt.Sprintf(`{"containerInstances":[{"containerInstanceArn":%q,"status":"ACTIVE","version":5,"gpuDevices":[{"gpuId":"GPU-00000000-0000-0000-0000-000000000001","totalMemoryInMiB":22563}]}]}`, instanceARN(0))))
	doc := replayLines(t, d, ended)
	if len(doc.Hosts) != 1 || doc.Hosts[0].Status != "INACTIVE" {
		t.Errorf("%+v", doc.Hosts)
	}
}

// A registration call tells a definition as well as a describe does, before or
// behind the events that need it.
func TestARegisteredDefinitionSizesTasksInAnyOrder(t *testing.T) {
	call := envelope("c", "AWS API Call via CloudTrail", "aws.ecs", "111122223333", noon, fmt.Sprintf(`{"eventSource":"ecs.amazonaws.com","eventName":"RegisterTaskDefinition","requestParameters":{"family":"chat"},
		"responseElements":{"taskDefinition":{"taskDefinitionArn":%q,"family":"chat","containerDefinitions":[{"name":"app","resourceRequirements":[{"type":"GPU","sharingStrategy":{"nvidiaMps":{"memory":4096,"maxComputePercent":30}}}]}]}}}`, chat7))
	call = string(bytes.ReplaceAll([]byte(call), []byte("\n"), nil))
	for _, lines := range [][]string{{call, hostile()[0]}, {hostile()[0], call}} {
		doc := replayLines(t, Described{}, lines...)
		if len(doc.Hosts) != 1 || doc.Hosts[0].Devices[0].HeldMiB != 4096 {
			t.Errorf("%+v", doc.Hosts)
		}
	}
}

func TestATaskThatHoldsOnTwoHostsIsNamed(t *testing.T) {
	elsewhere := strings.Replace(hostile()[0], instanceARN(0), instanceARN(1), 1)
	doc := replayLines(t, definitionsForTest(), hostile()[0], elsewhere)
	n := 0
	for _, f := range doc.Findings {
		if f.Kind == ledger.TaskOnTwoHosts {
			n++
		}
	}
	if n != 2 {
		t.Errorf("%d findings, want one a host: %+v", n, doc.Findings)
	}
}
