package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// golden runs a command against an API and holds what it prints to a file of that
// name; -rewrite writes the file anew. No name may steer the terminal.
func golden(t *testing.T, url, name string, args []string) (out string) {
	t.Helper()
	code, out, errs := command(t, "", map[string]string{"BULKHEAD_ENDPOINT": url}, args...)
	got := fmt.Sprintf("exit %d\n%s", code, strings.ReplaceAll(out, url, "http://ENDPOINT"))
	if errs != "" {
		got += "--- error\n" + errs
	}
	file := filepath.Join("testdata", name+".golden")
	if *rewrite {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("bulkhead %s (-golden +now)\n%s", strings.Join(args, " "), diff)
	}
	if strings.ContainsRune(out, 0x1b) && !slices.Contains(args, "json") {
		t.Errorf("bulkhead %s lets a name steer the terminal", strings.Join(args, " "))
	}
	return out
}

// fitsPaper holds a table to 100 columns.
func fitsPaper(t *testing.T, out string, args []string) {
	t.Helper()
	for _, wide := range []string{"wide", "csv", "json", "--help"} {
		if slices.Contains(args, wide) {
			return
		}
	}
	for line := range strings.Lines(out) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 100 {
			t.Errorf("bulkhead %s: a line of %d columns: %s", strings.Join(args, " "), n, line)
		}
	}
}
