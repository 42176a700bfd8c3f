package events

import (
	"bytes"
	"encoding/json"
	"testing"
)

// taskBytes is the task event as the bus carries it, without the sample's indent.
func taskBytes(b *testing.B) []byte {
	var out bytes.Buffer
	if err := json.Compact(&out, readSamples(b)["task-running-mps-share"]); err != nil {
		b.Fatal(err)
	}
	return out.Bytes()
}

func BenchmarkParseTaskEvent(b *testing.B) {
	raw := taskBytes(b)
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(raw, Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkBaselineMapOfAny is what reading without types costs: no checks, no
// limits, nothing looked up yet.
func BenchmarkBaselineMapOfAny(b *testing.B) {
	raw := taskBytes(b)
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		var m map[string]any
		if err := json.Unmarshal(raw, &m); err != nil {
			b.Fatal(err)
		}
	}
}
