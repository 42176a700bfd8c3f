package template

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// wide are calls that take no resource, so that "*" is all that can be said.
var wide = map[string]string{
	"ecs:DescribeTaskDefinition": "the service authorization reference gives it no resource type",
	"ecs:ListClusters":           "it lists all there are",
	"ec2:DescribeInstances":      "EC2's describe calls take no resource", "ec2:DescribeInstanceAttribute": "as above", "ec2:DescribeInstanceStatus": "as above",
	"autoscaling:DescribeAutoScalingInstances": "Auto Scaling's describe calls take no resource", "autoscaling:DescribeAutoScalingGroups": "as above",
	"autoscaling:DescribeLifecycleHooks": "as above", "ssm:ListCommandInvocations": "it takes no resource", "ssm:GetCommandInvocation": "it takes no resource",
}

func statements(r resource) []map[string]any {
	var out []map[string]any
	for _, p := range list(r.Properties["Policies"]) {
		for _, s := range list(at(p, "Statement")) {
			out = append(out, s.(map[string]any))
		}
	}
	return out
}

func TestNoFunctionMayDoMoreThanItDoes(t *testing.T) {
	_, resources := load(t)
	for name, r := range resources {
		if r.Type != "AWS::Serverless::Function" {
			continue
		}
		if len(statements(r)) == 0 {
			t.Errorf("%s has no permissions at all", name)
		}
		for _, s := range statements(r) {
			for _, a := range list(s["Action"]) {
				action := fmt.Sprint(a)
				if strings.Contains(action, "*") {
					t.Errorf("%s: action %s is a wildcard", name, action)
				}
				for _, res := range list(s["Resource"]) {
					if _, ok := wide[action]; res == "*" && !ok {
						t.Errorf("%s: %s on every resource", name, action)
					}
				}
				if action == "iam:PassRole" && name == "Place" && at(s, "Condition", "StringEquals", "iam:PassedToService") == "ecs-tasks.amazonaws.com" {
					continue // StartTask hands the task its roles; the resource names them by prefix
				}
				if action == "ecs:StopTask" && name == "Sweep" {
					continue // a task on a card against the policy, in BreachMode act alone
				}
				for _, never := range []string{"dynamodb:DeleteTable", "iam:", "ec2:Terminate", "ecs:Run", "ecs:Stop", "ecs:Update", "ecs:Deregister"} {
					if strings.HasPrefix(action, never) && !remedies(name, action, s) {
						t.Errorf("%s may %s: nothing in it acts on the fleet", name, action)
					}
				}
			}
		}
	}
}

// remedies reports whether the function that acts upon sick hosts may do this: what
// ends or changes an instance only where its tag allows it.
func remedies(function, action string, s map[string]any) bool {
	if function != "Remediate" {
		return false
	}
	switch action {
	case "ecs:UpdateContainerInstancesState", "ecs:StopTask":
		return true
	case "ec2:TerminateInstances", "ec2:RebootInstances":
		return at(s, "Condition", "StringEquals", "aws:ResourceTag/bulkhead:remedy") != nil
	}
	return false
}

// What cannot be undone is allowed only on what is tagged for it.
func TestRemediesEndOnlyWhatIsTaggedForIt(t *testing.T) {
	_, resources := load(t)
	need := map[string]string{"ec2:TerminateInstances": "aws:", "ec2:RebootInstances": "aws:", "autoscaling:DetachInstances": "aws:", "autoscaling:TerminateInstanceInAutoScalingGroup": "aws:",
		"autoscaling:CompleteLifecycleAction": "aws:"}
	seen := 0
	for name, r := range resources {
		if r.Type != "AWS::Serverless::Function" {
			continue
		}
		for _, s := range statements(r) {
			for _, a := range list(s["Action"]) {
				prefix, ok := need[fmt.Sprint(a)]
				if !ok {
					continue
				}
				seen++
				if name != "Remediate" || at(s, "Condition", "StringEquals", prefix+"ResourceTag/bulkhead:remedy") == nil {
					t.Errorf("%s may %s on what is not tagged", name, a)
				}
			}
		}
	}
	if seen != len(need) {
		t.Errorf("%d of %d actions found", seen, len(need))
	}
	for _, name := range []string{"RemedyMode", "SteerMode", "BreachMode"} {
		if mode := at(func() any { w, _ := load(t); return w }(), "Parameters", name, "Default"); mode != "observe" {
			t.Errorf("a new installation has %s %v", name, mode)
		}
	}
}

func TestReadersMayNotWriteAndOnlyTheSweepRemoves(t *testing.T) {
	_, resources := load(t)
	can := func(function, action string) bool {
		return slices.ContainsFunc(statements(resources[function]), func(s map[string]any) bool {
			return slices.ContainsFunc(list(s["Action"]), func(a any) bool { return a == action })
		})
	}
	for action, functions := range map[string][]string{
		"dynamodb:GetItem":        {"Admission", "TaskState", "HostState", "Sweep", "Query", "Report", "Remediate", "Operate", "Place", "Placements"},
		"dynamodb:PutItem":        {"Admission", "TaskState", "HostState", "Sweep", "Outbox", "Report", "Remediate", "Operate", "Place", "Placements"},
		"dynamodb:DeleteItem":     {"Sweep"},
		"dynamodb:BatchWriteItem": {"Outbox"},
		"events:PutEvents":        {"Outbox", "Admission", "Sweep"},
	} {
		for name, r := range resources {
			if r.Type == "AWS::Serverless::Function" && can(name, action) != slices.Contains(functions, name) {
				t.Errorf("%s: %s is %v", name, action, can(name, action))
			}
		}
	}
}

var envTag = regexp.MustCompile(`(?:env:"|Getenv\(")(BULKHEAD_[A-Z_]+)`)

// A variable that no function reads, and one that is read and never set, are
// both mistakes that show only in production.
func TestWhatTheTemplateSetsIsWhatTheFunctionsRead(t *testing.T) {
	whole, resources := load(t)
	read := map[string]bool{}
	err := filepath.WalkDir(filepath.Join("..", "..", "functions"), func(p string, d os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go") {
			return err
		}
		b, err := os.ReadFile(p)
		for _, m := range envTag.FindAllSubmatch(b, -1) {
			read[string(m[1])] = true
		}
		return err
	})
	if err != nil || len(read) < 5 {
		t.Fatalf("%v, %d variables found", err, len(read))
	}
	set := map[string]bool{}
	note := func(v any) {
		m, _ := v.(map[string]any)
		for k := range m {
			set[k] = true
		}
	}
	note(at(whole, "Globals", "Function", "Environment", "Variables"))
	for _, r := range resources {
		note(at(r.Properties, "Environment", "Variables"))
	}
	for k := range set {
		if !read[k] {
			t.Errorf("%s is set and no function reads it", k)
		}
	}
	optional := []string{"BULKHEAD_DYNAMODB_ENDPOINT", "BULKHEAD_TIER_BY_FAMILY", "BULKHEAD_LOG_LEVEL"}
	for k := range read {
		if !set[k] && !slices.Contains(optional, k) {
			t.Errorf("%s is read and the template never sets it", k)
		}
	}
}

// directory is where a function's code is, as the Makefile has it.
func directory(logicalID string) string { return "functions/" + strings.ToLower(logicalID) }

func TestEveryFunctionIsThereHasItsLogsAndALimit(t *testing.T) {
	whole, resources := load(t)
	if at(whole, "Globals", "Function", "Runtime") != "provided.al2023" || at(whole, "Globals", "Function", "Timeout") == nil {
		t.Error("the functions have no runtime or timeout")
	}
	for name, r := range resources {
		if r.Type != "AWS::Serverless::Function" {
			continue
		}
		if _, err := os.Stat(filepath.Join("..", "..", directory(name), "main.go")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if at(r.Raw, "Metadata", "BuildMethod") != "makefile" || r.Properties["CodeUri"] != nil {
			t.Errorf("%s is not built by the Makefile's build-%s", name, name)
		}
		logs := resources[name+"Logs"]
		if logs.Type != "AWS::Logs::LogGroup" || logs.Properties["RetentionInDays"] == nil {
			t.Errorf("%s: its logs are kept for ever", name)
		}
	}
	table := resources["Ledger"]
	for _, want := range []string{"PointInTimeRecoverySpecification", "DeletionProtectionEnabled", "SSESpecification", "StreamSpecification", "TimeToLiveSpecification"} {
		if table.Properties[want] == nil {
			t.Errorf("the table has no %s", want)
		}
	}
	if table.Raw["DeletionPolicy"] != "Retain" {
		t.Error("deleting the stack would delete the ledger")
	}
}

func TestEveryDirectoryOfAFunctionIsDeployed(t *testing.T) {
	_, resources := load(t)
	dirs, err := os.ReadDir(filepath.Join("..", "..", "functions"))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dirs {
		deployed := d.Name() == "internal" || !d.IsDir()
		for name, r := range resources {
			deployed = deployed || r.Type == "AWS::Serverless::Function" && directory(name) == "functions/"+d.Name()
		}
		if !deployed {
			t.Errorf("functions/%s is in no resource of the template", d.Name())
		}
	}
}
