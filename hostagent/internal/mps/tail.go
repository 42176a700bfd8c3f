package mps

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Tail reads what is new in a log. It follows a rotated file (another inode under
// the name), starts again in a file that was cut, and after a burst skips to the
// last MaxBytes, counting what it skipped. Nothing is kept open between reads, so
// a deleted log gives its space back.
type Tail struct {
	Path     string
	MaxBytes int64 // per read; 0 is 256 KiB

	inode   uint64
	offset  int64
	partial []byte
	started bool
	skipped uint64
}

// Skipped is how many bytes were passed over, in all.
func (t *Tail) Skipped() uint64 { return t.skipped }

// Lines returns the whole lines that came since the last call. The first call
// returns the end of what is there, so that a fault that stands is found by a
// program that starts after it. A log that does not exist yet has no lines.
func (t *Tail) Lines() ([]string, error) {
	f, err := os.OpenFile(t.Path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "tail", Path: t.Path, Err: errors.New("not a regular file")}
	}
	limit := t.MaxBytes
	if limit <= 0 {
		limit = 256 << 10
	}
	var inode uint64
	if s, ok := st.Sys().(*syscall.Stat_t); ok {
		inode = s.Ino
	}
	if inode != t.inode || st.Size() < t.offset {
		t.inode, t.offset, t.partial = inode, 0, nil
	}
	skipTo := st.Size() - limit
	torn := false
	if skipTo > t.offset {
		if t.started {
			t.skipped += uint64(skipTo - t.offset)
		}
		t.offset, t.partial, torn = skipTo, nil, true
	}
	t.started = true
	b, err := io.ReadAll(io.NewSectionReader(f, t.offset, min(limit, st.Size()-t.offset)))
	if err != nil {
		return nil, err
	}
	t.offset += int64(len(b))
	return t.split(b, torn), nil
}

// split cuts b into lines and keeps an unfinished one. torn: b starts within a line.
func (t *Tail) split(b []byte, torn bool) []string {
	if torn {
		_, b, _ = bytes.Cut(b, []byte("\n"))
	}
	b = append(t.partial, b...)
	end := bytes.LastIndexByte(b, '\n')
	rest := b[end+1:]
	if len(rest) > MaxLogLine { // a line without end: its head is enough
		rest = rest[:MaxLogLine]
	}
	t.partial = bytes.Clone(rest)
	if end < 0 {
		return nil
	}
	var out []string
	for l := range bytes.SplitSeq(b[:end], []byte("\n")) {
		out = append(out, string(l[:min(len(l), MaxLogLine)]))
	}
	return out
}
