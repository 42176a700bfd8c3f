package cli

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/config"
	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/facts"
	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/mps"
)

// Bounds of a bundle.
const (
	maxEvidenceFile  = 2 << 20
	maxEvidenceTotal = 8 << 20
	evidenceDeadline = 60 * time.Second
)

func (a *app) evidence() *cobra.Command {
	var to string
	c := &cobra.Command{
		Use: "evidence", Short: "Write a bounded bundle: kernel log, MPS logs, NVML snapshot, checks", Args: cobra.NoArgs,
		Example: "  bulkhead-agent evidence --to /tmp/evidence.tar.gz\n  bulkhead-agent evidence --to - | aws s3 cp - s3://bucket/key",
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := a.config()
			if err != nil {
				return err
			}
			if to == "" {
				return fmt.Errorf("--to is required: a new file, or - for standard output")
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), evidenceDeadline)
			defer cancel()
			if to == "-" {
				return a.bundle(ctx, cfg, a.out)
			}
			f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY|syscall.O_NOFOLLOW, 0o600)
			if err != nil {
				return fmt.Errorf("%w: %w", errFailed, err)
			}
			return errors.Join(a.bundle(ctx, cfg, f), f.Close())
		},
	}
	c.Flags().StringVar(&to, "to", "", "file to write, which must not exist; - is standard output")
	return c
}

// bundle collects what it can. What cannot be had is named in MISSING, and the
// rest is there all the same.
func (a *app) bundle(ctx context.Context, c config.Config, out io.Writer) error {
	gz := gzip.NewWriter(out)
	b := &bundle{tar: tar.NewWriter(gz), left: maxEvidenceTotal, at: time.Now().UTC()}
	b.file("kernel.log", readKernel)
	for _, name := range []string{"control.log", "server.log"} {
		b.file("mps/"+name, func() ([]byte, error) { return tailOf(filepath.Join(c.MPSLogDir, name)) })
	}
	b.file("nvml.json", func() ([]byte, error) {
		child := a.child
		child.Library = c.NVMLLibrary
		s, err := facts.Sample(ctx, child)
		if err != nil {
			return nil, err
		}
		return json.MarshalIndent(s, "", "  ")
	})
	b.file("mps.json", func() ([]byte, error) {
		s, control := watch(ctx, c)
		return json.MarshalIndent(map[string]any{"state": s, "ps": control.Ask(ctx, "ps"), "servers": control.Ask(ctx, "get_server_list"), "unit": mps.Unit}, "", "  ")
	})
	b.file("checks.json", func() ([]byte, error) { return json.MarshalIndent(a.find(ctx, c, true), "", "  ") })
	b.file("MISSING", func() ([]byte, error) { return b.missing.Bytes(), nil })
	return errors.Join(b.err, b.tar.Close(), gz.Close())
}

type bundle struct {
	tar     *tar.Writer
	left    int
	at      time.Time
	missing bytes.Buffer
	err     error
}

func (b *bundle) file(name string, read func() ([]byte, error)) {
	body, err := read()
	if err != nil {
		fmt.Fprintf(&b.missing, "%s: %v\n", name, err)
		return
	}
	if n := min(maxEvidenceFile, b.left); len(body) > n {
		fmt.Fprintf(&b.missing, "%s: the first %d bytes were left out\n", name, len(body)-n)
		body = body[len(body)-n:] // the end tells what happened
	}
	b.left -= len(body)
	err = b.tar.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(body)), ModTime: b.at})
	if err == nil {
		_, err = b.tar.Write(body)
	}
	b.err = errors.Join(b.err, err)
}

// readKernel reads what /dev/kmsg holds now, raw.
func readKernel() ([]byte, error) {
	fd, err := syscall.Open("/dev/kmsg", syscall.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("/dev/kmsg: %w", err)
	}
	defer syscall.Close(fd)
	var out []byte
	buf := make([]byte, 8192)
	for len(out) < 4*maxEvidenceFile {
		n, err := syscall.Read(fd, buf)
		switch {
		case err == syscall.EPIPE || err == syscall.EINTR: // overwritten under the reader: the next is there
			continue
		case err == syscall.EAGAIN || err == nil && n == 0:
			return out, nil
		case err != nil:
			return out, fmt.Errorf("/dev/kmsg: %w", err)
		}
		out = append(out, buf[:n]...)
	}
	return out, nil
}

func tailOf(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	n := min(st.Size(), maxEvidenceFile)
	return io.ReadAll(io.NewSectionReader(f, st.Size()-n, n))
}
