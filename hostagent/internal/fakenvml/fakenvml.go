package fakenvml

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"
)

//go:embed testdata/fake.c
var source string

// ControlEnv names the control file to the library.
const ControlEnv = "BULKHEAD_FAKE_NVML"

// Age says which symbols the library has.
type Age string

// A library of today; one of years ago, without most versioned and newer calls;
// one that has nothing but init; and one that is no NVML library at all.
const (
	Current Age = "CURRENT"
	Old     Age = "OLD"
	Bare    Age = "BARE"
	Foreign Age = "FOREIGN"
)

// Build compiles the library into a directory of t and returns its path. The test
// is skipped by name where gcc is missing.
func Build(t testing.TB, age Age) string {
	t.Helper()
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("gcc is not installed: the fake NVML library cannot be built")
	}
	mod, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/NVIDIA/go-nvml").Output()
	if err != nil {
		t.Fatalf("finding go-nvml's header: %v", err)
	}
	dir := t.TempDir()
	src, lib := filepath.Join(dir, "fake.c"), filepath.Join(dir, "libnvidia-ml.so.1")
	if err := os.WriteFile(src, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	header := filepath.Join(strings.TrimSpace(string(mod)), "pkg", "nvml")
	out, err := exec.Command(gcc, "-shared", "-fPIC", "-O1", "-w", "-D"+string(age), "-I"+header, "-o", lib, src).CombinedOutput()
	if err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	return lib
}

// Control is the machine the library plays; see testdata/fake.c for the keys.
type Control map[string]string

// Machine writes the control file, tells the library of it through the
// environment of this process and its children, and returns a function that
// replaces the machine at once.
func Machine(t testing.TB, c Control) func(Control) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "machine")
	put := func(c Control) {
		keys := make([]string, 0, len(c))
		for k := range c {
			keys = append(keys, k)
		}
		sort.Strings(keys)
		var b strings.Builder
		for _, k := range keys {
			fmt.Fprintf(&b, "%s=%s\n", k, c[k])
		}
		if err := os.WriteFile(path+".new", []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	put(c)
	t.Setenv(ControlEnv, path)
	return put
}

// UUID is the id of card i of the fake.
func UUID(i int) string { return fmt.Sprintf("GPU-%08x-0000-4000-8000-0000000000%02x", i, i) }
