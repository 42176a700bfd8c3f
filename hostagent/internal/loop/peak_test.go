package loop

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/attribution"
	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/config"
	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/spool"
	"github.com/bulkhead-ecs/bulkhead/internal/gpu"
)

func TestAPeakLateInAWindowIsStillTold(t *testing.T) {
	c := config.Default()
	c.StateDir = t.TempDir()
	sp, err := spool.Open(filepath.Join(c.StateDir, "spool"), "b", spool.DefaultLimits(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer sp.Close()
	a := New(Identity{"i-0a", "b", "1"}, sp, OpenSettings(c), silent)
	sh := attribution.Share{Container: "c", Device: "GPU-1"}
	at := time.Now()
	see := func(after time.Duration, memory gpu.MiB) gpu.MiB {
		a.peak([]attribution.Usage{{Container: attribution.Container{ID: "c", Task: "arn:t"}, Device: "GPU-1", Memory: memory}}, at.Add(after))
		return a.pic.Peaks[sh]
	}
	see(0, 1000)
	see(attribution.PeakWindow-time.Second, 9000) // and the window ends
	if got := see(attribution.PeakWindow, 1000); got != 9000 {
		t.Errorf("the next report tells %v", got)
	}
	a.say("lease")
	if got := see(attribution.PeakWindow+time.Second, 1100); got != 1100 {
		t.Errorf("told once, and again as %v", got)
	}
}
