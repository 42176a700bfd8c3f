package events

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheCursorReadsTasksAsTheStandardDecoderDoes(t *testing.T) {
	details := []string{`{}`, ` { "version" : 5 , "group" : "a\"b" } `, `{"containers":[]}`, `{"containers":[null]}`, `{"containers":null}`, `{"gr\u006fup":"x"}`,
		`{"group":"é\ud83d\ude00"}`, `{"containers":[{"gpuIds":["a\\u0041",null,""],"exitCode":0},{"name":"b","gpuIds":[]}]}`, `{"attributes":[{"name":"n","value":null}]}`,
		`{"overrides":{"a":[{"b":"}]"}]}}`, `{"containers":[{"gpuIds":["a" , "b" ]}]}`, `{"x":[[],{}],"group":"y"}`}
	for name, raw := range readSamples(t) {
		ev, err := Parse(raw, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := ev.Detail.(TaskState); ok {
			details = append(details, string(ev.RawDetail))
		} else if name[:5] == "task-" {
			t.Errorf("%s is no task", name)
		}
	}
	for _, d := range details {
		want, err := detailAs[TaskState]([]byte(d))
		if err != nil {
			t.Fatalf("%s: %v", d, err)
		}
		got, err := readTask([]byte(d))
		if err != nil {
			t.Fatalf("%s: %v", d, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-standard +cursor)\n%s", d, diff)
		}
	}
}
