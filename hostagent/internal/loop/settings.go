package loop

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/bulkhead-ecs/bulkhead/events"
	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/config"
)

// Settings are what may change while the agent runs. A value is never changed,
// only replaced whole: each reader sees one version or the next.
type Settings struct {
	Version  string
	Percent  *float64
	Lease    time.Duration
	Sample   time.Duration
	SafeStop bool
}

// Live holds the settings in force and keeps what the control plane asked for
// over restarts.
type Live struct {
	path string
	base Settings
	now  atomic.Pointer[Settings]
}

const settingsFile = "settings.json"

// OpenSettings begins with the configuration and, over it, what was asked for
// last. A stored file that cannot be believed is passed over: the API will say
// it again.
func OpenSettings(c config.Config) *Live {
	l := &Live{path: filepath.Join(c.StateDir, settingsFile), base: Settings{Lease: c.Lease, Sample: c.Sample, SafeStop: c.SafeStop}}
	if c.ThreadPercentage > 0 {
		p := c.ThreadPercentage
		l.base.Percent = &p
	}
	s := l.base
	var stored events.HostSettings
	if b, err := os.ReadFile(l.path); err == nil && len(b) < 4<<10 && json.Unmarshal(b, &stored) == nil && stored.Check() == nil {
		s = over(l.base, stored)
	}
	l.now.Store(&s)
	return l
}

// Get returns the settings in force.
func (l *Live) Get() Settings { return *l.now.Load() }

// Apply puts all of h in force, or none and an error.
func (l *Live) Apply(h events.HostSettings) error {
	if err := h.Check(); err != nil {
		return err
	}
	if h.Version == l.Get().Version {
		return nil
	}
	b, err := json.Marshal(h)
	if err != nil {
		return err
	}
	if err := os.WriteFile(l.path+".new", b, 0o600); err != nil {
		return fmt.Errorf("store settings: %w", err)
	}
	if err := os.Rename(l.path+".new", l.path); err != nil {
		return fmt.Errorf("store settings: %w", err)
	}
	s := over(l.base, h)
	l.now.Store(&s)
	return nil
}

func over(s Settings, h events.HostSettings) Settings {
	s.Version = h.Version
	if h.ThreadPercentage != nil {
		s.Percent = h.ThreadPercentage
	}
	if h.LeaseSeconds != nil {
		s.Lease = time.Duration(*h.LeaseSeconds) * time.Second
	}
	if h.SampleSeconds != nil {
		s.Sample = time.Duration(*h.SampleSeconds) * time.Second
	}
	if h.SafeStop != nil {
		s.SafeStop = *h.SafeStop
	}
	return s
}
