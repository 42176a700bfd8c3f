package release

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestAReleaseNeedsAVersionWithNotes(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "infra", "release", "notes.sh")
	b, err := os.ReadFile(filepath.Join(root, "infra", "release", "notes.sh"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, script, string(b))
	write(t, filepath.Join(dir, "CHANGELOG.md"), "# Changelog\n\n## Unreleased\n- later\n\n## 1.2.3 (2026-12-05)\n- this\n\n## 1.2\n- before\n")
	for version, want := range map[string]string{"1.2.3": "- this", "1.2": "- before", "Unreleased": "- later"} {
		if got := strings.TrimSpace(run(t, dir, "bash", script, version)); got != want {
			t.Errorf("%s: %q, want %q", version, got, want)
		}
	}
	if out, err := exec.Command("bash", script, "9.9.9").CombinedOutput(); err == nil {
		t.Errorf("a version without notes was released: %s", out)
	}
	for _, version := range []string{"", "v1.2.3", "1.2", "1.2.3;ls"} {
		out, err := exec.Command("bash", filepath.Join(root, "infra", "release", "release.sh"), version, t.TempDir()).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "semantic version") {
			t.Errorf("%q: %v %s", version, err, out)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
