// Package codec writes a host as few bytes and reads it back.
//
// Every write of an item is billed by its size in KB, so size is the lever of the
// ledger's cost: a one-GPU host with its shares stays under 1 KB. The form is the
// protobuf wire format, written by hand with protowire: a reader skips fields it
// does not know, and an old field that is gone reads as zero, so releases that
// differ can share a table. Words that repeat (definitions, tiers, prefixes of
// ARNs) are written once in a table at the front; ids in hexadecimal are written
// as bytes. Times are kept to the millisecond.
package codec

import (
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/bulkhead-ecs/bulkhead/internal/ledger"
)

// Schema of what this release writes. A higher one is read as far as it is
// understood and never written over.
const Schema = 1

// ErrCorrupt: the bytes are not a host.
var ErrCorrupt = errors.New("item cannot be decoded")

// Fields of a host.
const (
	fSchema = iota + 1
	fWord
	fFixed
	fBoot
	fRegistration
	fEC2
	fHealth
	fLeaving
	fListed
	fDevice
	fTask
	fReservation
)

// Encode writes everything of a host but its ID and Revision, which are the
// item's own attributes.
func Encode(h ledger.Host) []byte {
	e := &encoder{words: map[string]uint64{}}
	e.message(fFixed, func() { e.fixed(h.Fixed) })
	e.word(fBoot, h.BootID)
	e.message(fRegistration, func() { e.registration(h.Registration) })
	e.message(fEC2, func() {
		e.word(1, h.EC2.State)
		e.time(2, h.EC2.At)
	})
	for _, c := range h.Health {
		e.element(fHealth, func() {
			e.word(1, c.Type)
			e.word(2, c.Status)
			e.word(3, c.Reason)
			e.time(4, c.Changed)
		})
	}
	for _, l := range h.Leaving {
		e.element(fLeaving, func() {
			e.word(1, l.Cause)
			e.time(2, l.At)
		})
	}
	e.int(fListed, h.Listed)
	for _, d := range h.Devices {
		e.element(fDevice, func() {
			e.word(1, string(d.UUID))
			e.int(2, d.Registered)
			e.int(3, int64(d.Total))
			e.int(4, d.Described)
			e.word(5, string(d.Mode))
		})
	}
	for _, t := range h.Tasks {
		e.element(fTask, func() { e.task(t) })
	}
	for _, r := range h.Reservations {
		e.element(fReservation, func() { e.reservation(r) })
	}
	return e.finish()
}

// Decode reads what Encode wrote, into a host without ID and Revision, as far as
// this release understands it. A schema above Schema is a later release's: it must
// not be written over.
func Decode(b []byte) (h ledger.Host, schema int, err error) {
	words, schema, err := front(b)
	if err != nil {
		return h, schema, err
	}
	d := &decoder{words: words}
	err = fields(b, func(n protowire.Number, v value) error {
		switch n {
		case fFixed:
			return d.fixed(v.bytes, &h.Fixed)
		case fBoot:
			h.BootID = d.word(v)
		case fRegistration:
			return d.registration(v.bytes, &h.Registration)
		case fEC2:
			return fields(v.bytes, func(n protowire.Number, v value) error {
				switch n {
				case 1:
					h.EC2.State = d.word(v)
				case 2:
					h.EC2.At = v.time()
				}
				return nil
			})
		case fListed:
			h.Listed = v.int()
		case fHealth, fLeaving, fDevice, fTask, fReservation:
			return d.element(n, v.bytes, &h)
		}
		return nil
	})
	if err == nil && d.bad {
		err = fmt.Errorf("%w: it refers to a word that it does not have", ErrCorrupt)
	}
	return h, schema, err
}

// front reads the schema and the word table.
func front(b []byte) (words []string, schema int, err error) {
	words = append(words, common...)
	err = fields(b, func(n protowire.Number, v value) error {
		switch n {
		case fSchema:
			schema = max(schema, int(v.int()))
		case fWord:
			w, err := unpack(v.bytes)
			words = append(words, w)
			return err
		}
		return nil
	})
	if err == nil && schema < 1 {
		err = fmt.Errorf("%w: it has no schema", ErrCorrupt)
	}
	return words, schema, err
}

// value is one field's.
type value struct {
	number uint64
	bytes  []byte
}

func (v value) int() int64 { return protowire.DecodeZigZag(v.number) }
func (v value) bool() bool { return v.number != 0 }
func (v value) time() time.Time {
	if v.number == 0 {
		return time.Time{}
	}
	return time.UnixMilli(v.int() - 1).UTC()
}

// fields walks the fields of a message. Kinds that this codec never writes are
// skipped, as another release may write them.
func fields(b []byte, f func(protowire.Number, value) error) error {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return fmt.Errorf("%w: %w", ErrCorrupt, protowire.ParseError(n))
		}
		b = b[n:]
		var v value
		switch typ {
		case protowire.VarintType:
			v.number, n = protowire.ConsumeVarint(b)
		case protowire.BytesType:
			v.bytes, n = protowire.ConsumeBytes(b)
		default:
			n = protowire.ConsumeFieldValue(num, typ, b)
		}
		if n < 0 {
			return fmt.Errorf("%w: %w", ErrCorrupt, protowire.ParseError(n))
		}
		b = b[n:]
		if typ != protowire.VarintType && typ != protowire.BytesType {
			continue
		}
		if err := f(num, v); err != nil {
			return err
		}
	}
	return nil
}
