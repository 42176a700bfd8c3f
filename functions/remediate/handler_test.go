package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/remediate"
	"github.com/bulkhead-ecs/bulkhead/internal/remedy"
)

func TestAMessageAndTheScheduleBothMakeAPassOverEveryCluster(t *testing.T) {
	for name, c := range map[string]struct {
		event string
		fail  error
		again int
		err   bool
	}{
		"the schedule":                 {`{}`, nil, 0, false},
		"the schedule, and it fails":   {`{}`, errors.New("no"), 0, true},
		"two messages":                 {`{"Records":[{"messageId":"a"},{"messageId":"b"}]}`, nil, 0, false},
		"two messages, and it fails":   {`{"Records":[{"messageId":"a"},{"messageId":"b"}]}`, errors.New("no"), 2, false},
		"a message that nobody can be": {`[]`, nil, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			var passed []string
			h := &handler{log: slog.New(slog.DiscardHandler), clusters: func(context.Context) ([]string, error) { return []string{"a", "b"}, nil },
				pass: func(_ context.Context, cluster string) (remediate.Report, error) {
					passed = append(passed, cluster)
					return remediate.Report{Cluster: cluster}, c.fail
				}}
			out, err := h.serve(context.Background(), json.RawMessage(c.event))
			if len(out.BatchItemFailures) != c.again || (err != nil) != c.err {
				t.Errorf("%+v %v", out, err)
			}
			if c.event != `[]` && len(passed) != 2 {
				t.Errorf("passed over %v", passed)
			}
		})
	}
}

func TestThePolicyIsInTheModeOfTheTemplateOrRefused(t *testing.T) {
	for _, c := range []struct {
		set  settings
		mode remedy.Mode
		want string
	}{
		{settings{Mode: "observe"}, remedy.Observe, ""},
		{settings{Mode: "act"}, remedy.Act, ""},
		{settings{Mode: "destroy"}, "", "observe, recommend or act"},
		{settings{Mode: "act", Policy: "version: x\nbudgets: []"}, "", "BULKHEAD_REMEDY_POLICY"},
	} {
		p, err := policyOf(c.set)
		if c.want == "" && (err != nil || p.Mode != c.mode) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: mode %s, %v", c.set, p.Mode, err)
		}
	}
}

func TestAPageIsAMetricThatAnAlarmCanWatch(t *testing.T) {
	var out bytes.Buffer
	p := pager{out: &out}
	if err := p.Tell(context.Background(), remediate.Notice{Cluster: "c", Page: true, Text: "breaker open", At: time.Unix(1, 0)}); err != nil {
		t.Fatal(err)
	}
	var line struct {
		AWS struct {
			CloudWatchMetrics []struct {
				Namespace string
				Metrics   []struct{ Name string }
			}
		} `json:"_aws"`
		RemedyPages int
		Text        string `json:"text"`
	}
	if err := json.Unmarshal(out.Bytes(), &line); err != nil || line.RemedyPages != 1 || line.AWS.CloudWatchMetrics[0].Namespace != "Bulkhead" || line.Text != "breaker open" {
		t.Errorf("%v %s", err, out.String())
	}
}
