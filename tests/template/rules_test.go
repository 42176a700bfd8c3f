package template

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-ecs/bulkhead/events/pattern"
)

// matches lists which sample events each rule is for, by the start of the samples'
// names. Every other sample must not match it.
var matches = map[string][]string{
	"TaskRule":          {"task-"},
	"HostRule":          {"instance-", "health-"},
	"InstanceRule":      {"ec2-"},
	"SpotRule":          {"spot-", "rebalance"},
	"LifecycleRule":     {"lifecycle-terminate"},
	"AccountHealthRule": {"awshealth-"},
	"SickRule":          {"health-"},
	"DepartureRule":     {"spot-", "lifecycle-terminate"},
	"CommandRule":       {"ssm-invocation-"},
	"AdmissionRule":     {"cloudtrail-register-task-definition"},
}

// left are samples of those names that a rule leaves out on purpose.
var left = map[string][]string{
	"TaskRule":     {"task-fargate.json"},
	"InstanceRule": {"ec2-pending.json"}, // an instance that starts holds nothing yet
}

func TestEveryRuleMatchesItsSamplesAndNoOther(t *testing.T) {
	_, resources := load(t)
	files, err := filepath.Glob("../../events/samples/*.json")
	if err != nil || len(files) < 50 {
		t.Fatalf("%d samples, %v", len(files), err)
	}
	seen := 0
	for name, r := range resources {
		if r.Type != "AWS::Events::Rule" {
			continue
		}
		seen++
		mine, ok := matches[name]
		if !ok {
			t.Errorf("%s: no samples are named for this rule", name)
			continue
		}
		raw, err := json.Marshal(r.Properties["EventPattern"])
		if err != nil {
			t.Fatal(err)
		}
		p, err := pattern.Parse(raw)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		hit := 0
		for _, f := range files {
			event, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			base := filepath.Base(f)
			want := slices.ContainsFunc(mine, func(m string) bool { return strings.HasPrefix(base, m) }) && !slices.Contains(left[name], base)
			got, err := p.Match(event)
			if err != nil || got != want {
				t.Errorf("%s on %s: %v (%v), want %v", name, base, got, err, want)
			}
			if got {
				hit++
			}
		}
		if hit == 0 {
			t.Errorf("%s matches no sample at all", name)
		}
	}
	if seen != len(matches) {
		t.Errorf("%d rules, samples are named for %d", seen, len(matches))
	}
}

func TestWhatARuleCannotDeliverIsKept(t *testing.T) {
	_, resources := load(t)
	for name, r := range resources {
		if r.Type != "AWS::Events::Rule" {
			continue
		}
		for _, x := range list(r.Properties["Targets"]) {
			queue := target(at(x, "Arn"))
			if resources[queue].Type != "AWS::SQS::Queue" {
				t.Errorf("%s sends to %q, which is no queue of the template", name, queue)
			}
			if dead := target(at(x, "DeadLetterConfig", "Arn")); resources[dead].Type != "AWS::SQS::Queue" {
				t.Errorf("%s drops what it cannot deliver", name)
			}
			if !allowedToSend(resources, queue, name) {
				t.Errorf("%s may not send to %s: the queue policy does not name it", name, queue)
			}
		}
	}
}

// allowedToSend looks for the rule in the policy of the queue.
func allowedToSend(resources map[string]resource, queue, rule string) bool {
	for _, r := range resources {
		if r.Type != "AWS::SQS::QueuePolicy" || !slices.ContainsFunc(list(r.Properties["Queues"]), func(q any) bool { return target(q) == queue }) {
			continue
		}
		for _, s := range list(at(r.Properties, "PolicyDocument", "Statement")) {
			for _, arn := range list(at(s, "Condition", "ArnEquals", "aws:SourceArn")) {
				if target(arn) == rule {
					return true
				}
			}
		}
	}
	return false
}

func TestEveryAsynchronousPathEndsInAnAlarmedFailureQueue(t *testing.T) {
	_, resources := load(t)
	alarmed := map[string]bool{}
	for _, r := range resources {
		if r.Type != "AWS::CloudWatch::Alarm" {
			continue
		}
		for _, d := range list(r.Properties["Dimensions"]) {
			alarmed[at(r.Properties, "MetricName").(string)+" "+target(at(d, "Value"))] = true
		}
		description, _ := r.Properties["AlarmDescription"].(string)
		_, page, ok := strings.Cut(description, "Runbook: ")
		if _, err := os.Stat(filepath.Join("..", "..", page)); !ok || err != nil {
			t.Errorf("alarm %q names no runbook that exists", description)
		}
	}
	failure := func(where, queue string) {
		if resources[queue].Type != "AWS::SQS::Queue" || !alarmed["ApproximateNumberOfMessagesVisible "+queue] {
			t.Errorf("%s ends in %q, which no alarm watches", where, queue)
		}
	}
	functions := 0
	for name, r := range resources {
		switch r.Type {
		case "AWS::Serverless::Function":
			functions++
			for event, e := range r.Properties["Events"].(map[string]any) {
				checkSource(t, resources, name+"."+event, e, failure, alarmed)
			}
		case "AWS::SQS::Queue":
			if dead := target(at(r.Properties, "RedrivePolicy", "deadLetterTargetArn")); dead != "" {
				failure(name, dead)
			}
		}
	}
	if functions < 5 {
		t.Errorf("only %d functions were looked at", functions)
	}
}

func checkSource(t *testing.T, resources map[string]resource, where string, e any, failure func(string, string), alarmed map[string]bool) {
	t.Helper()
	switch at(e, "Type") {
	case "SQS":
		queue := target(at(e, "Properties", "Queue"))
		failure(where, target(at(resources[queue].Properties, "RedrivePolicy", "deadLetterTargetArn")))
		if !alarmed["ApproximateAgeOfOldestMessage "+queue] {
			t.Errorf("%s: no alarm watches the age of %s", where, queue)
		}
		if !slices.Contains(list(at(e, "Properties", "FunctionResponseTypes")), any("ReportBatchItemFailures")) {
			t.Errorf("%s: one bad message would bring its whole batch again", where)
		}
	case "DynamoDB":
		failure(where, target(at(e, "Properties", "DestinationConfig", "OnFailure", "Destination")))
	case "ScheduleV2":
		failure(where, target(at(e, "Properties", "DeadLetterConfig", "Arn")))
		function, _, _ := strings.Cut(where, ".")
		failure(where, target(at(resources[function].Properties, "EventInvokeConfig", "DestinationConfig", "OnFailure", "Destination")))
	case "HttpApi": // answers the caller
	default:
		t.Errorf("%s: a source of type %v: say here how it fails", where, at(e, "Type"))
	}
}
