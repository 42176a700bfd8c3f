package cli

import (
	"context"
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
		Use:   "lint FILE…|-|s3://BUCKET/KEY",
		Short: "Say whether task definitions share a GPU safely, before they run",
		Long: "Say whether task definitions share a GPU safely, before they run.\n\n" +
			"FILE is register-task-definition JSON, describe-task-definition output, a CloudFormation or SAM template (YAML\n" +
			"or JSON, CDK's output too), or a Terraform plan (terraform show -json); an object of S3 takes its place. Exit\n" +
			"status: 0 nothing found, 1 findings at or above --fail-on, 2 a file could not be read. Formats (-o): text, json,\n" +
			"sarif, github. With --fix and -, the text as fixed is the output, and the findings go to standard error.",
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
	source := &lintSource{in: cmd.InOrStdin(), env: g.streams.Env, region: g.region}
	var all []admission.Finding
	contents := map[string][]byte{}
	unreadable := 0
	for _, name := range files {
		l := linting{cmd: cmd, source: source, policy: policy, fix: f.fix}
		found, err := l.file(name)
		if err != nil {
			unreadable++
			fmt.Fprintf(cmd.ErrOrStderr(), "bulkhead: %s\n", clean(err.Error()))
			continue
		}
		contents[name] = l.content
		all = append(all, found...)
	}
	out := cmd.OutOrStdout()
	if content, ok := contents["-"]; ok && f.fix {
		if _, err := out.Write(content); err != nil {
			return exitError{ExitAPI, err}
		}
		out = cmd.ErrOrStderr()
	}
	if err := renderLint(out, format, all, contents); err != nil {
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

// linting is the work on one file.
type linting struct {
	cmd     *cobra.Command
	source  *lintSource
	policy  admission.Policy
	fix     bool
	content []byte // what the file holds in the end
}

// file lints one file, mends it first where asked, and returns what is then found.
func (l *linting) file(name string) ([]admission.Finding, error) {
	if l.fix && strings.HasPrefix(name, s3Scheme) {
		return nil, fmt.Errorf("%s: --fix does not write to S3; fetch the object, fix the file, and put it back", name)
	}
	content, err := l.source.read(l.cmd.Context(), name)
	if err != nil {
		return nil, err
	}
	doc, err := admission.Read(name, content, admission.DefaultLimits)
	if err != nil {
		return nil, err
	}
	l.content = content
	found := admission.Lint(doc, l.policy)
	if !l.fix {
		return found, nil
	}
	mended, applied := admission.Fix(doc, found)
	if len(applied) == 0 {
		return found, nil
	}
	if doc, err = admission.Read(name, mended, admission.DefaultLimits); err != nil {
		return nil, fmt.Errorf("the fix was not written, since its result cannot be read: %w", err)
	}
	if name != "-" {
		if err := replaceFile(name, mended); err != nil {
			return nil, err
		}
	}
	l.content = mended
	for _, x := range applied {
		fmt.Fprintf(l.cmd.ErrOrStderr(), "fixed %s:%d:%d %s\n", clean(name), x.Line, x.Column, x.Rule)
	}
	return admission.Lint(doc, l.policy), nil
}

func lintPolicy(file string) (admission.Policy, error) {
	name := file
	if name == "" {
		name = ".bulkhead.yaml"
	}
	content, err := (&lintSource{in: strings.NewReader("")}).read(context.Background(), strings.TrimPrefix(name, s3Scheme)) // a policy is a file
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
