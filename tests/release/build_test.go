package release

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

const root = "../.."

// largest is what an archive may weigh, in bytes.
const largest = 12_000_000

// The functions are built here and in a copy under another path. Objects come from the
// build cache in both; what is shown is that no path, time or order of files is in them.
func TestTheSameInputGivesTheSameArchivesAnywhere(t *testing.T) {
	if testing.Short() {
		t.Skip("builds every function twice")
	}
	for _, tool := range []string{"make", "zip", "sha256sum"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("no %s here", tool)
		}
	}
	here, there := t.TempDir(), filepath.Join(t.TempDir(), "elsewhere", "bulkhead")
	clone(t, root, there)
	a := archives(t, root, here)
	b := archives(t, there, filepath.Join(there, "dist"))
	if a != b {
		t.Errorf("built here:\n%s\nbuilt in a copy:\n%s", a, b)
	}
	dirs, err := filepath.Glob(filepath.Join(root, "functions", "*", "main.go"))
	if err != nil || len(dirs) == 0 || strings.Count(a, "\n") != len(dirs) {
		t.Errorf("%d functions, hashes:\n%s", len(dirs), a)
	}
	for _, d := range dirs {
		name := filepath.Base(filepath.Dir(d))
		info, err := os.Stat(filepath.Join(here, "functions", name+".zip"))
		if err != nil {
			t.Error(err)
			continue
		}
		t.Logf("%-10s %.1f MB", name, float64(info.Size())/1e6)
		if info.Size() > largest {
			t.Errorf("%s weighs %d bytes, want at most %d", name, info.Size(), largest)
		}
	}
}

// archives builds for this machine, whose objects other tests have built already.
func archives(t *testing.T, dir, out string) string {
	t.Helper()
	out, err := filepath.Abs(out)
	if err != nil {
		t.Fatal(err)
	}
	run(t, dir, "make", "build", "ARCH="+runtime.GOARCH, "OUT="+out)
	sums, err := os.ReadFile(filepath.Join(out, "functions", "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	return string(sums)
}

func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, stderr.String())
	}
	return string(out)
}

// clone copies what a build reads.
func clone(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			switch d.Name() {
			case ".git", "node_modules", "dist", ".aws-sam", "docs", "tests":
				return fs.SkipDir
			}
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		if !d.Type().IsRegular() {
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, rel), b, 0o600); err != nil {
			return fmt.Errorf("copy %s: %w", rel, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
