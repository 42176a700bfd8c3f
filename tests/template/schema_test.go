package template

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
)

type property struct {
	Required bool
	Type     typ
}

type typ struct {
	Kind       string
	Element    *typ
	Types      []typ
	Properties map[string]property
}

// schemas asks CloudFormation's schemas, from the npm package that the CDK uses.
func schemas(t *testing.T, types []string) map[string]map[string]property {
	t.Helper()
	if _, err := os.Stat("node_modules/@aws-cdk/aws-service-spec"); err != nil {
		t.Skip("CloudFormation's schemas are not installed: bash tests/setup/schemas.sh")
	}
	out, err := exec.Command("node", append([]string{"schema.mjs"}, types...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]map[string]property
	if err := json.Unmarshal(out, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestEveryResourceKeepsCloudFormationsSchema(t *testing.T) {
	_, resources := load(t)
	var types []string
	for _, r := range resources {
		types = append(types, r.Type)
	}
	slices.Sort(types)
	types = slices.Compact(types)
	known := schemas(t, types)
	used := map[string]bool{}
	for name, r := range resources {
		schema, ok := known[r.Type]
		if !ok {
			t.Errorf("%s: CloudFormation has no type %s", name, r.Type)
			continue
		}
		for _, fault := range checkObject(name, r.Properties, schema) {
			if newer := newerThanTheCopy(r.Type, fault); newer == "" {
				t.Error(fault)
			} else {
				used[newer] = true
			}
		}
	}
	for e := range samNewer {
		if !used[e] {
			t.Errorf("the exception %q is not needed any more: drop it", e)
		}
	}
}

// samNewer are members that the SAM specification documents and the package's copy
// of it, which is years older, does not know. Only AWS::Serverless types have any.
var samNewer = map[string]bool{
	".AccessLogSettings: no such property":                                    true,
	".Auth.EnableIamAuthorizer: no such property":                             true,
	".Properties.FunctionResponseTypes: no such property":                     true,
	".Properties.MaximumBatchingWindowInSeconds: no such property":            true,
	".Properties.ScalingConfig: no such property":                             true,
	".Properties.FilterCriteria: no such property":                            true,
	".Properties.DeadLetterConfig: no such property":                          true,
	".Properties.RetryPolicy: no such property":                               true,
	".Properties.ScheduleExpression: no such property":                        true,
	".EventInvokeConfig.DestinationConfig.OnSuccess: required, and not there": true,
}

func newerThanTheCopy(kind, fault string) string {
	if !strings.HasPrefix(kind, "AWS::Serverless::") {
		return ""
	}
	for e := range samNewer {
		if strings.HasSuffix(fault, e) {
			return e
		}
	}
	return ""
}

// A check that finds nothing wrong anywhere proves nothing: these must be found.
func TestTheSchemaCheckBites(t *testing.T) {
	known := schemas(t, []string{"AWS::SQS::Queue", "AWS::Events::Rule"})
	for want, broken := range map[string]map[string]any{
		"Queue.VisibilityTimout: no such property": {"VisibilityTimout": 3},
		"Queue.VisibilityTimeout: wants integer":   {"VisibilityTimeout": []any{1}},
	} {
		if got := checkObject("Queue", broken, known["AWS::SQS::Queue"]); len(got) != 1 || !strings.HasPrefix(got[0], want) {
			t.Errorf("%v, want %s", got, want)
		}
	}
	rule := map[string]any{"Targets": []any{map[string]any{"Id": "x"}}}
	if got := checkObject("Rule", rule, known["AWS::Events::Rule"]); len(got) != 1 || !strings.Contains(got[0], "Targets[0].Arn: required") {
		t.Errorf("%v, want a missing Arn", got)
	}
}

func checkObject(path string, m map[string]any, schema map[string]property) []string {
	var faults []string
	for name, p := range schema {
		if _, ok := m[name]; p.Required && !ok {
			faults = append(faults, path+"."+name+": required, and not there")
		}
	}
	for name, v := range m {
		p, ok := schema[name]
		if !ok {
			faults = append(faults, path+"."+name+": no such property")
			continue
		}
		faults = append(faults, checkValue(path+"."+name, v, p.Type)...)
	}
	slices.Sort(faults)
	return faults
}

func checkValue(path string, v any, want typ) []string {
	if m, ok := v.(map[string]any); ok && len(m) == 1 {
		for k := range m {
			if k == "Ref" || strings.HasPrefix(k, "Fn::") {
				return nil // known only at deployment
			}
		}
	}
	wrong := []string{fmt.Sprintf("%s: wants %s, has %T", path, want.Kind, v)}
	switch want.Kind {
	case "string":
		switch v.(type) {
		case string, int, bool, float64:
			return nil
		}
		return wrong
	case "integer", "number":
		switch x := v.(type) {
		case int, float64:
			return nil
		case string:
			if _, err := strconv.ParseFloat(x, 64); err == nil {
				return nil
			}
		}
		return wrong
	case "boolean":
		if _, ok := v.(bool); !ok {
			return wrong
		}
	case "array":
		l, ok := v.([]any)
		if !ok {
			return wrong
		}
		var faults []string
		for i, x := range l {
			faults = append(faults, checkValue(fmt.Sprintf("%s[%d]", path, i), x, *want.Element)...)
		}
		return faults
	case "map":
		m, ok := v.(map[string]any)
		if !ok {
			return wrong
		}
		var faults []string
		for k, x := range m {
			faults = append(faults, checkValue(path+"."+k, x, *want.Element)...)
		}
		return faults
	case "object":
		m, ok := v.(map[string]any)
		if !ok {
			return wrong
		}
		return checkObject(path, m, want.Properties)
	case "union":
		var least []string
		for i, u := range want.Types {
			faults := checkValue(path, v, u)
			if len(faults) == 0 {
				return nil
			}
			if i == 0 || len(faults) < len(least) {
				least = faults
			}
		}
		return least
	}
	return nil
}
