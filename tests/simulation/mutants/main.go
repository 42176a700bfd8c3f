// Command mutants plants deliberate faults in the code, one at a time, and expects
// the simulation or the scripts to catch each: a law that no fault can break proves
// nothing. It changes no file: the faults live in an overlay.
//
//	go run ./tests/simulation/mutants [NAME…]
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	alive := 0
	for _, m := range list {
		if len(os.Args) > 1 && !slices.Contains(os.Args[1:], m.name) {
			continue
		}
		by, err := kill(m)
		switch {
		case err != nil:
			fmt.Printf("%-36s not planted: %v\n", m.name, err)
			alive++
		case by == "":
			fmt.Printf("%-36s ALIVE\n", m.name)
			alive++
		default:
			fmt.Printf("%-36s killed: %s\n", m.name, by)
		}
	}
	if alive > 0 {
		fmt.Printf("%d of %d were not caught\n", alive, len(list))
		os.Exit(1)
	}
	fmt.Printf("all %d caught\n", len(list))
}

// kill plants one fault and returns the first law or script that catches it.
func kill(m mutant) (string, error) {
	src, err := os.ReadFile(m.file)
	if err != nil {
		return "", err
	}
	if n := bytes.Count(src, []byte(m.old)); n != 1 {
		return "", fmt.Errorf("%s has its place %d times", m.file, n)
	}
	dir, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	planted := filepath.Join(dir, "planted.go")
	if err := os.WriteFile(planted, bytes.Replace(src, []byte(m.old), []byte(m.new), 1), 0o600); err != nil {
		return "", err
	}
	whole, err := filepath.Abs(m.file)
	if err != nil {
		return "", err
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{whole: planted}})
	if err != nil {
		return "", err
	}
	plan := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(plan, overlay, 0o600); err != nil {
		return "", err
	}
	for _, args := range [][]string{{"./tests/scenario"}, {"./tests/simulation", "-seeds", "400", "-fleets", "6"}, {"./internal/fleet"}, {"./internal/ledger"}} {
		out, err := exec.Command("go", append([]string{"test", "-count=1", "-vet=off", "-overlay", plan}, args...)...).CombinedOutput()
		if err == nil {
			continue
		}
		if bytes.Contains(out, []byte("[build failed]")) {
			return "", fmt.Errorf("it does not compile:\n%s", out)
		}
		return reason(string(out)), nil
	}
	return "", nil
}

var failed = regexp.MustCompile(`--- FAIL: (\S+)`)

var law = regexp.MustCompile(`seed \d+: (.*)`)

// reason is the law that broke, the script that reads differently, or the test.
func reason(out string) string {
	if m := law.FindStringSubmatch(out); m != nil {
		return m[1]
	}
	for line := range strings.Lines(out) {
		if i := strings.Index(line, "testdata/"); i >= 0 {
			return "script " + strings.TrimSpace(line[i:])
		}
	}
	if m := failed.FindStringSubmatch(out); m != nil {
		return m[1]
	}
	return strings.TrimSpace(strings.SplitN(out, "\n", 2)[0])
}
