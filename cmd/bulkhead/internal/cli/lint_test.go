package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const lintYAML = "# kept\ncontainerDefinitions:\n- name: a\n  healthCheck: {}\n  dockerLabels: {\"bulkhead:tier\": gold}\n  resourceRequirements:\n  - type: GPU\n    sharingStrategy:\n      nvidiaMps: {memory: 4096, maxComputePercent: 150} # kept too\n"

func TestLintExitsByTheSeverityAskedForAndMendsTheFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "task.yaml")
	if err := os.WriteFile(file, []byte(lintYAML), 0o600); err != nil {
		t.Fatal(err)
	}
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(policy, []byte("disable: [BH111]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		args []string
		in   string
		code int
		says string
	}{
		{[]string{"lint", file}, "", ExitFinding, ":9:52: error BH111"},
		{[]string{"lint", "-", "-o", "json"}, lintYAML, ExitFinding, `"rule": "BH111"`},
		{[]string{"lint", "-", "-o", "sarif"}, lintYAML, ExitFinding, `"ruleId": "BH111"`},
		{[]string{"lint", "-", "-o", "github"}, lintYAML, ExitFinding, "::error file=-,line=9,col=52,"},
		{[]string{"lint", file, "--policy", policy}, "", ExitFine, "1 files, 0 findings"},
		{[]string{"lint", file, "--fix"}, "", ExitFine, "1 files, 0 findings"},
		{[]string{"lint", file, "--fail-on", "info"}, "", ExitFine, "1 files, 0 findings"},
		{[]string{"lint", file, "--fail-on", "bad"}, "", ExitUse, ""},
		{[]string{"lint", file, file + ".none"}, "", ExitUse, "1 files, 0 findings"},
		{[]string{"lint", file, "--policy", file}, "", ExitUse, ""},
		{[]string{"lint", "-"}, "hello", ExitUse, ""},
	} {
		code, out, errs := command(t, step.in, nil, step.args...)
		if code != step.code || !strings.Contains(out, step.says) {
			t.Errorf("%v: exit %d, want %d\n%s%s", step.args, code, step.code, out, errs)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Replace(lintYAML, "150", "100", 1); string(got) != want {
		t.Errorf("%s", got)
	}
}
