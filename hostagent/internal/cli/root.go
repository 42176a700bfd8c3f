// Package cli is the command line of bulkhead-agent.
//
// Exit codes are stable: 0 fine, 1 something was found or refused, 2 wrong use or
// configuration, 3 the host or the API failed.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/config"
	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/nvmlchild"
)

// Version is set by the linker; else it is that of the module.
var Version string

// Exit codes.
const (
	ExitFine = iota
	ExitFound
	ExitUse
	ExitFailed
)

// errFound ends a command that ran well and has something to say.
var errFound = errors.New("found")

// errFailed wraps what the host or the API would not do.
var errFailed = errors.New("failed")

type app struct {
	configPath string
	json       bool
	out, err   io.Writer
	child      nvmlchild.Config
}

// Main runs one command line and returns the exit code.
func Main(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	a := &app{out: stdout, err: stderr, child: nvmlchild.Config{ProcRoot: "/proc", Command: childCommand}}
	root := a.root()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil:
		return ExitFine
	case errors.Is(err, errFound):
		return ExitFound
	}
	fmt.Fprintln(stderr, "bulkhead-agent:", err)
	if errors.Is(err, errFailed) {
		return ExitFailed
	}
	return ExitUse
}

// childCommand starts the NVML child: the program beside this one that was built
// with cgo for it, else this one.
func childCommand() *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	child := filepath.Join(filepath.Dir(self), "bulkhead-agent-nvml")
	if st, err := os.Stat(child); err == nil && st.Mode().IsRegular() {
		return exec.Command(child)
	}
	return exec.Command(self, nvmlchild.Subcommand)
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use: "bulkhead-agent", Short: "Watch the GPUs, MPS and their tenants on one EC2 container instance",
		Long: `Watch the GPUs, the MPS daemon and the tasks that share them on one EC2 container instance.

Exit codes: 0 fine, 1 something was found or refused, 2 wrong use or configuration, 3 the host or the API failed.`,
		SilenceUsage: true, SilenceErrors: true, CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.PersistentFlags().StringVarP(&a.configPath, "config", "c", "", "configuration file (default "+config.DefaultPath+" when it is there)")
	root.PersistentFlags().VarP(&output{&a.json}, "output", "o", "table or json")
	root.AddCommand(a.run(), a.scan(), a.doctor(), a.mps(), a.clients(), a.evidence(), a.version())
	return root
}

type output struct{ json *bool }

func (o *output) Set(s string) error {
	if s != "json" && s != "table" {
		return fmt.Errorf("want table or json")
	}
	*o.json = s == "json"
	return nil
}

func (o *output) Type() string { return "format" }

func (o *output) String() string {
	if o.json != nil && *o.json {
		return "json"
	}
	return "table"
}

func (a *app) config() (config.Config, error) {
	if a.configPath != "" {
		return config.Load(a.configPath, true, os.Environ())
	}
	return config.Load(config.DefaultPath, false, os.Environ())
}

func (a *app) printJSON(v any) error {
	e := json.NewEncoder(a.out)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

func (a *app) version() *cobra.Command {
	return &cobra.Command{Use: "version", Short: "Print the version", Args: cobra.NoArgs, Example: "  bulkhead-agent version -o json", RunE: func(*cobra.Command, []string) error {
		if a.json {
			return a.printJSON(map[string]string{"version": version()})
		}
		_, err := fmt.Fprintln(a.out, "bulkhead-agent", version())
		return err
	}}
}

func version() string {
	if Version != "" {
		return Version
	}
	if b, ok := debug.ReadBuildInfo(); ok && b.Main.Version != "" && b.Main.Version != "(devel)" && len(b.Main.Version) <= 64 {
		return b.Main.Version
	}
	return "dev"
}
