package attribution

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// Bounds of what is read from local services.
const (
	maxAnswer     = 8 << 20
	maxContainers = 4096
	localTimeout  = 3 * time.Second
)

// Docker asks the Docker engine over its unix socket, reading only.
type Docker struct {
	http *http.Client
}

// NewDocker returns a client of the engine at socket ("/var/run/docker.sock").
// Close it with CloseIdle when done.
func NewDocker(socket string) *Docker {
	return &Docker{&http.Client{
		Timeout: localTimeout,
		Transport: &http.Transport{
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return (&net.Dialer{Timeout: localTimeout}).DialContext(ctx, "unix", socket)
			},
			MaxIdleConns: 1, IdleConnTimeout: time.Minute, DisableCompression: true,
		},
		CheckRedirect: noRedirect,
	}}
}

// CloseIdle closes kept connections.
func (d *Docker) CloseIdle() { d.http.CloseIdleConnections() }

func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Containers lists the running containers by their labels; Promise is not filled
// in, see Promise.
func (d *Docker) Containers(ctx context.Context) ([]Container, error) {
	var list []struct {
		ID     string `json:"Id"`
		Image  string `json:"ImageID"`
		Names  []string
		Labels map[string]string
		State  string
	}
	if err := getJSON(ctx, d.http, "http://docker/containers/json", &list); err != nil {
		return nil, fmt.Errorf("listing containers: %w", err)
	}
	out := make([]Container, 0, len(list))
	for _, l := range list[:min(len(list), maxContainers)] {
		if !isContainerID(l.ID) {
			continue
		}
		c := Container{ID: l.ID, Image: printable(l.Image, 128), Running: l.State == "" || l.State == "running" || l.State == "paused"}
		if len(l.Names) > 0 {
			c.Name = printable(l.Names[0], 255)
		}
		c.fromLabels(l.Labels)
		out = append(out, c)
	}
	return out, nil
}

// Promise reads the limits that the container was given at its start.
func (d *Docker) Promise(ctx context.Context, id string) (Limits, error) {
	if !isContainerID(id) {
		return Limits{}, fmt.Errorf("%q is no container id", printable(id, 80))
	}
	var c struct{ Config struct{ Env []string } }
	if err := getJSON(ctx, d.http, "http://docker/containers/"+id+"/json", &c); err != nil {
		return Limits{}, fmt.Errorf("inspecting container %s: %w", id[:12], err)
	}
	return ParseLimits(c.Config.Env), nil
}

// Introspection asks the ECS agent on this host, reading only.
type Introspection struct {
	http *http.Client
	url  string
}

// NewIntrospection returns a client of the agent at base ("http://localhost:51678").
func NewIntrospection(base string) *Introspection {
	return &Introspection{&http.Client{Timeout: localTimeout, CheckRedirect: noRedirect,
		Transport: &http.Transport{MaxIdleConns: 1, IdleConnTimeout: time.Minute, DisableCompression: true}}, base}
}

// CloseIdle closes kept connections.
func (i *Introspection) CloseIdle() { i.http.CloseIdleConnections() }

// Containers lists the containers of the agent's tasks.
func (i *Introspection) Containers(ctx context.Context) ([]Container, error) {
	var answer struct {
		Tasks []struct {
			Arn, Family, Version string
			Containers           []struct{ DockerID, Name string } // matched without regard to case: "DockerId"
		}
	}
	if err := getJSON(ctx, i.http, i.url+"/v1/tasks", &answer); err != nil {
		return nil, fmt.Errorf("asking the ECS agent for its tasks: %w", err)
	}
	var out []Container
	for _, t := range answer.Tasks {
		arn := taskARN(t.Arn)
		if arn == "" {
			continue
		}
		for _, c := range t.Containers {
			if isContainerID(c.DockerID) && len(out) < maxContainers {
				out = append(out, Container{ID: c.DockerID, Name: printable(c.Name, 255), Task: arn, Family: family(t.Family, t.Version)})
			}
		}
	}
	return out, nil
}

func getJSON(ctx context.Context, client *http.Client, url string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		_, _ = io.CopyN(io.Discard, resp.Body, 4096)
		return fmt.Errorf("answered status %d", resp.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return err
	}
	if len(body) > maxAnswer {
		return fmt.Errorf("answered more than %d bytes", maxAnswer)
	}
	return json.Unmarshal(body, into)
}
