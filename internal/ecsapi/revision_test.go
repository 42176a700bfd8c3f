package ecsapi

import (
	"encoding/json"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/bulkhead-ecs/bulkhead/internal/admission"
)

// found lints what ECS describes and counts the findings by rule.
func found(t *testing.T, out *ecs.DescribeTaskDefinitionOutput) map[string]int {
	t.Helper()
	b, err := json.Marshal(revision(out))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := admission.Read("r", b, admission.Limits{})
	if err != nil {
		t.Fatalf("%v\n%s", err, b)
	}
	rules := map[string]int{}
	for _, f := range admission.Lint(doc, admission.DefaultPolicy()) {
		rules[f.Rule]++
	}
	return rules
}

func share(memory, percent int32) []types.ResourceRequirement {
	return []types.ResourceRequirement{{Type: types.ResourceTypeGpu, SharingStrategy: &types.SharingStrategyMemberNvidiaMps{
		Value: types.NvidiaMpsAllocation{Memory: aws.Int32(memory), MaxComputePercent: aws.Int32(percent)}}}}
}

func TestEveryFieldThatARuleReadsReachesIt(t *testing.T) {
	bad := types.ContainerDefinition{Name: aws.String("a"), Image: aws.String("vllm/vllm-openai"), EntryPoint: []string{"env", "-u", "CUDA_VISIBLE_DEVICES"}, Command: []string{"torchrun"},
		Environment: []types.KeyValuePair{{Name: aws.String("NVIDIA_VISIBLE_DEVICES"), Value: aws.String("all")}, {Name: aws.String("CUDA_DEVICE_MAX_CONNECTIONS"), Value: aws.String("8")}},
		Secrets:     []types.Secret{{Name: aws.String("CUDA_MPS_PIPE_DIRECTORY")}}, EnvironmentFiles: []types.EnvironmentFile{{Value: aws.String("arn")}},
		ResourceRequirements: share(0, 101), StopTimeout: aws.Int32(2), Essential: aws.Bool(true)}
	whole := types.ContainerDefinition{ResourceRequirements: []types.ResourceRequirement{{Type: types.ResourceTypeGpu, Value: aws.String("1")}}}
	rules := found(t, &ecs.DescribeTaskDefinitionOutput{TaskDefinition: &types.TaskDefinition{ContainerDefinitions: []types.ContainerDefinition{bad, bad, whole},
		RequiresCompatibilities: []types.Compatibility{types.CompatibilityExternal}, RuntimePlatform: &types.RuntimePlatform{OperatingSystemFamily: types.OSFamilyWindowsServer2022Core},
		PlacementConstraints: []types.TaskDefinitionPlacementConstraint{{Expression: aws.String("attribute:ecs.instance-type == g6f.large")}}}})
	for _, rule := range []string{"BH101", "BH105", "BH111", "BH120", "BH121", "BH122", "BH123", "BH130", "BH131", "BH132", "BH140", "BH141", "BH142", "BH143", "BH150", "BH151", "BH153", "BH154"} {
		if rules[rule] == 0 {
			t.Errorf("%s is not found: %v", rule, rules)
		}
	}
}

func TestARevisionThatKeepsEveryRuleHasNoFinding(t *testing.T) {
	good := types.ContainerDefinition{Name: aws.String("a"), Image: aws.String("serve"), ResourceRequirements: share(4096, 25), HealthCheck: &types.HealthCheck{Command: []string{"CMD", "true"}}}
	if rules := found(t, &ecs.DescribeTaskDefinitionOutput{TaskDefinition: &types.TaskDefinition{ContainerDefinitions: []types.ContainerDefinition{good}},
		Tags: []types.Tag{{Key: aws.String("bulkhead:tier"), Value: aws.String("critical")}}}); len(rules) != 0 {
		t.Errorf("%v", rules)
	}
}
