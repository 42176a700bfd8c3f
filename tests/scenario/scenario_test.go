package scenario

import (
	"testing"

	"github.com/cockroachdb/datadriven"
)

// go test ./tests/scenario -rewrite writes what is said now under each step.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		w := newWorld()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd != "step" {
				d.Fatalf(t, "a script is made of steps, not of %q", d.Cmd)
			}
			if said := play(w, d.Input); said != "" {
				return said
			}
			return "ok\n"
		})
	})
}

func TestAnUnknownVerbIsNamedWithItsLine(t *testing.T) {
	if got := play(newWorld(), "register h cards=A\nexplode h\n"); got != "line 2: no verb \"explode\"\n" {
		t.Errorf("%q", got)
	}
	if got := play(newWorld(), "runs nobody"); got != "line 1: no task \"nobody\" was placed\n" {
		t.Errorf("%q", got)
	}
}
