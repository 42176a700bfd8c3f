package admission

import (
	"errors"
	"strings"
	"testing"
)

// rulesOf lints src and lists the rules among these that are found, in the order of the findings.
func rulesOf(t *testing.T, src string, among ...string) string {
	t.Helper()
	found, _ := lintText(t, src, cards())
	var out []string
	for _, f := range found {
		for _, r := range among {
			if f.Rule == r {
				out = append(out, r)
			}
		}
	}
	return strings.Join(out, " ")
}

func TestReadersAndRulesAgreeWithWhatECSWouldTake(t *testing.T) {
	yaml := func(mps string) string {
		return "containerDefinitions: [{resourceRequirements: [{type: GPU, sharingStrategy: {nvidiaMps: {" + mps + "}}}]}]\n"
	}
	command := func(words string) string { return one(share + `,"command":[` + words + `]`) }
	for _, c := range []struct{ name, src, among, want string }{
		{"every document of a stream", yaml("memory: 1000") + "---\n" + yaml("memory: 0") + "---\n# nothing\n", "BH101", "BH101"},
		{"an explicit key above a merge", "x: &b {memory: 0}\n" + yaml("memory: 1000, <<: *b"), "BH101", ""},
		{"an explicit key below a merge", "x: &b {memory: 0}\n" + yaml("<<: *b, memory: 1000"), "BH101", ""},
		{"the first of merged mappings", "x: &a {memory: 1000}\ny: &b {memory: 0}\n" + yaml("<<: [*a, *b]"), "BH101", ""},
		{"merged values count", "x: &b {memory: 0}\n" + yaml("<<: *b"), "BH101", "BH101"},
		{"a hexadecimal figure", yaml("memory: 0x1000"), "BH101 BH102", ""},
		{"an octal figure is not decimal", yaml("memory: 0400"), "BH102", "BH102"},
		{"a figure with underscores", yaml("memory: 4_096"), "BH101 BH102", ""},
		{"the last of repeated keys", one(mps(`"memory":4096,"memory":0`)), "BH101 BH191", "BH191 BH101"},
		{"the last of repeated keys is right", one(mps(`"memory":0,"memory":4096`)), "BH101 BH191", "BH191"},
		{"an empty strategy", one(`"resourceRequirements":[{"type":"GPU","sharingStrategy":{}}]`), "BH106", "BH106"},
		{"a strategy of another kind", one(`"resourceRequirements":[{"type":"GPU","sharingStrategy":{"timeSlicing":{}}}]`), "BH106", "BH106"},
		{"the second share of a container", one(`"resourceRequirements":[{"type":"GPU","sharingStrategy":{"nvidiaMps":{"memory":1000}}},{"type":"GPU","sharingStrategy":{"nvidiaMps":{"memory":0}}}]`), "BH101", "BH101"},
		{"memory that is no 32-bit figure", one(mps(`"memory":4294967297`)), "BH101", "BH101"},
		{"gunicorn -w4", command(`"gunicorn","-w4"`), "BH140", "BH140"},
		{"gunicorn -w 1", command(`"gunicorn","-w","1"`), "BH140", ""},
		{"gunicorn -w 16", command(`"sh","-c","exec gunicorn -w 16 app"`), "BH140", "BH140"},
		{"vllm -tp 2", command(`"vllm","serve","-tp","2","--gpu-memory-utilization","0.1"`), "BH140", "BH140"},
		{"vllm -tp 1", command(`"vllm","serve","-tp","1","--gpu-memory-utilization","0.1"`), "BH140", ""},
		{"tritonserver", command(`"tritonserver"`), "BH140", "BH140"},
		{"workers by variable", one(share + `,"environment":[{"name":"GUNICORN_CMD_ARGS","value":"--workers=3"}]`), "BH140", "BH140"},
		{"unset of two", command(`"sh","-c","unset A CUDA_MPS_PINNED_DEVICE_MEM_LIMIT && serve"`), "BH123", "BH123"},
		{"unset in another command", command(`"sh","-c","unset A; echo CUDA_VISIBLE_DEVICES"`), "BH123", ""},
		{"env -u in words", command(`"env","-u","CUDA_VISIBLE_DEVICES","serve"`), "BH123", "BH123"},
		{"env -uNAME", command(`"/usr/bin/env","-uCUDA_VISIBLE_DEVICES","serve"`), "BH123", "BH123"},
		{"env --unset", command(`"env","--unset=CUDA_VISIBLE_DEVICES","serve"`), "BH123", "BH123"},
		{"env -i", command(`"env","-i","serve"`), "BH123", "BH123"},
		{"env's program with flags of its own", command(`"env","A=1","serve","-i"`), "BH123", ""},
		{"an assignment before a program", command(`"sh","-c","a && CUDA_VISIBLE_DEVICES=0 serve"`), "BH123", "BH123"},
		{"export -n", command(`"sh","-c","export -n CUDA_MPS_PIPE_DIRECTORY; serve"`), "BH123", "BH123"},
		{"export alone changes nothing", command(`"sh","-c","export CUDA_MPS_PIPE_DIRECTORY; serve"`), "BH123", ""},
		{"Python sets it", command(`"python","-c","import os; os.environ['CUDA_VISIBLE_DEVICES'] = '0'"`), "BH123", "BH123"},
		{"Python reads it", command(`"python","-c","import os; print(os.environ['CUDA_VISIBLE_DEVICES'])"`), "BH123", ""},
		{"a utilization above the share", command(`"vllm","serve","--gpu-memory-utilization","0.99"`), "BH141", "BH141"},
		{"a utilization within the share", command(`"vllm","serve","--gpu-memory-utilization=0.18"`), "BH141", ""},
		{"a utilization that the shell fills in", command(`"sh","-c","vllm serve --gpu-memory-utilization $PART"`), "BH141", ""},
		{"JAX told to preallocate", one(share + `,"image":"x/jax:1","environment":[{"name":"XLA_PYTHON_CLIENT_PREALLOCATE","value":"true"}]`), "BH141", "BH141"},
		{"JAX told not to", one(share + `,"image":"x/jax:1","environment":[{"name":"XLA_PYTHON_CLIENT_PREALLOCATE","value":"false"}]`), "BH141", ""},
		{"JAX told a part too large", one(share + `,"image":"x/jax:1","environment":[{"name":"XLA_PYTHON_CLIENT_MEM_FRACTION","value":".75"}]`), "BH141", "BH141"},
		{"a constraint that keeps a family out", "{\"containerDefinitions\":[{" + share + "}]," + `"placementConstraints":[{"expression":"!(attribute:ecs.instance-type =~ g6f.*)"}]}`, "BH132", ""},
		{"a family among several", "{\"containerDefinitions\":[{" + share + "}]," + `"placementConstraints":[{"expression":"attribute:ecs.instance-type in [g6.xlarge, gr6f.4xlarge]"}]}`, "BH132", "BH132"},
		{"a family older than Volta", "{\"containerDefinitions\":[{" + share + "}]," + `"placementConstraints":[{"expression":"attribute:ecs.instance-type == p2.xlarge"}]}`, "BH132", "BH132"},
	} {
		if got := rulesOf(t, c.src, strings.Fields(c.among)...); got != c.want {
			t.Errorf("%s: found %q, want %q\n%s", c.name, got, c.want, c.src)
		}
	}
}

func TestATemplateSaysHowItsTaskDefinitionsAreRun(t *testing.T) {
	const head = "Resources:\n  T:\n    Type: AWS::ECS::TaskDefinition\n    Properties:\n      ContainerDefinitions: [{ResourceRequirements: [{Type: GPU, SharingStrategy: {NvidiaMps: {Memory: 4096}}}]}]\n"
	for _, c := range []struct {
		name, rest, rule string
		line             int
	}{
		{"Express Mode", "  X:\n    Type: AWS::ECS::ExpressGatewayService\n    Properties:\n      TaskDefinitionArn: !Ref T\n", "BH130", 9},
		{"Express Mode's own container", "  X:\n    Type: AWS::ECS::ExpressGatewayService\n    Properties:\n      PrimaryContainer: {ResourceRequirements: [{Type: GPU, SharingStrategy: {NvidiaMps: {Memory: 1}}}]}\n", "BH130", 9},
		{"a service on Fargate", "  S:\n    Type: AWS::ECS::Service\n    Properties:\n      LaunchType: FARGATE\n      TaskDefinition: !GetAtt T.TaskDefinitionArn\n", "BH130", 9},
		{"a capacity provider of Fargate", "  S:\n    Type: AWS::ECS::Service\n    Properties:\n      TaskDefinition: {Ref: T}\n      CapacityProviderStrategy:\n      - CapacityProvider: FARGATE_SPOT\n", "BH130", 11},
		{"fractional instances", "  L:\n    Type: AWS::EC2::LaunchTemplate\n    Properties:\n      LaunchTemplateData: {InstanceType: g6f.large}\n", "BH132", 9},
		{"a service on EC2", "  S:\n    Type: AWS::ECS::Service\n    Properties:\n      LaunchType: EC2\n      TaskDefinition: !Ref T\n", "", 0},
		{"a service of another one on Fargate", "  S:\n    Type: AWS::ECS::Service\n    Properties:\n      LaunchType: FARGATE\n      TaskDefinition: !Ref U\n", "", 0},
	} {
		found, _ := lintText(t, head+c.rest, cards())
		line := 0
		for _, f := range found {
			if f.Rule == "BH130" || f.Rule == "BH132" {
				if line = f.Line; f.Rule != c.rule {
					t.Errorf("%s: %+v", c.name, f)
				}
			}
		}
		if line != c.line {
			t.Errorf("%s: found at line %d, want %d", c.name, line, c.line)
		}
	}
}

func TestAPlanIsLintedAsFarAsItIsKnown(t *testing.T) {
	const src = `{"resource_changes": [{"address": "a.unknown", "change": {"after_unknown": {"container_definitions": true}}}],
"planned_values": {"root_module": {"resources": [
{"address": "a.unknown", "type": "aws_ecs_task_definition", "values": {}},
{"address": "a.broken", "type": "aws_ecs_task_definition", "values": {"container_definitions": "[{]"}},
{"address": "a.\u00e9", "type": "aws_ecs_task_definition", "values": {"container_definitions": "[{\"name\": \"\u00e9\ud83d\ude00\", \"resourceRequirements\":[{\"type\":\"GPU\",\"sharingStrategy\":{\"nvidiaMps\":{\"memory\":0}}}]}]"}}]}}}`
	found, doc := lintText(t, src, cards())
	want := map[string]int{"BH190": 3, "BH192": 4, "BH101": 5}
	for _, f := range found {
		if line, ok := want[f.Rule]; ok {
			if f.Line != line || f.Fixable {
				t.Errorf("%+v", f)
			}
			delete(want, f.Rule)
		}
		if f.Rule == "BH101" {
			if line := strings.Split(src, "\n")[4]; line[f.Column-1] != '0' || !strings.HasPrefix(line[f.Column-1:], "0}") {
				t.Errorf("column %d is %q", f.Column, line[f.Column-1:])
			}
		}
	}
	if len(want) > 0 || doc.Tasks() != 1 {
		t.Errorf("not found: %v; %d tasks; %+v", want, doc.Tasks(), found)
	}
	if _, err := Read("f", []byte(`{"planned_values":{"root_module":{"resources":[{"type":"aws_sqs_queue"}]}}}`), Limits{}); !errors.Is(err, ErrNoTasks) {
		t.Error(err)
	}
}

func TestAValueThatAliasesReachIsFixedAndToldOnce(t *testing.T) {
	const src = "x: &r [{type: GPU, sharingStrategy: {nvidiaMps: {memory: 4096, maxComputePercent: 150}}}]\ncontainerDefinitions: [{name: a, resourceRequirements: *r}, {name: b, resourceRequirements: *r}]\n"
	found, doc := lintText(t, src, cards())
	got, applied := Fix(doc, found)
	if len(applied) != 1 || string(got) != strings.Replace(src, "150", "100", 1) || count(found, "BH111") != 2 {
		t.Errorf("%d applied of %d\n%s", len(applied), count(found, "BH111"), got)
	}
}

func TestCardsAreThoseOfThePolicyElseOfTheConstraintElseAllOfEC2(t *testing.T) {
	task := func(memory, constraint string) string {
		return "{\"containerDefinitions\":[{" + mps(`"memory":`+memory) + `}],"placementConstraints":[{"expression":"` + constraint + `"}]}`
	}
	named := cards()
	for _, c := range []struct {
		memory, constraint string
		policy             Policy
		want               int
	}{
		{"22564", "", named, 1},
		{"22564", "attribute:ecs.instance-type == g6e.xlarge", named, 1},
		{"24577", "attribute:ecs.instance-type == g5.xlarge", DefaultPolicy(), 1},
		{"24576", "attribute:ecs.instance-type =~ g5.*", DefaultPolicy(), 0},
		{"24577", "attribute:ecs.instance-type in [g5.xlarge, g6e.2xlarge]", DefaultPolicy(), 0},
		{"200000", "", DefaultPolicy(), 0},
		{"294913", "", DefaultPolicy(), 1},
	} {
		found, _ := lintText(t, task(c.memory, c.constraint), c.policy)
		if n := count(found, "BH103"); n != c.want {
			t.Errorf("%s MiB on %q: BH103 %d times, want %d", c.memory, c.constraint, n, c.want)
		}
	}
}

func TestAnUnsetStopTimeoutIsECSsDefault(t *testing.T) {
	p := cards()
	p.SafeStopSeconds = 31
	found, _ := lintText(t, one(share), p)
	if count(found, "BH150") != 1 || rulesOf(t, one(share), "BH150") != "" {
		t.Errorf("%+v", found)
	}
}
