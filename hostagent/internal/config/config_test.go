package config

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestTheLaterSourceWins(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agent.yaml")
	os.WriteFile(path, []byte("lease: 120s\nsample: 5s\nendpoint: https://x\n"), 0o600)
	c, err := Load(path, true, []string{"BULKHEAD_AGENT_LEASE=60s", "PATH=/bin", "BULKHEAD_AGENT_SAFE_STOP=false"})
	if err != nil || c.Lease != time.Minute || c.Sample != 5*time.Second || c.SafeStop || c.MPSProbe != 20*time.Second {
		t.Errorf("%+v %v", c, err)
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none"), false, nil); err != nil {
		t.Errorf("a missing default file: %v", err)
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none"), true, nil); !errors.Is(err, ErrConfig) {
		t.Errorf("a missing named file: %v", err)
	}
}

func TestWhatIsWrongIsRefusedByPlace(t *testing.T) {
	for text, place := range map[string]string{
		"lease: 60s\nlaese: 1s\n": "line 2", "lease: [1]\n": "line 1", "safeStop: perhaps\n": "line 1",
		"lease: 60s\n---\nlease: 70s\n": "more than one document",
	} {
		if _, err := Parse([]byte(text)); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), place) {
			t.Errorf("%q: %v", text, err)
		}
	}
	for kv, part := range map[string]string{
		"BULKHEAD_AGENT_LAESE=1s": "LAESE is not known", "BULKHEAD_AGENT_LEASE=soon": "LEASE", "BULKHEAD_AGENT_LEASE=1s": "lease 1s",
		"BULKHEAD_AGENT_METRICS=0.0.0.0:9464": "loopback", "BULKHEAD_AGENT_THREAD_PERCENTAGE=NaN": "threadPercentage", "BULKHEAD_AGENT_STATE_DIR=x": "stateDir",
	} {
		if _, err := Load("/nonexistent", false, []string{kv}); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %v", kv, err)
		}
	}
}

func TestEveryKeyCanBeSetFromTheEnvironment(t *testing.T) {
	c := Default()
	if n := reflect.TypeFor[Config]().NumField(); len(c.setters()) != n {
		t.Errorf("%d variables for %d keys", len(c.setters()), n)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("lease: 60s\n"))
	f.Add([]byte("a: &a [*a]\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if c, err := Parse(b); err == nil {
			_ = c.Check()
		}
	})
}
