package mps

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// Unit is the machine image's own service.
const Unit = "nvidia-mps.service"

// Restarter restarts the daemon by its service manager.
type Restarter interface {
	Restart(ctx context.Context) error
}

// Systemctl restarts Unit with systemctl. It only ever says "restart": a reload
// of unit files would take the GPUs from running containers.
type Systemctl struct{ Path string }

// Restart waits up to 30 s for the job to end.
func (s Systemctl) Restart(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	path := s.Path
	if path == "" {
		path = "systemctl"
	}
	out := &bounded{left: 4 << 10}
	cmd := exec.CommandContext(ctx, path, "restart", Unit)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = out, out, killGrace
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("restart %s: %w: %s", Unit, err, strings.TrimSpace(out.String()))
	}
	return nil
}
