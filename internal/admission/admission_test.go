package admission

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
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

func TestValidTaskDefinitionsHaveNoErrors(t *testing.T) {
	files, _ := filepath.Glob("testdata/valid/*")
	if len(files) < 30 {
		t.Fatalf("%d files, want 30 or more", len(files))
	}
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
		{"UTF-16", "\xff\xfe{\x00}\x00", ErrEncoding},
		{"UTF-16 without a mark", "\x00{\x00}", ErrEncoding},
		{"Latin 1", "a: \xe9", ErrEncoding},
		{"many values of YAML", strings.Repeat("[1],", 600_000), ErrSyntax},
		{"many values of YAML in a list", "a: [" + strings.Repeat("1,", 600_000) + "]", ErrTooLarge},
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
	if _, err := ParsePolicy([]byte("disable:\n- BH110\n- BH999")); err == nil || !strings.Contains(err.Error(), "line 3") {
		t.Errorf("a rule that is none: %v", err)
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
	for _, pattern := range []string{"testdata/valid/*", "testdata/bad/*", "testdata/rules/*.json"} {
		files, _ := filepath.Glob(pattern)
		for _, name := range files {
			content, _ := os.ReadFile(name)
			f.Add(content)
		}
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
		got, applied := Fix(doc, found)
		if len(applied) == 0 && !bytes.Equal(got, content) {
			t.Fatal("no fix, and the content changed")
		}
		if doc, err = Read("f", got, Limits{Bytes: 1 << 17}); err != nil {
			t.Fatalf("the fix cannot be read: %v", err)
		}
		if again, applied := Fix(doc, Lint(doc, cards())); len(applied) > 0 && bytes.Equal(again, got) {
			t.Fatal("a fix that changes nothing")
		}
	})
}
