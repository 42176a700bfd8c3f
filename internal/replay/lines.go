package replay

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// MaxLine bounds one line of an events file: an event is at most 256 KiB, and a
// carrier may hold ten of them, escaped.
const MaxLine = 8 << 20

// errLongLine: the line is over MaxLine.
var errLongLine = fmt.Errorf("longer than %d MiB", MaxLine>>20)

// eachLine calls f for each non-empty line with its number. A line that is too
// long is given to f as an error, and reading goes on behind it. A file that is
// one document spread over lines is given whole, as line 1.
func eachLine(r io.Reader, f func(n int, line []byte, err error) error) error {
	br := bufio.NewReaderSize(r, 64<<10)
	if head, _ := br.Peek(3); bytes.Equal(head, []byte("\xef\xbb\xbf")) {
		_, _ = br.Discard(3)
	}
	if whole, ok, err := spreadDocument(br); ok || err != nil {
		if err != nil {
			return err
		}
		return f(1, whole, nil)
	}
	for n := 1; ; n++ {
		line, err := readLine(br)
		switch {
		case errors.Is(err, errLongLine):
			if err := f(n, nil, errLongLine); err != nil {
				return err
			}
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return err
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			if err := f(n, line, nil); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
	}
}

// readLine reads to the next newline. The rest of a line that is too long is
// skipped.
func readLine(br *bufio.Reader) ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := br.ReadSlice('\n')
		if !long {
			line = append(line, part...)
			long = len(line) > MaxLine
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case long && (err == nil || errors.Is(err, io.EOF)):
			return nil, errLongLine
		}
		return line, err
	}
}

// spreadDocument reads a file that opens with a brace or bracket alone on its
// line, as pretty-printed JSON does.
func spreadDocument(br *bufio.Reader) ([]byte, bool, error) {
	head, _ := br.Peek(br.Size())
	head = bytes.TrimLeft(head, " \t\r\n")
	first, _, found := bytes.Cut(head, []byte("\n"))
	first = bytes.TrimSpace(first)
	if !found || (string(first) != "{" && string(first) != "[") {
		return nil, false, nil
	}
	b, err := io.ReadAll(io.LimitReader(br, MaxLine+1))
	if err == nil && len(b) > MaxLine {
		err = fmt.Errorf("the file is one document over %d MiB: give one event a line", MaxLine>>20)
	}
	return b, true, err
}
