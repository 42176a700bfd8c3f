package cli

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bulkhead-ecs/bulkhead/internal/admission"
	"github.com/bulkhead-ecs/bulkhead/internal/admission/render"
)

type lintFlags struct {
	failOn, policy string
	fix            bool
}

func newLint(g *globals) *cobra.Command {
	var f lintFlags
	cmd := &cobra.Command{
		Use:   "lint FILE…|-",
		Short: "Say whether task definitions share a GPU safely, before they run",
		Long: "Say whether task definitions share a GPU safely, before they run.\n\n" +
			"FILE is register-task-definition JSON, describe-task-definition output, a CloudFormation or SAM template (YAML\n" +
			"or JSON, CDK's output too), or a Terraform plan (terraform show -json). Exit status: 0 nothing found, 1 findings\n" +
			"at or above --fail-on, 2 a file could not be read. Formats (-o): text, json, sarif, github.",
		Example: "  bulkhead lint taskdef.json template.yaml\n  terraform show -json plan.out | bulkhead lint -o sarif -",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runLint(cmd, g, f, args)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.failOn, "fail-on", "error", "least severity that makes the exit status 1: error, warning or info")
	fs.StringVar(&f.policy, "policy", "", "policy file (default .bulkhead.yaml, where there is one)")
	fs.BoolVar(&f.fix, "fix", false, "write the changes that are safe into the files")
	return cmd
}

func runLint(cmd *cobra.Command, g *globals, f lintFlags, files []string) error {
	if !cmd.Flags().Changed("output") {
		g.output = "text"
	}
	format, err := g.format("text", "json", "sarif", "github")
	if err != nil {
		return err
	}
	least := admission.Severity(f.failOn)
	if least != admission.Error && least != admission.Warning && least != admission.Info {
		return useError("--fail-on %s is not known: use error, warning or info", f.failOn)
	}
	policy, err := lintPolicy(f.policy)
	if err != nil {
		return err
	}
	var all []admission.Finding
	contents := map[string][]byte{}
	unreadable := 0
	for _, name := range files {
		content, found, err := lintFile(cmd, name, policy, f.fix)
		if err != nil {
			unreadable++
			fmt.Fprintf(cmd.ErrOrStderr(), "bulkhead: %s\n", clean(err.Error()))
			continue
		}
		contents[name] = content
		all = append(all, found...)
	}
	if err := renderLint(cmd.OutOrStdout(), format, all, contents); err != nil {
		return exitError{ExitAPI, err}
	}
	if unreadable > 0 {
		return useError("%d of %d files could not be read", unreadable, len(files))
	}
	for _, x := range all {
		if !x.Suppressed && x.Severity.AtLeast(least) {
			return errFinding
		}
	}
	return nil
}

// lintFile lints one file, mends it first where asked, and returns what it then holds.
func lintFile(cmd *cobra.Command, name string, policy admission.Policy, fix bool) ([]byte, []admission.Finding, error) {
	content, err := readBounded(cmd.InOrStdin(), name)
	if err != nil {
		return nil, nil, err
	}
	doc, err := admission.Read(name, content, admission.DefaultLimits)
	if err != nil {
		return nil, nil, err
	}
	found := admission.Lint(doc, policy)
	if !fix || name == "-" {
		return content, found, nil
	}
	mended, applied := admission.Fix(doc, found)
	if len(applied) == 0 {
		return content, found, nil
	}
	if doc, err = admission.Read(name, mended, admission.DefaultLimits); err != nil {
		return nil, nil, fmt.Errorf("the fix was not written, since its result cannot be read: %w", err)
	}
	if err := os.WriteFile(name, mended, 0o644); err != nil {
		return nil, nil, err
	}
	for _, x := range applied {
		fmt.Fprintf(cmd.ErrOrStderr(), "fixed %s:%d:%d %s\n", clean(name), x.Line, x.Column, x.Rule)
	}
	return mended, admission.Lint(doc, policy), nil
}

// readBounded takes one byte more than may be read, so that too much is seen as such without holding it.
func readBounded(in io.Reader, name string) ([]byte, error) {
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		in = file
	}
	return io.ReadAll(io.LimitReader(in, int64(admission.DefaultLimits.Bytes)+1))
}

func lintPolicy(file string) (admission.Policy, error) {
	name := file
	if name == "" {
		name = ".bulkhead.yaml"
	}
	content, err := readBounded(strings.NewReader(""), name)
	if os.IsNotExist(err) && file == "" {
		return admission.DefaultPolicy(), nil
	}
	if err != nil {
		return admission.Policy{}, useError("--policy: %w", err)
	}
	p, err := admission.ParsePolicy(content)
	if err != nil {
		return p, useError("%s: %w", name, err)
	}
	return p, nil
}

func renderLint(w io.Writer, format string, found []admission.Finding, contents map[string][]byte) error {
	switch format {
	case "json":
		return render.JSON(w, found)
	case "sarif":
		return render.SARIF(w, found)
	case "github":
		return render.GitHub(w, found)
	}
	if err := render.Text(w, found, func(file string) []byte { return contents[file] }); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%d files, %d findings\n", len(contents), len(found))
	return err
}
