package arch

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestTheHouseKeepsItsRules(t *testing.T) {
	found, err := Check(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range found {
		t.Error(v)
	}
}

// The sample breaks each rule once. A rule that finds nothing there has rotted.
func TestABrokenSampleIsCaught(t *testing.T) {
	found, err := Check(filepath.Join("testdata", "broken"))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, v := range found {
		all = append(all, v.String())
	}
	text := strings.Join(all, "\n")
	for _, want := range []string{
		"may not import os",
		"may not import log/slog",
		"may not import github.com/aws/aws-sdk-go-v2/service/ecs",
		"may not call time.Now",
		"starts no goroutine",
		"has no channel",
		"level 1 (internal/ledger) may not import level 4 (internal/fleet)",
		"the host agent may import only",
		"go-nvml/pkg/nvml may be imported only from",
		"internal/sim may be imported only from",
		"has no level",
		"has no package comment",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no violation says %q; found:\n%s", want, text)
		}
	}
}
