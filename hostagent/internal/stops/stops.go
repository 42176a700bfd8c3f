// Package stops hears from the Docker engine that a container is being stopped,
// so that its MPS clients can be taken out before SIGKILL tears them out. It only
// reads. How long the container has is taken from the container itself; where it
// does not say, the given default counts, and without one the stop is not told:
// to act too early would take seconds from a task that has them.
package stops

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"time"

	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/mps"
)

const (
	maxEvent   = 64 << 10
	maxInspect = 1 << 20
	maxTimeout = 24 * time.Hour
)

var containerID = regexp.MustCompile(`^[0-9a-f]{12,64}$`)

// Watcher follows the engine's events.
type Watcher struct {
	Default time.Duration // where the container does not say; 0: such stops are not told
	Now     func() time.Time
	http    *http.Client
}

// New watches the engine at socket.
func New(socket string, def time.Duration) *Watcher {
	return &Watcher{Default: def, Now: time.Now, http: &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{MaxIdleConns: 1, IdleConnTimeout: 10 * time.Second, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "unix", socket)
		}},
	}}
}

type event struct {
	Action string
	Actor  struct {
		ID         string
		Attributes map[string]string
	}
}

// Run calls onStop for each container that is asked to stop, until ctx ends or
// the stream breaks; the caller waits and calls again.
func (w *Watcher) Run(ctx context.Context, onStop func(mps.Stop)) error {
	defer w.http.CloseIdleConnections()
	resp, err := w.get(ctx, "/events?filters="+url.QueryEscape(`{"type":["container"],"event":["kill"]}`))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	sc := bufio.NewScanner(resp.Body)
	sc.Buffer(make([]byte, 0, 4<<10), maxEvent)
	for sc.Scan() {
		var e event
		if json.Unmarshal(sc.Bytes(), &e) != nil || e.Action != "kill" || !containerID.MatchString(e.Actor.ID) {
			continue
		}
		if sig := e.Actor.Attributes["signal"]; sig == "9" || sig == "SIGKILL" || sig == "KILL" {
			continue // too late to be gentle
		}
		at := w.Now()
		timeout, err := w.timeout(ctx, e.Actor.ID)
		if err != nil || timeout <= 0 {
			continue
		}
		onStop(mps.Stop{Container: e.Actor.ID, Signalled: at, Timeout: timeout})
	}
	if err := sc.Err(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("docker events: %w", err)
	}
	return ctx.Err()
}

func (w *Watcher) timeout(ctx context.Context, id string) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	resp, err := w.get(ctx, "/containers/"+id+"/json")
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	var c struct{ Config struct{ StopTimeout *int } }
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxInspect)).Decode(&c); err != nil {
		return 0, fmt.Errorf("inspect %s: %w", id[:12], err)
	}
	if t := c.Config.StopTimeout; t != nil {
		return min(time.Duration(min(max(*t, 0), 86400))*time.Second, maxTimeout), nil
	}
	return w.Default, nil
}

func (w *Watcher) get(ctx context.Context, path string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://docker"+path, nil)
	if err != nil {
		return nil, err
	}
	resp, err := w.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("docker: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		return nil, fmt.Errorf("docker: HTTP %d", resp.StatusCode)
	}
	return resp, nil
}
