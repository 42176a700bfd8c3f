package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// DefaultPath is where the package installs the file.
const DefaultPath = "/etc/bulkhead/agent.yaml"

// EnvPrefix begins each variable: BULKHEAD_AGENT_ENDPOINT is endpoint.
const EnvPrefix = "BULKHEAD_AGENT_"

const maxFile = 64 << 10

// ErrConfig is what every refusal wraps.
var ErrConfig = errors.New("configuration refused")

// Config is all that can be set. Durations are written "300s".
type Config struct {
	Endpoint string `yaml:"endpoint"` // of the reports API, "https://…"; empty: nothing is sent
	Region   string `yaml:"region"`   // empty: that of the instance

	StateDir   string        `yaml:"stateDir"`
	SpoolBytes int64         `yaml:"spoolBytes"`
	SpoolAge   time.Duration `yaml:"spoolAge"`

	Lease    time.Duration `yaml:"lease"`
	Sample   time.Duration `yaml:"sample"`
	MPSProbe time.Duration `yaml:"mpsProbe"`

	ThreadPercentage float64 `yaml:"threadPercentage"` // default kept on the MPS daemon; 0 leaves it alone
	SafeStop         bool    `yaml:"safeStop"`
	// StopTimeout is how long the host's sharing containers have between stop signal
	// and SIGKILL where the container does not say it itself. 0: not known, and such
	// containers get no safe stop.
	StopTimeout   time.Duration `yaml:"stopTimeout"`
	AutoRestart   bool          `yaml:"autoRestart"` // of a broken MPS daemon that no healthy client uses
	PipeDir       string        `yaml:"pipeDir"`     // empty: detected
	MPSLogDir     string        `yaml:"mpsLogDir"`
	NVMLLibrary   string        `yaml:"nvmlLibrary"`  // empty: by the loader
	NVMLDeadline  time.Duration `yaml:"nvmlDeadline"` // for one answer; later is a hang
	DockerSocket  string        `yaml:"dockerSocket"`
	Introspection string        `yaml:"introspection"` // of the ECS agent
	ExpectedGPUs  int           `yaml:"expectedGPUs"`  // 0: what the ECS agent recorded

	Metrics  string `yaml:"metrics"` // loopback address, empty: none
	LogLevel string `yaml:"logLevel"`
	LogBytes int    `yaml:"logBytesPerMinute"`
}

// Default is the configuration of an empty file.
func Default() Config {
	return Config{
		StateDir: "/var/lib/bulkhead-agent", SpoolBytes: 16 << 20, SpoolAge: 72 * time.Hour,
		Lease: 300 * time.Second, Sample: 15 * time.Second, MPSProbe: 20 * time.Second, NVMLDeadline: 10 * time.Second, SafeStop: true,
		MPSLogDir: "/var/log/nvidia-mps", DockerSocket: "/var/run/docker.sock", Introspection: "http://127.0.0.1:51678",
		Metrics: "127.0.0.1:9464", LogLevel: "info", LogBytes: 64 << 10,
	}
}

// Load reads path and env (os.Environ's form). A missing file is an error only
// when required: the default path may be absent.
func Load(path string, required bool, env []string) (Config, error) {
	c := Default()
	b, err := readFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !required:
	case err != nil:
		return c, fmt.Errorf("%w: %w", ErrConfig, err)
	default:
		if c, err = Parse(b); err != nil {
			return c, fmt.Errorf("%s: %w", path, err)
		}
	}
	if err := c.applyEnv(env); err != nil {
		return c, err
	}
	return c, c.Check()
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(b) > maxFile {
		err = fmt.Errorf("%s: above %d bytes", path, maxFile)
	}
	return b, err
}

// Parse reads a file over the defaults. Errors name the line.
func Parse(b []byte) (Config, error) {
	c := Default()
	d := yaml.NewDecoder(bytes.NewReader(b))
	d.KnownFields(true)
	if err := d.Decode(&c); err != nil && !errors.Is(err, io.EOF) {
		return c, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return c, fmt.Errorf("%w: more than one document", ErrConfig)
	}
	return c, nil
}

// applyEnv sets what EnvPrefix variables name. An unknown one is refused.
func (c *Config) applyEnv(env []string) error {
	set := c.setters()
	for _, kv := range env {
		k, v, _ := strings.Cut(kv, "=")
		name, ours := strings.CutPrefix(k, EnvPrefix)
		if !ours {
			continue
		}
		f, ok := set[name]
		if !ok {
			return fmt.Errorf("%w: environment variable %s is not known", ErrConfig, k)
		}
		if err := f(v); err != nil {
			return fmt.Errorf("%w: environment variable %s: %w", ErrConfig, k, err)
		}
	}
	return nil
}

func (c *Config) setters() map[string]func(string) error {
	str := func(p *string) func(string) error { return func(v string) error { *p = v; return nil } }
	dur := func(p *time.Duration) func(string) error {
		return func(v string) (err error) { *p, err = time.ParseDuration(v); return err }
	}
	flag := func(p *bool) func(string) error {
		return func(v string) (err error) { *p, err = strconv.ParseBool(v); return err }
	}
	num := func(p *int) func(string) error {
		return func(v string) (err error) { *p, err = strconv.Atoi(v); return err }
	}
	return map[string]func(string) error{
		"ENDPOINT": str(&c.Endpoint), "REGION": str(&c.Region), "STATE_DIR": str(&c.StateDir),
		"SPOOL_BYTES": func(v string) (err error) { c.SpoolBytes, err = strconv.ParseInt(v, 10, 64); return err },
		"SPOOL_AGE":   dur(&c.SpoolAge), "LEASE": dur(&c.Lease), "SAMPLE": dur(&c.Sample), "MPS_PROBE": dur(&c.MPSProbe),
		"THREAD_PERCENTAGE": func(v string) (err error) { c.ThreadPercentage, err = strconv.ParseFloat(v, 64); return err },
		"SAFE_STOP":         flag(&c.SafeStop), "STOP_TIMEOUT": dur(&c.StopTimeout), "AUTO_RESTART": flag(&c.AutoRestart), "PIPE_DIR": str(&c.PipeDir), "MPS_LOG_DIR": str(&c.MPSLogDir),
		"NVML_LIBRARY": str(&c.NVMLLibrary), "NVML_DEADLINE": dur(&c.NVMLDeadline), "DOCKER_SOCKET": str(&c.DockerSocket), "INTROSPECTION": str(&c.Introspection), "EXPECTED_GPUS": num(&c.ExpectedGPUs),
		"METRICS": str(&c.Metrics), "LOG_LEVEL": str(&c.LogLevel), "LOG_BYTES_PER_MINUTE": num(&c.LogBytes),
	}
}

// Check returns nil when every value is in range, else one error that names all
// that are not.
func (c Config) Check() error {
	var bad []error
	want := func(ok bool, format string, a ...any) {
		if !ok {
			bad = append(bad, fmt.Errorf(format, a...))
		}
	}
	within := func(name string, d, lo, hi time.Duration) {
		want(d >= lo && d <= hi, "%s %s is not in %s to %s", name, d, lo, hi)
	}
	within("lease", c.Lease, 30*time.Second, time.Hour)
	within("sample", c.Sample, time.Second, 5*time.Minute)
	within("mpsProbe", c.MPSProbe, time.Second, 5*time.Minute)
	within("nvmlDeadline", c.NVMLDeadline, time.Second, time.Minute)
	within("spoolAge", c.SpoolAge, time.Hour, 30*24*time.Hour)
	want(c.StopTimeout >= 0 && c.StopTimeout <= 24*time.Hour, "stopTimeout %s is not in 0 to 24h", c.StopTimeout)
	want(c.SpoolBytes >= 1<<20 && c.SpoolBytes <= 1<<30, "spoolBytes %d is not in 1048576 to 1073741824", c.SpoolBytes)
	want(c.ThreadPercentage >= 0 && c.ThreadPercentage <= 100, "threadPercentage %v is not in 0 to 100", c.ThreadPercentage)
	want(c.ExpectedGPUs >= 0 && c.ExpectedGPUs <= 32, "expectedGPUs %d is not in 0 to 32", c.ExpectedGPUs)
	want(c.LogBytes >= 4<<10 && c.LogBytes <= 16<<20, "logBytesPerMinute %d is not in 4096 to 16777216", c.LogBytes)
	for name, p := range map[string]string{"stateDir": c.StateDir, "mpsLogDir": c.MPSLogDir, "dockerSocket": c.DockerSocket} {
		want(filepath.IsAbs(p), "%s %q is no absolute path", name, p)
	}
	want(c.PipeDir == "" || filepath.IsAbs(c.PipeDir), "pipeDir %q is no absolute path", c.PipeDir)
	want(c.Metrics == "" || loopback(c.Metrics), "metrics %q is no loopback address with a port, such as 127.0.0.1:9464", c.Metrics)
	switch c.LogLevel {
	case "debug", "info", "warn", "error":
	default:
		want(false, "logLevel %q is not debug, info, warn or error", c.LogLevel)
	}
	if len(bad) > 0 {
		return fmt.Errorf("%w: %w", ErrConfig, errors.Join(bad...))
	}
	return nil
}

func loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	ip := net.ParseIP(host)
	return err == nil && ip != nil && ip.IsLoopback()
}
