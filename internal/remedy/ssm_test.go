package remedy

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

type document struct {
	SchemaVersion string               `yaml:"schemaVersion"`
	Description   string               `yaml:"description"`
	Parameters    map[string]parameter `yaml:"parameters"`
	MainSteps     []documentStep       `yaml:"mainSteps"`
}

type parameter struct {
	Type           string  `yaml:"type"`
	Description    string  `yaml:"description"`
	Default        *string `yaml:"default"`
	AllowedPattern string  `yaml:"allowedPattern"`
}

type documentStep struct {
	Action       string              `yaml:"action"`
	Name         string              `yaml:"name"`
	Precondition map[string][]string `yaml:"precondition"`
	Inputs       struct {
		TimeoutSeconds   string   `yaml:"timeoutSeconds"`
		RunCommand       []string `yaml:"runCommand"`
		Name             string   `yaml:"name"`
		Version          string   `yaml:"version"`
		Action           string   `yaml:"action"`
		InstallationType string   `yaml:"installationType"`
	} `yaml:"inputs"`
}

func documents(t *testing.T) map[string]document {
	t.Helper()
	paths, err := filepath.Glob("../../infra/ssm/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no documents: %v", err)
	}
	out := map[string]document{}
	for _, path := range paths {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var d document
		dec := yaml.NewDecoder(bytes.NewReader(src))
		dec.KnownFields(true)
		if err := dec.Decode(&d); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		out[strings.TrimSuffix(filepath.Base(path), ".yaml")] = d
	}
	return out
}

var hostile = []string{"", " ", "a b", "a;b", "a'b", `a"b`, "a$b", "$(reboot)", "`reboot`", "a\nb", "a\n", "{{ x }}", "a&b", "a>b", "a<b",
	`a\b`, "-rf", "--help", "../../etc/passwd", "a*", "a(b", strings.Repeat("a", 5000)}

var reference = regexp.MustCompile(`\{\{ *([A-Za-z]+) *\}\}`)

func TestTheDocumentsAreTheFourThatStepsName(t *testing.T) {
	var names []string
	for name := range documents(t) {
		names = append(names, name)
	}
	slices.Sort(names)
	want := []string{DocumentEvidence, DocumentInstallAgent, DocumentMPSRestart, DocumentTerminateClients}
	slices.Sort(want)
	if !slices.Equal(names, want) {
		t.Errorf("%v, want %v", names, want)
	}
}

func TestEveryParameterRefusesHostileValues(t *testing.T) {
	for name, d := range documents(t) {
		for key, p := range d.Parameters {
			re, err := regexp.Compile(p.AllowedPattern)
			if err != nil || p.Type != "String" || p.Description == "" {
				t.Errorf("%s %s: type %q, description %q, pattern %v", name, key, p.Type, p.Description, err)
				continue
			}
			if !strings.HasPrefix(p.AllowedPattern, "^") || !strings.HasSuffix(p.AllowedPattern, "$") {
				t.Errorf("%s %s: the pattern is not anchored", name, key)
			}
			for _, v := range hostile {
				if re.MatchString(v) {
					t.Errorf("%s %s admits %q", name, key, v)
				}
			}
			if p.Default != nil && !re.MatchString(*p.Default) {
				t.Errorf("%s %s: its own default is refused", name, key)
			}
		}
	}
}

func TestEveryDocumentRunsOnlyWhatItDeclares(t *testing.T) {
	for name, d := range documents(t) {
		if d.SchemaVersion != "2.2" || !strings.HasPrefix(d.Description, "Bulkhead: ") || len(d.MainSteps) == 0 {
			t.Errorf("%s: schema %q, description %q, %d steps", name, d.SchemaVersion, d.Description, len(d.MainSteps))
		}
		used := map[string]bool{}
		for _, s := range d.MainSteps {
			if !slices.Equal(s.Precondition["StringEquals"], []string{"platformType", "Linux"}) {
				t.Errorf("%s %s: runs on any platform", name, s.Name)
			}
			checkStep(t, name, s)
			text := strings.Join(append(slices.Clone(s.Inputs.RunCommand), s.Inputs.Name, s.Inputs.Version), "\n")
			for _, m := range reference.FindAllStringSubmatch(text, -1) {
				used[m[1]] = true
				if _, ok := d.Parameters[m[1]]; !ok {
					t.Errorf("%s %s uses %s, which is not declared", name, s.Name, m[1])
				}
			}
		}
		for key := range d.Parameters {
			if !used[key] {
				t.Errorf("%s declares %s and never uses it", name, key)
			}
		}
	}
}

func checkStep(t *testing.T, name string, s documentStep) {
	t.Helper()
	switch s.Action {
	case "aws:configurePackage":
		if s.Inputs.Action != "Install" || s.Inputs.InstallationType != "In-place update" {
			t.Errorf("%s %s: %+v", name, s.Name, s.Inputs)
		}
	case "aws:runShellScript":
		if len(s.Inputs.RunCommand) < 2 || s.Inputs.RunCommand[0] != "set -eu" || len(s.Inputs.TimeoutSeconds) == 0 || len(s.Inputs.TimeoutSeconds) > 3 {
			t.Errorf("%s %s: begins with %q, timeout %q", name, s.Name, s.Inputs.RunCommand, s.Inputs.TimeoutSeconds)
		}
		for _, line := range s.Inputs.RunCommand {
			for _, banned := range []string{"daemon-reload", "nvidia-smi", "curl", "wget", "eval", "kill", "sudo", "http"} {
				if strings.Contains(line, banned) {
					t.Errorf("%s %s: %q in %q", name, s.Name, banned, line)
				}
			}
			if bare := reference.ReplaceAllString(line, ""); strings.Contains(bare, "{{") {
				t.Errorf("%s %s: unreadable reference in %q", name, s.Name, line)
			}
			for _, at := range reference.FindAllStringIndex(line, -1) {
				if line[at[0]-1] != '\'' || line[at[1]] != '\'' {
					t.Errorf("%s %s: a parameter is not in single quotes in %q", name, s.Name, line)
				}
			}
		}
	default:
		t.Errorf("%s %s: action %q", name, s.Name, s.Action)
	}
}

func TestTheParametersOfStepsAreAdmitted(t *testing.T) {
	docs := documents(t)
	base := Step{Case: "i-0123456789abcdef0.MpsStartGateNotResponding.1796094000", Guard: Guard{Boot: "3f1c6b2e-0a5d-4b7e-9c38-2f6d1e7a9b40"},
		Target: "arn:aws:ecs:eu-central-1:123456789012:task/gpu/0123456789abcdef0123456789abcdef", PIDs: []int{7, 4194304}}
	for _, kind := range []StepKind{StepRestartMPS, StepTerminateClients, StepEvidence} {
		s := base
		s.Kind, s.Key = kind, strings.Repeat("k", 300)
		c, ok := CommandOf(s, "bulkhead-evidence-123456789012", "evidence/gpu")
		if !ok {
			t.Fatalf("%s is no command", kind)
		}
		if len(c.Comment) > 100 {
			t.Errorf("comment of %d characters", len(c.Comment))
		}
		d := docs[c.Document]
		for key, value := range c.Parameters {
			p, ok := d.Parameters[key]
			if !ok || !regexp.MustCompile(p.AllowedPattern).MatchString(value) {
				t.Errorf("%s %s: %q is refused by %q", c.Document, key, value, p.AllowedPattern)
			}
		}
		for key, p := range d.Parameters {
			if _, ok := c.Parameters[key]; !ok && p.Default == nil {
				t.Errorf("%s: no value for %s", c.Document, key)
			}
		}
	}
	if _, ok := CommandOf(Step{Kind: StepDrain}, "b", "p"); ok {
		t.Error("Drain is no command")
	}
	a, b := Step{Key: strings.Repeat("k", 200) + "1"}, Step{Key: strings.Repeat("k", 200) + "2"}
	if a.Comment() == b.Comment() {
		t.Error("two keys have one comment")
	}
}
