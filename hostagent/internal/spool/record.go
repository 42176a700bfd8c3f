package spool

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
)

// Record is one report on its way.
type Record struct {
	Seq     uint64 // rises within a boot
	At      int64  // Unix seconds by the host's clock, for the age bound only
	Boot    string
	Payload []byte
}

// A record is: magic(4) length(4) crc(4) seq(8) at(8) bootLen(1) boot payload.
// length counts what follows the crc; the crc covers the same bytes.
const (
	magic      = "BHR1"
	headBytes  = 12
	fixedBytes = 17
	// MaxRecordBytes bounds a payload.
	MaxRecordBytes = 256 << 10
	maxBoot        = 128
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// encode appends r to b.
func encode(b []byte, r Record) []byte {
	body := make([]byte, 0, fixedBytes+len(r.Boot)+len(r.Payload))
	body = binary.LittleEndian.AppendUint64(body, r.Seq)
	body = binary.LittleEndian.AppendUint64(body, uint64(r.At))
	body = append(body, byte(len(r.Boot)))
	body = append(body, r.Boot...)
	body = append(body, r.Payload...)
	b = append(b, magic...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(body)))
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(body, castagnoli))
	return append(b, body...)
}

// decode reads the first whole record of b. size is how many bytes it took,
// skipped included; skipped counts bytes before it that are no record. ok is
// false when no whole record is left: skipped is then all of b.
func decode(b []byte) (r Record, size, skipped int, ok bool) {
	for at := 0; ; at++ {
		i := bytes.Index(b[at:], []byte(magic))
		if i < 0 {
			return Record{}, len(b), len(b), false
		}
		at += i
		if r, n, whole := decodeAt(b[at:]); whole {
			return r, at + n, at, true
		}
	}
}

func decodeAt(b []byte) (Record, int, bool) {
	if len(b) < headBytes+fixedBytes {
		return Record{}, 0, false
	}
	n := int(binary.LittleEndian.Uint32(b[4:]))
	if n < fixedBytes || n > fixedBytes+maxBoot+MaxRecordBytes || len(b) < headBytes+n {
		return Record{}, 0, false
	}
	body := b[headBytes : headBytes+n]
	if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(b[8:]) {
		return Record{}, 0, false
	}
	boot := int(body[16])
	if boot > maxBoot || fixedBytes+boot > n {
		return Record{}, 0, false
	}
	return Record{
		Seq: binary.LittleEndian.Uint64(body), At: int64(binary.LittleEndian.Uint64(body[8:])),
		Boot: string(body[fixedBytes : fixedBytes+boot]), Payload: bytes.Clone(body[fixedBytes+boot:]),
	}, headBytes + n, true
}
