package kmsg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

// Path is the kernel's log as records.
const Path = "/dev/kmsg"

// Source gives one record a Read, as /dev/kmsg does. Close ends a blocked Read.
type Source interface {
	io.ReadCloser
}

// Open opens the kernel's log at its oldest record. CAP_SYSLOG is needed where
// dmesg_restrict is set.
func Open(path string) (Source, error) {
	// Non-blocking, so that the runtime polls it and Close ends a Read.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("opening the kernel log: %w", err)
	}
	return f, nil
}

// Seen is one line of the driver with its record.
type Seen struct {
	Record
	Line Line
	At   time.Time // by the wall clock
}

// Reader turns a Source into lines of the driver.
type Reader struct {
	Source Source
	Now    func() time.Time // wall clock
	Uptime func() time.Duration
	After  uint64 // records up to this sequence were told before, by an earlier run in this boot
	OnLine func(Seen)
	OnLoss func(records uint64) // records overwritten before they were read
}

// Counters of a Reader's life.
type Counters struct {
	Records, Refused, Foreign, Lost uint64
	Last                            uint64 // sequence
}

// maxRecord bounds one record: the kernel's own bound is 8 KiB.
const maxRecord = 16 << 10

// Run reads until ctx ends or the source fails, closing the source then. It
// returns nil when ctx ended. Foreign counts lines that look like the driver's
// and were not written by the kernel.
func (r *Reader) Run(ctx context.Context) (c Counters, err error) {
	stop := context.AfterFunc(ctx, func() { r.Source.Close() })
	defer func() {
		if stop() {
			r.Source.Close()
		}
	}()
	buf := make([]byte, maxRecord)
	short := 0
	for {
		n, err := r.Source.Read(buf)
		switch {
		case ctx.Err() != nil:
			return c, nil
		case errors.Is(err, syscall.EPIPE): // overrun: the next Read goes on at the oldest record left
			continue
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EINVAL): // a record longer than the buffer; it is skipped
			if short++; short > 100 {
				return c, fmt.Errorf("reading the kernel log: %w", err)
			}
			continue
		case err != nil:
			return c, fmt.Errorf("reading the kernel log: %w", err)
		case n == 0:
			return c, fmt.Errorf("reading the kernel log: %w", io.ErrUnexpectedEOF)
		}
		short = 0
		r.take(buf[:n], &c)
	}
}

func (r *Reader) take(b []byte, c *Counters) {
	rec, ok := ParseRecord(b)
	if !ok {
		c.Refused++
		return
	}
	if c.Records > 0 && rec.Sequence > c.Last+1 {
		lost := rec.Sequence - c.Last - 1
		c.Lost += lost
		if r.OnLoss != nil {
			r.OnLoss(lost)
		}
	}
	c.Records, c.Last = c.Records+1, rec.Sequence
	if rec.Sequence <= r.After && r.After > 0 {
		return
	}
	line, ok := ParseLine(rec.Text)
	if !ok {
		return
	}
	if !rec.Kernel {
		c.Foreign++
		return
	}
	at := r.Now()
	if age := r.Uptime() - rec.Since; age > 0 {
		at = at.Add(-age)
	}
	r.OnLine(Seen{Record: rec, Line: line, At: at})
}
