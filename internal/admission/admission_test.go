package admission

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var rewrite = flag.Bool("rewrite", false, "write docs/rules anew")

func cards() Policy {
	p := DefaultPolicy()
	p.Cards = []Card{{Name: "A10G", MemoryMiB: 22563, SMs: 80}}
	return p
}

func lintText(t testing.TB, src string, p Policy) ([]Finding, Document) {
	t.Helper()
	doc, err := Read("f", []byte(src), Limits{})
	if err != nil {
		t.Fatalf("%v\n%s", err, src)
	}
	return Lint(doc, p), doc
}

const share = `"resourceRequirements":[{"type":"GPU","sharingStrategy":{"nvidiaMps":{"memory":4096,"maxComputePercent":25}}}]`

func mps(body string) string {
	return `"resourceRequirements":[{"type":"GPU","sharingStrategy":{"nvidiaMps":{` + body + `}}}]`
}

// one writes a task definition of one container; what is given stands on its second line.
func one(fields string) string { return "{\"containerDefinitions\":[{\n" + fields + "}]}" }

// task writes a task definition with a container that shares; what is given stands on its second line.
func taskWith(fields string) string {
	return "{\"containerDefinitions\":[{" + share + "}],\n" + fields + "}"
}

func TestEachRuleFindsItsBreachThereAndNotItsNearMiss(t *testing.T) {
	for _, c := range []struct{ rule, breach, at, miss string }{
		{"BH101", one(mps(`"memory":0`)), `0}}`, one(mps(`"memory":1`))},
		{"BH102", one(mps(`"memory":256`)), `256`, one(mps(`"memory":257`))},
		{"BH103", one(mps(`"memory":22564`)), `22564`, one(mps(`"memory":22563`))},
		{"BH104", one(mps(`"memory":20000`) + "},{" + mps(`"memory":2564`)), `{"memory":2564`, one(mps(`"memory":20000`) + "},{" + mps(`"memory":2563`))},
		{"BH105", one(share + `},{"resourceRequirements":[{"type":"GPU","value":"1"}]`), `"1"`, one(share + `},{"resourceRequirements":[{"type":"NeuronDevice","value":"1"}]`)},
		{"BH110", one(mps(`"memory":4096`)), `{"memory"`, one(share)},
		{"BH111", one(mps(`"memory":4096,"maxComputePercent":101`)), `101`, one(mps(`"memory":4096,"maxComputePercent":100`))},
		{"BH112", one(mps(`"memory":4096,"maxComputePercent":1`)), `1}}`, one(mps(`"memory":4096,"maxComputePercent":2`))},
		{"BH120", one(share + `,"environment":[{"name":"CUDA_VISIBLE_DEVICES"}]`), `"CUDA_V`, one(share + `,"environment":[{"name":"MY_CUDA_VISIBLE_DEVICES"}]`)},
		{"BH121", one(share + `,"secrets":[{"name":"CUDA_MPS_PIPE_DIRECTORY"}]`), `"CUDA_M`, one(share + `,"secrets":[{"name":"CUDA"}]`)},
		{"BH122", one(share + `,"environmentFiles":[{"value":"x"}]`), `{"value":"x"`, one(share + `,"environmentFiles":[]`)},
		{"BH123", one(share + `,"command":["export CUDA_VISIBLE_DEVICES=0; x"]`), `"export`, one(share + `,"command":["echo $CUDA_VISIBLE_DEVICES"]`)},
		{"BH130", taskWith(`"requiresCompatibilities":["FARGATE"]`), `"FARGATE"`, taskWith(`"requiresCompatibilities":["EC2"]`)},
		{"BH131", taskWith(`"runtimePlatform":{"operatingSystemFamily":"WINDOWS_SERVER_2022_CORE"}`), `"WINDOWS`, taskWith(`"runtimePlatform":{"operatingSystemFamily":"LINUX"}`)},
		{"BH132", taskWith(`"placementConstraints":[{"expression":"attribute:ecs.instance-type == g6f.large"}]`), `"attribute`, taskWith(`"placementConstraints":[{"expression":"attribute:ecs.instance-type == g6.xlarge"}]`)},
		{"BH133", "{\"Resources\":{\"D\":{\"Type\":\"AWS::ECS::DaemonTaskDefinition\",\"Properties\":\n" + one(share) + "}}}", `{"memory"`, one(share)},
		{"BH140", one(share + `,"command":["gunicorn","--workers","4"]`), `["gunicorn"`, one(share + `,"command":["gunicorn","--workers","1"]`)},
		{"BH141", one(share + `,"command":["vllm","serve"]`), `["vllm"`, one(share + `,"command":["vllm","serve","--gpu-memory-utilization=0.2"]`)},
		{"BH142", one(share + `,"environment":[{"name":"CUDA_DEVICE_MAX_CONNECTIONS","value":"8"}]`), `"8"`, one(share + `,"environment":[{"name":"CUDA_DEVICE_MAX_CONNECTIONS","value":"2"}]`)},
		{"BH143", one(share + `,"command":["python","train.py"]`), `["python"`, one(share + `,"command":["python","constrain.py"]`)},
		{"BH150", one(share + `,"stopTimeout":29`), `29`, one(share + `,"stopTimeout":30`)},
		{"BH151", one(share), `{"memory"`, one(share + `,"dockerLabels":{"bulkhead:tier":"gold"}`)},
		{"BH152", one(`"environment":[{"name":"NVIDIA_VISIBLE_DEVICES","value":"all"}]`), `"all"`, one(`"environment":[{"name":"NVIDIA_VISIBLE_DEVICES","value":"void"}]`)},
		{"BH153", one(share), `{` + "\n", one(share + `,"healthCheck":{}`)},
		{"BH154", one(share + "},{" + share), `{"resourceR`, one(share + `},{"essential":false,` + share)},
		{"BH190", one(share + `,"command":{"Ref":"C"}`), `{"Ref"`, one(share + `,"image":{"Ref":"C"}`)},
		{"BH191", one(`"name":"a","name":"b"`), `"name":"b"`, one(`"name":"a"`)},
	} {
		t.Run(c.rule, func(t *testing.T) {
			found, _ := lintText(t, c.breach, cards())
			i := strings.LastIndex(c.breach, c.at)
			line, column := 1+strings.Count(c.breach[:i], "\n"), i-strings.LastIndex(c.breach[:i], "\n")
			n := 0
			for _, f := range found {
				if f.Rule == c.rule {
					if n++; f.Line != line || f.Column != column {
						t.Errorf("found at %d:%d, want %d:%d", f.Line, f.Column, line, column)
					}
				}
			}
			if n != 1 {
				t.Errorf("found %d times, want once: %+v", n, found)
			}
			found, _ = lintText(t, c.miss, cards())
			for _, f := range found {
				if f.Rule == c.rule {
					t.Errorf("the near miss is found: %s", f.Message)
				}
			}
		})
	}
}

func TestValidTaskDefinitionsHaveNoErrors(t *testing.T) {
	files, _ := filepath.Glob("testdata/valid/*")
	if len(files) < 30 {
		t.Fatalf("%d files, want 30 or more", len(files))
	}
	began := time.Now()
	for _, name := range files {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := Read(name, content, Limits{})
		if err != nil {
			t.Error(err)
			continue
		}
		for _, f := range Lint(doc, cards()) {
			if f.Severity == Error {
				t.Errorf("%s:%d:%d %s %s", name, f.Line, f.Column, f.Rule, f.Message)
			}
		}
	}
	if per := time.Since(began) / time.Duration(len(files)); per > 10*time.Millisecond {
		t.Errorf("%v a file, more than a hundred in a second allow", per)
	}
}

func TestAFixChangesOneFigureAndNothingElse(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		figure := rapid.IntRange(101, 1<<20).Draw(rt, "figure")
		form := rapid.SampledFrom([]string{
			"{\t\"containerDefinitions\": [{\"name\":\"é\", \"resourceRequirements\":[{\"type\":\"GPU\",\"sharingStrategy\":{\"nvidiaMps\":{\"maxComputePercent\" : %s ,\"memory\":4096}}}]}]}\r\n",
			"\ufeff# c\ncontainerDefinitions:\n- name: é # %[2]s\n  resourceRequirements:\n  - {type: GPU, sharingStrategy: {nvidiaMps: {\"é\": 1, maxComputePercent: %[1]s, memory: 4096}}} # kept\n",
			"containerDefinitions:\r\n- resourceRequirements:\r\n  - type: GPU\r\n    sharingStrategy:\r\n      nvidiaMps:\r\n        memory: 4096\r\n        maxComputePercent:   %s   # kept\r\n",
		}).Draw(rt, "form")
		write := func(n int) string {
			if strings.Contains(form, "[2]") {
				return fmt.Sprintf(form, fmt.Sprint(n), "note")
			}
			return fmt.Sprintf(form, fmt.Sprint(n))
		}
		before, doc := lintText(t, write(figure), cards())
		got, applied := Fix(doc, before)
		if string(got) != write(100) || len(applied) != 1 {
			rt.Fatalf("%d applied\n%q\n%q", len(applied), got, write(100))
		}
		if after, _ := lintText(t, string(got), cards()); len(after) != len(before)-1 {
			rt.Fatalf("%d findings before, %d after", len(before), len(after))
		}
	})
}

func TestASuppressionNeedsAReason(t *testing.T) {
	for label, want := range map[string]bool{"BH110: by night": true, "BH101, BH110: x": true, "BH110": false, "BH110:  ": false, "BH111: x": false} {
		found, _ := lintText(t, one(mps(`"memory":4096`)+`,"dockerLabels":{"bulkhead.lint.ignore":"`+label+`"}`), cards())
		for _, f := range found {
			if f.Rule == "BH110" && f.Suppressed != want {
				t.Errorf("%q suppresses: %v, want %v", label, f.Suppressed, want)
			}
		}
	}
}

func TestBadInputIsNamed(t *testing.T) {
	for _, c := range []struct {
		name, src string
		want      error
	}{
		{"too large", strings.Repeat(" ", 50<<20), ErrTooLarge},
		{"deep JSON", strings.Repeat("[", 10_000), ErrTooDeep},
		{"deep objects", strings.Repeat(`{"a":`, 10_000), ErrTooDeep},
		{"deep YAML", "a: " + strings.Repeat("[", 10_000), ErrTooDeep},
		{"deep YAML lists", strings.Repeat("- ", 10_000) + "x", ErrTooDeep},
		{"alias bomb", "a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]", ErrTooLarge},
		{"empty", "", ErrSyntax},
		{"tabs", "a:\n\tb: 1", ErrSyntax},
		{"half", `{"a":`, ErrSyntax},
		{"backslash at the end", `{"a\`, ErrSyntax},
		{"prose", "hello", ErrNoTasks},
		{"other template", `{"Resources":{"Q":{"Type":"AWS::SQS::Queue"}}}`, ErrNoTasks},
	} {
		if _, err := Read("f", []byte(c.src), Limits{}); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

func TestAPolicyRefusesWhatItDoesNotKnowWithTheLine(t *testing.T) {
	_, err := ParsePolicy([]byte("safeStopSeconds: 5\ncardz: []\n"))
	if err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("%v", err)
	}
	if _, err := ParsePolicy([]byte("disable: [BH999]")); err == nil {
		t.Error("a rule that is none is accepted")
	}
	if p, err := ParsePolicy([]byte("disable: [BH110]\ncards: [{name: L4, memoryMiB: 22563, sms: 58}]")); err != nil || p.SafeStopSeconds != 30 || p.Cards[0].SMs != 58 {
		t.Errorf("%+v %v", p, err)
	}
}

func TestEveryRuleHasItsPage(t *testing.T) {
	for _, r := range Rules() {
		file := filepath.Join("../../docs/rules", r.ID+".md")
		if *rewrite {
			if err := os.WriteFile(file, []byte(r.Page()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, _ := os.ReadFile(file); string(got) != r.Page() {
			t.Errorf("%s differs from the rule; run this test with -rewrite", file)
		}
	}
	if files, _ := filepath.Glob("../../docs/rules/BH*.md"); len(files) != len(Rules()) {
		t.Errorf("%d pages for %d rules", len(files), len(Rules()))
	}
}

func FuzzRead(f *testing.F) {
	files, _ := filepath.Glob("testdata/valid/*")
	for _, name := range files {
		content, _ := os.ReadFile(name)
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		doc, err := Read("f", content, Limits{Bytes: 1 << 16})
		if err != nil {
			return
		}
		found := Lint(doc, cards())
		for _, x := range found {
			if x.Line < 1 || x.Column < 1 {
				t.Fatalf("a finding without place: %+v", x)
			}
		}
		if got, applied := Fix(doc, found); len(applied) == 0 && !bytes.Equal(got, content) {
			t.Fatal("no fix, and the content changed")
		}
	})
}
