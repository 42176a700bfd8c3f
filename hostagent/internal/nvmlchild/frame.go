package nvmlchild

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/bulkhead-ecs/bulkhead/hostagent/internal/nvml"
)

// MaxFrame bounds one line in either direction; eight cards with forty-eight
// clients each need about 40 KiB.
const MaxFrame = 2 << 20

// request asks the child for one operation.
type request struct {
	ID       uint64 `json:"id"`
	Op       string `json:"op"`                // opOpen, opSample
	Library  string `json:"library,omitempty"` // opOpen; empty: the default
	Deadline int64  `json:"deadlineMs,omitempty"`
}

const (
	opOpen   = "open"
	opSample = "sample"
)

// frame is what the child says: an answer (ID of the request), the call it is
// still in when the deadline nears (ID and In), an Xid, or that it hears no Xids.
type frame struct {
	ID     uint64       `json:"id,omitempty"`
	In     string       `json:"in,omitempty"`
	Sample *nvml.Sample `json:"sample,omitempty"`
	Error  string       `json:"error,omitempty"`
	Kind   string       `json:"kind,omitempty"` // of the error, a key of kinds
	Xid    *nvml.Xid    `json:"xid,omitempty"`
	Deaf   string       `json:"deaf,omitempty"`
}

// kinds carries the errors that callers tell apart over the pipe.
var kinds = map[string]error{
	"unavailable": nvml.ErrUnavailable, "no-driver": nvml.ErrNoDriver, "mismatch": nvml.ErrMismatch,
	"not-supported": nvml.ErrNotSupported, "driver": nvml.ErrDriver,
}

func kindOf(err error) string {
	for k, e := range kinds {
		if errors.Is(err, e) {
			return k
		}
	}
	return ""
}

// err rebuilds the child's error, so that errors.Is works across the pipe.
func (f *frame) err() error {
	if f.Error == "" {
		return nil
	}
	if e, ok := kinds[f.Kind]; ok {
		return &remoteError{f.Error, e}
	}
	return errors.New(f.Error)
}

type remoteError struct {
	text string
	kind error
}

func (e *remoteError) Error() string { return e.text }
func (e *remoteError) Unwrap() error { return e.kind }

// lines reads bounded lines; a longer one is an error, for then the other side
// is broken and nothing after it can be trusted.
func lines(r io.Reader) *bufio.Scanner {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 0, 4096), MaxFrame)
	return s
}

func writeLine(w io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encoding a frame: %w", err)
	}
	if len(b)+1 >= MaxFrame {
		return fmt.Errorf("a frame of %d bytes is over the bound of %d", len(b), MaxFrame)
	}
	_, err = w.Write(append(b, '\n'))
	return err
}
