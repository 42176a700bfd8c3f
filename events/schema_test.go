package events

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

func schemaOf(t *testing.T, detailType string) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	s, err := c.Compile("schemas/" + strings.ReplaceAll(strings.ToLower(detailType), " ", "-") + ".json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func validate(t *testing.T, s *jsonschema.Schema, raw []byte) error {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(v)
}

func ownDetails() []Own {
	h := OwnHead{ID: "e1", At: time.Date(2026, 11, 30, 3, 12, 10, 0, time.UTC), ClusterArn: "c", ContainerInstanceArn: "i", EC2InstanceID: "i-0"}
	memory := int64(4096)
	return []Own{
		ShareChange{OwnHead: h, After: "bound", MemoryMiB: &memory, ComputePercent: 25}, ShareChange{OwnHead: h, After: "bound"},
		HostChange{OwnHead: h, What: "status"}, FindingChange{OwnHead: h, Kind: "leak", Severity: "error", State: "open"},
		PlacementChange{OwnHead: h, RequestID: "p"}, CaseChange{OwnHead: h, CaseID: "c", After: "Open", Mode: "observe"},
		AdmissionFinding{OwnHead: h, TaskDefinitionArn: "d", Rule: "r"}, BreakerChange{OwnHead: h, Scope: "s", Cause: "c", After: "open"},
	}
}

func TestWhatIsEncodedObeysItsSchemaAndReadsBack(t *testing.T) {
	for _, d := range ownDetails() {
		name, raw, err := Encode(d)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate(t, schemaOf(t, name), raw); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		whole, err := json.Marshal(map[string]any{"source": SourceBulkhead, "detail-type": name, "detail": raw})
		if err != nil {
			t.Fatal(err)
		}
		ev, err := Parse(whole, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(d.stamped(), ev.Detail); diff != "" {
			t.Errorf("%s (-encoded +read)\n%s", name, diff)
		}
	}
}

func TestOwnSamplesObeyTheirSchemasAndBrokenOnesDoNot(t *testing.T) {
	checked := 0
	for name, raw := range readSamples(t) {
		if !strings.HasPrefix(name, "own-") {
			continue
		}
		checked++
		ev, err := Parse(raw, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		s := schemaOf(t, ev.DetailType)
		if err := validate(t, s, ev.RawDetail); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, member := range []string{"schema", "id", "at"} {
			var m map[string]any
			if err := json.Unmarshal(ev.RawDetail, &m); err != nil {
				t.Fatal(err)
			}
			delete(m, member)
			b, _ := json.Marshal(m)
			if validate(t, s, b) == nil {
				t.Errorf("%s without %s passes its schema", name, member)
			}
		}
	}
	if checked == 0 {
		t.Fatal("no sample of our own events")
	}
}
