package replay

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// MaxLine bounds one line of an events file, and one document spread over lines: an
// event is at most 256 KiB, and a carrier may hold many of them, escaped.
const MaxLine = 8 << 20

// Reasons why lines cannot be read.
var (
	errLongLine = fmt.Errorf("longer than %d MiB", MaxLine>>20)
	errNotJSON  = errors.New("it is not whole JSON")
	errUTF16    = errors.New("the file is UTF-16: write it as UTF-8")
)

// spread is how many lines a document that turned out broken may have taken, for
// the lines behind its first to be tried as documents spread over lines again. It
// bounds the work on a hostile file.
const spread = 64

// lines reads an events file line by line, and can take lines back.
type lines struct {
	br   *bufio.Reader
	back []numbered // to be read again
	n    int        // lines read so far
	end  error      // what ended the file, io.EOF at best
	// alone: the lines up to this number are documents of their own.
	alone int
}

type numbered struct {
	n    int
	text []byte
	err  error // errLongLine
}

// eachLine calls f for each JSON document of the file with the number of the line
// that it starts on: one a line, or spread over lines as pretty-printed ones are,
// or several on one line. What cannot be read is given to f as an error, and
// reading goes on behind its first line: nothing else is lost with it.
func eachLine(r io.Reader, f func(n int, doc []byte, err error) error) error {
	l := &lines{br: bufio.NewReaderSize(r, 64<<10)}
	switch head, _ := l.br.Peek(3); {
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf")):
		_, _ = l.br.Discard(3)
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("\xfe\xff")):
		return errUTF16
	}
	for {
		line, ok := l.next()
		if !ok {
			if errors.Is(l.end, io.EOF) {
				return nil
			}
			return l.end
		}
		if line.err != nil {
			if err := f(line.n, nil, line.err); err != nil {
				return err
			}
			continue
		}
		if err := l.documents(line, f); err != nil {
			return err
		}
	}
}

// documents gives what starts on a line to f.
func (l *lines) documents(first numbered, f func(int, []byte, error) error) error {
	if json.Valid(first.text) { // by far the most lines
		return f(first.n, first.text, nil)
	}
	src := &feed{lines: l, alone: first.n <= l.alone}
	src.take(first)
	dec := json.NewDecoder(src)
	for {
		var doc json.RawMessage
		if err := dec.Decode(&doc); err != nil {
			l.takeBack(src.took[1:])
			return f(src.took[0].n, nil, errNotJSON)
		}
		if err := f(src.took[0].n, doc, nil); err != nil {
			return err
		}
		if blank(dec.Buffered()) && len(bytes.TrimSpace(src.rest)) == 0 {
			return nil
		}
		src.took = src.took[len(src.took)-1:] // another one begins on the same line
	}
}

// blank reports whether nothing but white space is left.
func blank(r io.Reader) bool {
	b := make([]byte, 1)
	for {
		if _, err := r.Read(b); err != nil {
			return true
		}
		if len(bytes.TrimSpace(b)) > 0 {
			return false
		}
	}
}

// takeBack returns the lines behind a broken one, to be read again.
func (l *lines) takeBack(took []numbered) {
	if len(took) == 0 {
		return // the usual case, and the lines behind are not to be copied for it
	}
	if len(took) > spread {
		l.alone = max(l.alone, took[len(took)-1].n)
	}
	l.back = append(took[:len(took):len(took)], l.back...)
}

// feed gives a decoder one line at a time, so that it takes no line more than the
// document has.
type feed struct {
	lines *lines
	took  []numbered
	rest  []byte
	size  int
	alone bool
}

func (s *feed) Read(p []byte) (int, error) {
	if len(s.rest) == 0 {
		if s.alone || s.size > MaxLine {
			return 0, io.EOF
		}
		line, ok := s.lines.next()
		if !ok {
			return 0, io.EOF
		}
		if line.err != nil {
			s.lines.takeBack([]numbered{line})
			return 0, io.EOF
		}
		s.take(line)
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

func (s *feed) take(line numbered) {
	s.took = append(s.took, line)
	s.rest = append(line.text[:len(line.text):len(line.text)], '\n')
	s.size += len(line.text)
}

// next is the next line that is not blank; false at the end of the file.
func (l *lines) next() (numbered, bool) {
	if len(l.back) > 0 {
		line := l.back[0]
		l.back = l.back[1:]
		return line, true
	}
	for l.end == nil {
		text, err := readLine(l.br)
		l.n++
		switch {
		case errors.Is(err, errLongLine):
			return numbered{n: l.n, err: errLongLine}, true
		case err != nil:
			l.end = err
		}
		if text = bytes.TrimSpace(text); len(text) > 0 {
			return numbered{n: l.n, text: text}, true
		}
	}
	return numbered{}, false
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
