package replay

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"flag"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
	"github.com/bulkhead-ecs/bulkhead/internal/ingest"
	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
	"github.com/bulkhead-ecs/bulkhead/internal/memstore"
)

var rewrite = flag.Bool("rewrite", false, "write the fixed event file anew")

const fixedFile = "testdata/day-2000.jsonl.gz"

// readFixed reads the fixed file of 2,000 events.
func readFixed(t *testing.T) [][]byte {
	t.Helper()
	if *rewrite {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		for _, e := range makeHistory(2026, 16, 2000) {
			_, _ = z.Write(append(e, '\n'))
		}
		z.Close()
		if err := os.WriteFile(fixedFile, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.Open(fixedFile)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Split(bytes.TrimSpace(b), []byte("\n"))
}

// definitionsForTest are the described ones; "nobody-described" is left out.
func definitionsForTest() Described {
	mps := func(memory int64, percent int32) []ingest.RequirementShape {
		var r ingest.RequirementShape
		b, _ := json.Marshal(map[string]any{"type": "GPU", "sharingStrategy": map[string]any{"nvidiaMps": map[string]any{"memory": memory, "maxComputePercent": percent}}})
		_ = json.Unmarshal(b, &r)
		return []ingest.RequirementShape{r}
	}
	return Described{Definitions: []ingest.DefinitionShape{
		{TaskDefinitionArn: arnHead + "task-definition/chat:7", Family: "chat", ContainerDefinitions: []ingest.ContainerShape{
			{Name: "app", ResourceRequirements: mps(6000, 40), DockerLabels: map[string]string{ingest.TierTag: "critical"}}}},
		{TaskDefinitionArn: arnHead + "task-definition/embed:3", Family: "embed", ContainerDefinitions: []ingest.ContainerShape{
			{Name: "app", ResourceRequirements: mps(2000, 0)}, {Name: "side", ResourceRequirements: mps(1000, 10)}, {Name: "log"}}},
		{TaskDefinitionArn: arnHead + "task-definition/train:1", Family: "train", ContainerDefinitions: []ingest.ContainerShape{
			{Name: "app", ResourceRequirements: []ingest.RequirementShape{{Type: "GPU", Value: "1"}}}}},
	}, Hosts: []ingest.HostShape{describedHost(0), describedHost(1)}}
}

// describedHost is a host as ECS described it in the middle of the day.
func describedHost(i int) ingest.HostShape {
	h := ingest.HostShape{ContainerInstanceArn: instanceARN(i), Ec2InstanceId: ec2ID(i), Status: "ACTIVE", AgentConnected: true, Version: 50,
		RegisteredResources: []ingest.ResourceShape{{Name: "GPU", StringSetValue: cardIDs(i, 0)}}}
	for _, u := range cardIDs(i, 0) {
		h.GpuDevices = append(h.GpuDevices, ingest.GpuShape{GpuID: u, SharingMode: "NVIDIA_MPS", TotalMemoryInMiB: 22563})
	}
	return h
}

// ledgerOf replays events and returns the ledger without the counts, which rightly
// depend on the order.
func ledgerOf(t interface{ Fatal(...any) }, events [][]byte) string {
	doc, err := Run(context.Background(), bytes.NewReader(bytes.Join(events, []byte("\n"))), Options{
		Store: memstore.New(), Described: definitionsForTest(), Log: slog.New(slog.DiscardHandler),
		Policy: ledger.Policy{Tiers: map[gpu.Tier]ledger.TierRule{"critical": ledger.TierOnlySame}}})
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.MarshalIndent(map[string]any{"hosts": doc.Hosts, "findings": doc.Findings}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestAFixedDayShuffledFiftyWaysGivesOneLedger(t *testing.T) {
	events := readFixed(t)
	if len(events) != 2000 {
		t.Fatalf("%d events, the fixed file has 2000", len(events))
	}
	want := ledgerOf(t, events)
	for _, word := range []string{`"released"`, `"bound"`, `"releasing"`, `"lost"`, `"reserved"`, "RunningAfterStopped", "DeviceVanished", "ShareSizeUnknown",
		"OverMemory", "ModeConflict", "TierConflict", "TaskLost", "spot-interruption", "terminated"} {
		if !bytes.Contains([]byte(want), []byte(word)) {
			t.Errorf("the fixed day has no %s: it proves nothing about it", word)
		}
	}
	for n := range 50 {
		rng := rand.New(rand.NewPCG(uint64(n), 7))
		shuffled := slices.Clone(events)
		for range n * 4 { // and some come again
			shuffled = append(shuffled, events[rng.IntN(len(events))])
		}
		rng.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if got := ledgerOf(t, shuffled); got != want {
			t.Fatalf("shuffle %d gives another ledger (-in order +shuffled):\n%s", n, cmp.Diff(want, got))
		}
	}
}

func TestAnyOrderAndAnyRepetitionGivesTheSameLedger(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := makeHistory(rapid.Uint64().Draw(t, "seed"), rapid.IntRange(1, 9).Draw(t, "hosts"), rapid.IntRange(1, 120).Draw(t, "events"))
		want := ledgerOf(t, events)
		mixed := rapid.Permutation(append(slices.Clone(events), rapid.SliceOfN(rapid.SampledFrom(events), 0, 40).Draw(t, "again")...)).Draw(t, "order")
		if got := ledgerOf(t, mixed); got != want {
			t.Fatalf("another ledger (-in order +mixed):\n%s", cmp.Diff(want, got))
		}
	})
}
