package admission

import (
	"os"
	"slices"
	"testing"
)

func TestEveryFormIsReadWithItsPlaces(t *testing.T) {
	for _, c := range []struct {
		name, rule, path string
		line, column     int
	}{
		{"describe.json", "BH102", "$.taskDefinition.containerDefinitions[0].resourceRequirements[0].sharingStrategy.nvidiaMps.memory", 15, 43},
		{"cdk.template.json", "BH102", "$.Resources.Td.Properties.ContainerDefinitions[0].ResourceRequirements[0].SharingStrategy.NvidiaMps.Memory", 18, 21},
		{"cfn.yaml", "BH102", "$.Resources.Td.Properties.ContainerDefinitions[0].ResourceRequirements[0].SharingStrategy.NvidiaMps.Memory", 15, 27},
		{"crlf-bom.yaml", "BH102", "$.Resources.Td.Properties.ContainerDefinitions[0].ResourceRequirements[0].SharingStrategy.NvidiaMps.Memory", 15, 27},
		{"sam.yaml", "BH190", "$.Resources.Td.Properties.ContainerDefinitions[0].ResourceRequirements[0].SharingStrategy.NvidiaMps.Memory", 16, 27},
		{"plan.tf.json", "BH102", "$.planned_values.root_module.child_modules[0].resources[0].values.container_definitions[0].resourceRequirements[0].sharingStrategy.nvidiaMps.memory", 1, 432},
	} {
		content, err := os.ReadFile("testdata/valid/" + c.name)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := Read(c.name, content, Limits{})
		if err != nil || doc.Tasks() != 1 {
			t.Errorf("%s: %d tasks, %v", c.name, doc.Tasks(), err)
			continue
		}
		policy := DefaultPolicy()
		policy.ContextOverheadMiB = 4096 // so that each file's share of 4096 MiB is found
		found := Lint(doc, policy)
		i := slices.IndexFunc(found, func(f Finding) bool { return f.Rule == c.rule })
		if i < 0 {
			t.Errorf("%s: %s is not found: %+v", c.name, c.rule, found)
			continue
		}
		if f := found[i]; f.Line != c.line || f.Column != c.column || f.Path != c.path {
			t.Errorf("%s: %d:%d %s, want %d:%d %s", c.name, f.Line, f.Column, f.Path, c.line, c.column, c.path)
		}
	}
}

func TestBothBranchesOfAConditionAreLinted(t *testing.T) {
	const breach = `{Name: a, ResourceRequirements: [{Type: GPU, SharingStrategy: {NvidiaMps: {Memory: 0}}}]}`
	for _, src := range []string{
		"Resources:\n  T:\n    Type: AWS::ECS::TaskDefinition\n    Properties:\n      ContainerDefinitions: !If [A, [], [" + breach + "]]\n",
		"Resources:\n  T:\n    Type: AWS::ECS::TaskDefinition\n    Properties:\n      ContainerDefinitions: [!If [A, " + breach + ", !Ref AWS::NoValue]]\n",
		"Resources:\n  T:\n    Type: AWS::ECS::TaskDefinition\n    Properties:\n      ContainerDefinitions: [{\"Fn::If\": [A, {Ref: AWS::NoValue}, " + breach + "]}]\n",
	} {
		found, _ := lintText(t, src, cards())
		if n := count(found, "BH101"); n != 1 {
			t.Errorf("%s\nBH101 %d times: %+v", src, n, found)
		}
		if n := count(found, "BH190"); n != 0 {
			t.Errorf("a condition is named as unresolved: %+v", found)
		}
	}
}

func TestAFunctionThatCannotBeResolvedIsNamedWithWhatItIsGiven(t *testing.T) {
	found, _ := lintText(t, "Resources:\n  T:\n    Type: AWS::ECS::TaskDefinition\n    Properties:\n      ContainerDefinitions: !FindInMap [A, B, C]\n", cards())
	if len(found) != 1 || found[0].Rule != "BH190" || found[0].Message != "!FindInMap A B C stands for containerDefinitions" || found[0].Line != 5 {
		t.Errorf("%+v", found)
	}
	found, _ = lintText(t, `containerDefinitions: [{command: [serve, !Sub "${X}"], resourceRequirements: [{type: GPU, sharingStrategy: {nvidiaMps: {memory: !Ref Mem, maxComputePercent: 20}}}]}]`, cards())
	if n := count(found, "BH190"); n != 2 || count(found, "BH101") != 0 {
		t.Errorf("%+v", found)
	}
}

func count(found []Finding, rule string) int {
	n := 0
	for _, f := range found {
		if f.Rule == rule {
			n++
		}
	}
	return n
}
