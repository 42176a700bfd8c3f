package browser

import (
	"context"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/bulkhead-ecs/bulkhead/internal/local"
	"github.com/bulkhead-ecs/bulkhead/internal/memstore"
)

func TestThePageShowsALivingFleetToMouseKeyboardAndPhone(t *testing.T) {
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("Chromium is not installed: bash tests/setup/chromium.sh")
	}
	if _, err := os.Stat("node_modules/playwright-core"); err != nil {
		t.Skip("Playwright is not installed: bash tests/setup/playwright.sh")
	}
	pictures := os.Getenv("BULKHEAD_PICTURES")
	if pictures == "" {
		pictures = t.TempDir()
	}
	ctx, stop := context.WithCancel(context.Background())
	address, ended := make(chan string, 1), make(chan error, 1)
	store := memstore.New()
	go func() {
		ended <- local.Run(ctx, local.Options{Addr: "127.0.0.1:0", Hosts: 8, Seed: 1, Speed: 60, Quiet: true, Store: store, Vitals: store, Log: slog.New(slog.DiscardHandler),
			Ready: func(a string) { address <- a }}, io.Discard)
	}()
	browsing, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(browsing, "node", "page.mjs", <-address, chromium, pictures)
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Error(err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
