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

// smallTaskBytes is the same event with some optional members left out, of those
// that are read and those that are not: about 1.35 KB.
func smallTaskBytes(b *testing.B) []byte {
	var m map[string]any
	if err := json.Unmarshal(taskBytes(b), &m); err != nil {
		b.Fatal(err)
	}
	d := m["detail"].(map[string]any)
	for _, name := range []string{"attachments", "connectivity", "connectivityAt", "cpu", "memory", "pullStoppedAt", "overrides", "attributes"} {
		delete(d, name)
	}
	c := d["containers"].([]any)[0].(map[string]any)
	for _, name := range []string{"image", "imageDigest", "networkInterfaces", "taskArn", "cpu", "memory"} {
		delete(c, name)
	}
	out, err := json.Marshal(m)
	if err != nil {
		b.Fatal(err)
	}
	return out
}

func BenchmarkParseTaskEvent(b *testing.B) {
	for name, raw := range map[string][]byte{"whole": taskBytes(b), "small": smallTaskBytes(b)} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse(raw, Limits{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkBaselineMapOfAny is what reading without types costs: no checks, no
// limits, nothing looked up yet.
func BenchmarkBaselineMapOfAny(b *testing.B) {
	for name, raw := range map[string][]byte{"whole": taskBytes(b), "small": smallTaskBytes(b)} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				var m map[string]any
				if err := json.Unmarshal(raw, &m); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
